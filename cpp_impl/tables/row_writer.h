// Writes rows of tensors into columns.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tables/batch_builder.h"
#include "tables/request.h"
#include "tables/step_rows.h"
#include "tensor/dtype.h"

namespace smdebug::tables {

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

// Return what a row holds: the number of a scalar, unless it is complex; the type, or kInvalid; the
// shape, or NULL.
std::optional<double> ScalarOfRow(const StepRow &row);
tensor::DType TypeOfRow(const StepRow &row);
const std::vector<int64_t> *ShapeOfRow(const StepRow &row);

// Returns what must be read for the columns that are wanted.
Reads ReadsFor(const Request &request);
// Reports whether a row says to which collection its tensor belongs.
bool ShowsCollection(const Request &request);

// Fills the columns that a request names with rows.
class RowWriter {
 public:
  RowWriter(const Request &request, BatchBuilder *builder);

  // Writes all rows; for "scalars", those of one element.  Returns those that it has written.
  std::span<const StepRow> Write(const std::string &trial, const StepRows &rows);

 private:
  void WriteSome(const std::string &trial, const StepRows &rows, std::span<const StepRow> some);
  void WriteColumn(size_t column, const std::string &trial, const StepRows &rows,
                   std::span<const StepRow> some, Column *out) const;

  const bool is_scalars_;
  const std::vector<size_t> columns_;
  BatchBuilder *const builder_;
};

}  // namespace smdebug::tables
