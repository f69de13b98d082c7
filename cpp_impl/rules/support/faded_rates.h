// Finds learning rates that fade long before the training ends.
#pragma once

#include <cstdint>

#include "rules/support/culprits.h"
#include "rules/support/sample.h"
#include "rules/support/sample_states.h"

namespace smdebug::rules {

// A schedule may end near 0, but not spend a third of the training there.  One that waits for
// progress may: it changes the rate at unequal intervals.  For one thread.
class FadedRates {
 public:
  // `least`: relative to the largest rate before; 0: none is too low.
  explicit FadedRates(double least) : least_(least) {}

  // Takes a learning rate of a training step, and offers what it tells.
  void Add(const Sample &sample, Culprits *culprits);

  // Returns true if the rates of the step are too low, as at the end of a schedule.
  bool AreLow(const StepPlace &place) const { return low_ == place.step && high_ != place.step; }

 private:
  struct Rate {
    int64_t first = -1;  // step
    double largest = 0;
    int64_t low_since = -1;  // step; -1: it is not low
    // Since it was largest:
    double last = 0;
    int64_t changed = -1;  // step
    int64_t shortest = 0;  // intervals between changes
    int64_t longest = 0;

    void NoteChange(double now, int64_t step);
    bool WaitsForProgress() const;
  };

  const double least_;
  SampleStates<Rate> rates_;
  int64_t low_ = -1;   // the last step with a rate that is too low
  int64_t high_ = -1;  // the last step with another one
};

}  // namespace smdebug::rules
