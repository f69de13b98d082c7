// Writes rows of tensors into columns.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tables/batch_builder.h"
#include "tables/request.h"
#include "tables/step_rows.h"

namespace smdebug::tables {

// Returns what must be read for the columns that are wanted.
Reads ReadsFor(const Request &request);
// Reports whether a row says to which collection its tensor belongs.
bool ShowsCollection(const Request &request);

// Fills the columns that a request names with rows.
class RowWriter {
 public:
  RowWriter(const Request &request, BatchBuilder *builder);

  // Writes all rows; for "scalars", those of one element.
  void Write(const std::string &trial, const StepRows &rows);

 private:
  void WriteSome(const std::string &trial, const StepRows &rows, std::span<const StepRow> some);
  void WriteColumn(size_t column, const std::string &trial, const StepRows &rows,
                   std::span<const StepRow> some, Column *out) const;

  const bool is_scalars_;
  const std::vector<size_t> columns_;
  BatchBuilder *const builder_;
};

}  // namespace smdebug::tables
