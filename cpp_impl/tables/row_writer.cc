#include "tables/row_writer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tensor/blocks.h"
#include "tensor/value.h"
#include "tensor/view.h"

namespace smdebug::tables {
namespace {

void AddNumbers(const format::TensorEvent &event, Column *column) {
  const bool is_list = event.dtype != tensor::DType::kString && !tensor::IsComplex(event.dtype);
  const size_t size = tensor::DTypeSize(event.dtype);
  if (!is_list || !column->Fits(event.content.size() / size)) return column->AddNulls();
  std::vector<double> numbers;
  numbers.reserve(event.content.size() / size);
  const tensor::View view{event.content.data(), event.shape, {}, event.dtype};
  tensor::ForEachNumberBlock(view, tensor::Part::kWhole, [&](auto &block) {
    const auto *elements = block.Numbers();
    numbers.insert(numbers.end(), elements, elements + block.Count());
  });
  column->AddList(std::span<const double>(numbers));
}

void WriteScalar(size_t column, const StepRow &row, Column *out) {
  if (column == kScalarTime) return out->AddOptional(row.time);
  const std::optional<double> number = ScalarOfRow(row);
  number ? out->AddNumber(*number) : out->AddNulls();
}

void WriteStatistic(size_t statistic, std::span<const StepRow> some, Column *out) {
  size_t nulls = 0;
  for (const StepRow &row : some) {
    if ((row.given >> statistic & 1) == 0) {
      ++nulls;
      continue;
    }
    out->AddNulls(std::exchange(nulls, 0));
    out->AddNumber(row.statistics[statistic]);
  }
  out->AddNulls(nulls);
}

void WriteShape(const StepRow &row, Column *out) {
  const std::vector<int64_t> *shape = ShapeOfRow(row);
  shape != nullptr ? out->AddList(*shape) : out->AddNulls();
}

void WriteBytes(const StepRow &row, Column *out) {
  const bool has_bytes = row.elements && row.elements->dtype != tensor::DType::kString;
  const bool fits = has_bytes && out->Fits(row.elements->content.size());
  fits ? out->AddTexts(AsText(row.elements->content)) : out->AddNulls();
}

void WriteOfTensor(size_t column, const StepRow &row, Column *out) {
  switch (column) {
    case kDType: return out->AddOptional(tensor::DTypeName(TypeOfRow(row)));
    case kShape: return WriteShape(row, out);
    case kTime: return out->AddOptional(row.time);
    case kValue: return row.elements ? AddNumbers(*row.elements, out) : out->AddNulls();
    default: return WriteBytes(row, out);
  }
}

// Returns the number of the row's only element, or NULL if the index does not have it.
const format::SavedNumber *NumberOfRow(const StepRow &row) {
  const bool has_number = !row.raw.empty() && row.raw.front()->number;
  return has_number ? &*row.raw.front()->number : nullptr;
}

// Returns the shape of one element.
const std::vector<int64_t> &Ones(size_t rank) {
  static const auto *const kShapes = [] {
    auto *made = new std::vector<std::vector<int64_t>>;  // never freed, on purpose
    for (size_t i = 0; i <= size_t{tensor::kMaxRank}; ++i) made->emplace_back(i, 1);
    return made;
  }();
  return (*kShapes)[rank];
}

// The columns in which at least one of several rows has a value.
struct FilledColumns {
  uint32_t statistics = 0;  // a bit for each
  bool type_or_shape = false;
};

FilledColumns FilledBy(std::span<const StepRow> rows) {
  FilledColumns filled;
  for (const StepRow &row : rows) {
    filled.statistics |= row.given;
    filled.type_or_shape =
        filled.type_or_shape || row.elements || row.head || ShapeOfRow(row) != nullptr;
  }
  return filled;
}

// Returns false if the column of the table "tensors" is null in all of these rows.
bool MayBeFilled(const FilledColumns &filled, size_t column) {
  if (column == kDType || column == kShape) return filled.type_or_shape;
  if (column < kFirstStatistic || column >= kTime) return true;
  return (filled.statistics >> (column - kFirstStatistic) & 1) != 0;
}

}  // namespace

std::optional<double> ScalarOfRow(const StepRow &row) {
  if (row.scalar) return row.scalar;
  const format::TensorEvent &event = *row.elements;
  if (tensor::IsComplex(event.dtype)) return {};  // as its "value" of "tensors"
  const auto number = tensor::ToDouble(event.dtype, event.content);
  return number.IsOk() ? std::optional(*number) : std::nullopt;
}

tensor::DType TypeOfRow(const StepRow &row) {
  if (row.elements) return row.elements->dtype;
  if (const auto *number = NumberOfRow(row)) return number->dtype;
  return row.head ? row.head->dtype : tensor::DType::kInvalid;
}

const std::vector<int64_t> *ShapeOfRow(const StepRow &row) {
  if (row.saved_shape != nullptr) return &row.saved_shape->shape;
  if (!row.raw.empty() && row.raw.front()->part) return &row.raw.front()->part->shape;
  if (row.elements) return &row.elements->shape;
  if (const auto *number = NumberOfRow(row)) return &Ones(number->rank);
  return row.head ? &row.head->shape : nullptr;
}

Reads ReadsFor(const Request &request) {
  Reads reads;
  reads.computes = request.computes;
  for (const size_t column : request.Columns()) {
    // Whether a tensor has one element shows in its record alone; that has the time, too.
    if (request.table == Table::kScalars) return Reads{.elements = true};
    if (column >= kFirstStatistic && column < kTime) {
      reads.statistics |= 1U << (column - kFirstStatistic);
    }
    reads.time = reads.time || column == kTime;
    reads.type = reads.type || column == kDType || column == kShape;
    reads.elements = reads.elements || column == kValue || column == kBytes;
  }
  return reads;
}

bool ShowsCollection(const Request &request) {
  const std::vector<size_t> columns = request.Columns();
  return std::find(columns.begin(), columns.end(), size_t{kCollection}) != columns.end();
}

RowWriter::RowWriter(const Request &request, BatchBuilder *builder)
    : is_scalars_(request.table == Table::kScalars),
      columns_(request.Columns()),
      builder_(builder) {}

std::span<const StepRow> RowWriter::Write(const std::string &trial, const StepRows &rows) {
  if (!is_scalars_) {
    WriteSome(trial, rows, rows.rows);
    return rows.rows;
  }
  const auto end = std::stable_partition(
      rows.rows.begin(), rows.rows.end(),
      [](const StepRow &row) { return row.scalar || (row.elements && IsOfOne(*row.elements)); });
  const std::span<const StepRow> scalars(rows.rows.begin(), end);
  WriteSome(trial, rows, scalars);
  return scalars;
}

void RowWriter::WriteSome(const std::string &trial, const StepRows &rows,
                          std::span<const StepRow> some) {
  const FilledColumns filled = FilledBy(some);
  for (size_t i = 0; i < columns_.size(); ++i) {
    Column *const out = &builder_->At(i);
    const bool is_null = !is_scalars_ && !MayBeFilled(filled, columns_[i]);
    is_null ? out->AddNulls(some.size()) : WriteColumn(columns_[i], trial, rows, some, out);
  }
  builder_->NoteRows(some.size());
}

void RowWriter::WriteColumn(size_t column, const std::string &trial, const StepRows &rows,
                            std::span<const StepRow> some, Column *out) const {
  switch (column) {
    case kTrial: return out->AddTexts(trial, some.size());
    case kStep: return out->AddIntegers(rows.file->step, some.size());
    case kMode: return out->AddTexts(ModeName(rows.mode), some.size());
    case kModeStep: return out->AddIntegers(rows.mode_step, some.size());
    case kWorker: return out->AddTexts(rows.file->worker, some.size());
    default: break;
  }
  if (!is_scalars_ && column >= kFirstStatistic && column < kTime) {
    return WriteStatistic(column - kFirstStatistic, some, out);
  }
  for (const StepRow &row : some) {
    if (column == kTensor) {
      out->AddTexts(row.tensor->name);
    } else if (column == kCollection) {
      out->AddOptional(row.tensor->collection);
    } else if (is_scalars_) {
      WriteScalar(column, row, out);
    } else {
      WriteOfTensor(column, row, out);
    }
  }
}

}  // namespace smdebug::tables
