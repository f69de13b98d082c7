// Tells whether the batches of a training repeat.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "rules/support/sample.h"

namespace smdebug::rules {

// Follows whether a worker's batches repeat.  The gradients of one batch drift smoothly, as sums
// do.
class RepeatedBatches {
 public:
  void Add(const Sample &sample) {
    const std::vector<double> some = sample.SomeNumbers(kKeptElements);
    now_.insert(now_.end(), some.begin(), some.end());
  }
  void EndStep() {
    repeats_ = !now_.empty() && now_ == last_;
    if (!now_.empty()) last_ = std::exchange(now_, {});
  }
  // Reports whether the batch of the step that ended last is that of the step before.
  bool Repeats() const { return repeats_; }

 private:
  static constexpr int64_t kKeptElements = 256;

  bool repeats_ = false;
  std::vector<double> last_;
  std::vector<double> now_;
};

}  // namespace smdebug::rules
