// How many batches the hook says that an optimizer sums up for an update.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "rules/support/sample.h"

namespace smdebug::rules {

// The tensor of hooks whose steps are batches, not updates, and whose framework sums gradients up.
constexpr std::string_view kBatchesPerUpdate = "^(scalar/)?batches_per_update$";
inline bool IsBatchesPerUpdate(std::string_view tensor) {
  return tensor == "batches_per_update" || tensor == "scalar/batches_per_update";
}

// Follows that tensor of one worker.  For one thread.
class BatchesPerUpdate {
 public:
  void Add(const Sample &sample) {
    const double batches = sample.Scalar().value_or(1);
    batches_ = batches > 1 ? static_cast<int64_t>(std::min(batches, kMost)) : 1;
  }

  // Returns how many records of a weight an update may take, if one is made each `steps` steps.
  int64_t Records(int64_t steps) const { return (batches_ - 1) / std::max<int64_t>(steps, 1) + 1; }

  // The same, of records of which one is made now.
  int64_t RecordsAt(int64_t step) {
    const int64_t steps = step - last_;
    last_ = step;
    return Records(steps);
  }

 private:
  static constexpr double kMost = 1e6;

  int64_t batches_ = 1;
  int64_t last_ = -1;
};

}  // namespace smdebug::rules
