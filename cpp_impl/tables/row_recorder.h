// Collects rows for the row cache, or for a row file.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "format/stored_rows.h"
#include "tables/step_row.h"

namespace smdebug::tables {

// For one thread at a time.
class RowRecorder {
 public:
  // The columns of numbers are those of the statistics, then, with `has_scalars`, the only elements
  // of rows.  `number` differs from that of any other recorder that gets rows of the same names.
  RowRecorder(const Reads &reads, bool has_scalars, uint64_t number);

  // Adds rows of a step; those of one step come one after the other.  Drops all if a record among
  // them has no checksum in the index, or if they take more memory than the cache keeps.
  void Add(const StepRows &step, std::span<const StepRow> rows);
  void Drop();
  bool IsDropped() const { return is_dropped_; }
  // Returns about how much memory the rows take.
  uint64_t Bytes() const;

  // Returns what was added, and drops it.  `steps` are the index files, with their versions, in the
  // order in which their rows were added.  Returns nothing if rows were dropped.
  std::optional<format::StoredRows> Take(std::vector<format::StoredStep> steps);

 private:
  bool HasChecksums(const StepRow &row) const;
  void AddNumbers(const StepRow &row);
  uint32_t NumberOf(const NamedTensor &tensor);
  uint32_t ShapeOf(const StepRow &row);
  // Ends the list of the last step.
  void EndList();

  const Reads reads_;
  const bool has_scalars_;
  const uint64_t number_;
  bool is_dropped_ = false;
  format::StoredRows rows_;
  size_t listed_ = 0;        // rows in the lists of `rows_`
  uint64_t name_bytes_ = 0;  // of its names
  format::StoredList list_;  // that of the last step, which is not among them yet
  std::map<std::vector<int64_t>, uint32_t> shapes_;
};

}  // namespace smdebug::tables
