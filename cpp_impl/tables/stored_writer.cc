#include "tables/stored_writer.h"

#include <bit>

#include "tables/row_writer.h"
#include "tensor/dtype.h"

namespace smdebug::tables {

StoredWriter::StoredWriter(const Request &request, BatchBuilder *builder)
    : is_scalars_(request.table == Table::kScalars),
      columns_(request.Columns()),
      statistics_(ReadsFor(request).statistics),
      builder_(builder) {}

namespace {

// Steps mostly have the same tensors in the same order.
bool AreEqual(const StoredPiece &piece, const StoredPiece *last) {
  return last != nullptr && &last->List() == &piece.List() && last->first == piece.first &&
         last->count == piece.count && last->has_all == piece.has_all;
}

}  // namespace

void StoredWriter::Write(const std::string &trial, std::span<const StoredPiece> pieces) {
  for (size_t i = 0; i < columns_.size(); ++i) {
    const size_t column = columns_[i];
    const bool is_of_names = column == kTensor || column == kCollection ||
                             (!is_scalars_ && (column == kDType || column == kShape));
    const StoredPiece *last = nullptr;
    for (const StoredPiece &piece : pieces) {
      if (is_of_names) {
        WriteNames(column, piece, last, &builder_->At(i));
      } else {
        WriteColumn(column, trial, piece, &builder_->At(i));
      }
      last = &piece;
    }
  }
  size_t rows = 0;
  for (const StoredPiece &piece : pieces) rows += piece.Count();
  builder_->NoteRows(rows);
}

template <class T>
std::span<const T> StoredWriter::Of(std::span<const T> column, const StoredPiece &piece,
                                    std::vector<T> *memory) const {
  if (piece.has_all) return column.subspan(piece.first, piece.count);
  memory->clear();
  for (const uint32_t row : piece.chosen) memory->push_back(column[row]);
  return *memory;
}

template <class T>
std::span<const T> StoredWriter::OfAll(const std::vector<T> &all, const StoredPiece &piece,
                                       std::vector<T> *memory) const {
  return Of<T>(std::span(all).subspan(piece.first_of_step), piece, memory);
}

void StoredWriter::WriteColumn(size_t column, const std::string &trial, const StoredPiece &piece,
                               Column *out) {
  const format::StoredRows &rows = *piece.rows;
  const size_t count = piece.Count();
  switch (column) {
    case kTrial: return out->AddTexts(trial, count);
    case kStep: return out->AddIntegers(piece.step->step, count);
    case kMode: return out->AddTexts(ModeName(piece.step->mode), count);
    case kModeStep: return out->AddIntegers(piece.step->mode_step, count);
    case kWorker: return out->AddTexts(*piece.worker, count);
    default: break;
  }
  const bool is_time = is_scalars_ ? column == kScalarTime : column == kTime;
  if (is_time)
    return out->AddOptionals(OfAll(rows.times, piece, &times_), format::StoredRows::kNoTime);
  if (is_scalars_ && column == kScalarValue) return WriteNumbers(rows.numbers[0], piece, out);
  const uint32_t before = (1U << (column - kFirstStatistic)) - 1;
  WriteNumbers(rows.numbers[static_cast<size_t>(std::popcount(statistics_ & before))], piece, out);
}

void StoredWriter::WriteNames(size_t column, const StoredPiece &piece, const StoredPiece *last,
                              Column *out) {
  if (AreEqual(piece, last)) return out->RepeatLast(piece.Count());
  const format::StoredRows &rows = *piece.rows;
  const format::StoredList &list = piece.List();
  if (column == kDType) {
    for (const uint8_t type : Of<uint8_t>(list.dtypes, piece, &flags_)) {
      out->AddOptional(tensor::DTypeName(static_cast<tensor::DType>(type)));
    }
  } else if (column == kShape) {
    for (const uint32_t shape : Of<uint32_t>(list.shape_of, piece, &positions_)) {
      const std::span<const int64_t> sizes(rows.shapes[shape]);
      shape == 0 ? out->AddNulls() : out->AddList(sizes);
    }
  } else {
    for (const uint32_t name : Of<uint32_t>(list.tensors, piece, &positions_)) {
      column == kTensor ? out->AddTexts(rows.names[name])
                        : out->AddOptional((*piece.names)[name].collection);
    }
  }
}

void StoredWriter::WriteNumbers(const format::StoredRows::Numbers &numbers,
                                const StoredPiece &piece, Column *out) {
  if (numbers.values.empty()) return out->AddNulls(piece.Count());
  const std::span<const double> values = OfAll(numbers.values, piece, &values_);
  if (numbers.known.empty()) return out->AddNumbers(values);
  const std::span<const uint8_t> known = OfAll(numbers.known, piece, &flags_);
  for (size_t i = 0; i < values.size(); ++i) {
    known[i] != 0 ? out->AddNumber(values[i]) : out->AddNulls();
  }
}

}  // namespace smdebug::tables
