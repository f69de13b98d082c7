#include "tables/row_writer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tensor/blocks.h"
#include "tensor/value.h"

namespace smdebug::tables {
namespace {

// The columns, by their position in ColumnsOf().
enum TensorColumn : size_t {
  kTrial,
  kTensor,
  kCollection,
  kStep,
  kMode,
  kModeStep,
  kWorker,
  kDType,
  kShape,
  kFirstStatistic,
  kTime = kFirstStatistic + kStatistics,
  kValue,
  kBytes,
};
enum ScalarColumn : size_t { kScalarValue = kWorker + 1, kScalarTime };

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
  if (column == kScalarTime) return out->AddOptional(Microseconds(row.time));
  const format::TensorEvent &event = *row.elements;
  if (tensor::IsComplex(event.dtype)) return out->AddNulls();  // as its "value" of "tensors"
  const auto number = tensor::ToDouble(event.dtype, event.content);
  number.IsOk() ? out->AddNumber(*number) : out->AddNulls();
}

// Mostly all rows have the statistic, or none.
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

tensor::DType DTypeOf(const StepRow &row) {
  if (row.elements) return row.elements->dtype;
  return row.head ? row.head->dtype : tensor::DType::kInvalid;
}

void WriteShape(const StepRow &row, Column *out) {
  if (row.saved_shape != nullptr) return out->AddList(row.saved_shape->shape);
  if (!row.raw.empty() && row.raw.front()->part) return out->AddList(row.raw.front()->part->shape);
  if (row.elements) return out->AddList(row.elements->shape);
  row.head ? out->AddList(row.head->shape) : out->AddNulls();
}

void WriteBytes(const StepRow &row, Column *out) {
  const bool has_bytes = row.elements && row.elements->dtype != tensor::DType::kString;
  const bool fits = has_bytes && out->Fits(row.elements->content.size());
  fits ? out->AddTexts(AsText(row.elements->content)) : out->AddNulls();
}

void WriteOfTensor(size_t column, const StepRow &row, Column *out) {
  switch (column) {
    case kDType: return out->AddOptional(tensor::DTypeName(DTypeOf(row)));
    case kShape: return WriteShape(row, out);
    case kTime: return out->AddOptional(Microseconds(row.time));
    case kValue: return row.elements ? AddNumbers(*row.elements, out) : out->AddNulls();
    default: return WriteBytes(row, out);
  }
}

}  // namespace

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

void RowWriter::Write(const std::string &trial, const StepRows &rows) {
  if (!is_scalars_) return WriteSome(trial, rows, rows.rows);
  const auto end = std::stable_partition(
      rows.rows.begin(), rows.rows.end(),
      [](const StepRow &row) { return row.elements && IsOfOne(*row.elements); });
  WriteSome(trial, rows, {rows.rows.begin(), end});
}

void RowWriter::WriteSome(const std::string &trial, const StepRows &rows,
                          std::span<const StepRow> some) {
  for (size_t i = 0; i < columns_.size(); ++i) {
    WriteColumn(columns_[i], trial, rows, some, &builder_->At(i));
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
