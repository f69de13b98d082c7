// Collects the rows of a scan for the row cache.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "tables/cached_rows.h"
#include "tables/step_rows.h"

namespace smdebug::tables {

// For one thread at a time.
class RowRecorder {
 public:
  // `number` differs from that of any other recorder that gets rows of the same names.
  RowRecorder(const Reads &reads, bool is_scalars, uint64_t number);

  // Adds rows of a step; those of one step come one after the other.  Drops all if a record among
  // them has no checksum in the index, or if they take more memory than the cache keeps.
  void Add(const StepRows &step, std::span<const StepRow> rows);
  void Drop();
  bool IsDropped() const { return is_dropped_; }

  // Returns what was added, and drops it.  `steps` are the index files, with their versions, in the
  // order in which their rows were added.  Returns nothing if rows were dropped.
  std::optional<CachedRows> Take(std::vector<CachedStep> steps);

 private:
  bool HasChecksums(const StepRow &row) const;
  void AddNumbers(const StepRow &row);
  uint32_t NumberOf(const NamedTensor &tensor);
  uint32_t ShapeOf(const StepRow &row);
  // Ends the list of the last step.
  void EndList();
  uint64_t Bytes() const;

  const Reads reads_;
  const bool is_scalars_;
  const uint64_t number_;
  bool is_dropped_ = false;
  CachedRows rows_;
  size_t listed_ = 0;  // rows in the lists of `rows_`
  CachedList list_;    // that of the last step, which is not among them yet
  std::map<std::vector<int64_t>, uint32_t> shapes_;
};

}  // namespace smdebug::tables
