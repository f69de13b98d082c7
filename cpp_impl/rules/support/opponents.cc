#include "rules/support/opponents.h"

#include <utility>

namespace smdebug::rules {
namespace {

// Each opponent has at least one of so many steps.
constexpr int64_t kSteps = 20;
// At more of the steps, the number of losses differs from that of the step before.
constexpr double kMost = 0.8;

}  // namespace

void Opponents::Note(const Sample &loss) {
  const int64_t step = loss.Place().step;
  if (step != last_step_) {
    if (losses_before_ > 0 && losses_ != losses_before_) ++changes_;
    losses_before_ = std::exchange(losses_, 0);
    ++all_steps_;
  } else if (loss.Tensor() != last_) {
    has_shared_step_ = true;
  } else {
    return;
  }
  ++losses_;
  last_step_ = step;
  last_ = loss.Tensor();
  ++steps_[last_];
}

bool Opponents::Are() const {
  if (all_steps_ >= kSteps &&
      kMost * static_cast<double>(all_steps_) < static_cast<double>(changes_)) {
    return true;
  }
  if (has_shared_step_ || steps_.size() < 2) return false;
  for (const auto &[name, steps] : steps_) {
    if (steps * kSteps < all_steps_) return false;
  }
  return true;
}

}  // namespace smdebug::rules
