#include "rules/support/opponents.h"

namespace smdebug::rules {
namespace {

// Each opponent has at least one of so many steps.
constexpr int64_t kSteps = 20;

}  // namespace

void Opponents::Note(const Sample &loss) {
  const int64_t step = loss.Place().step;
  if (step != last_step_) {
    ++all_steps_;
  } else if (loss.Tensor() != last_) {
    has_shared_step_ = true;
  } else {
    return;
  }
  last_step_ = step;
  last_ = loss.Tensor();
  ++steps_[last_];
}

bool Opponents::Are() const {
  if (has_shared_step_ || steps_.size() < 2) return false;
  for (const auto &[name, steps] : steps_) {
    if (steps * kSteps < all_steps_) return false;
  }
  return true;
}

}  // namespace smdebug::rules
