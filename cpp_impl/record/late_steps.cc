#include "record/late_steps.h"

#include <algorithm>
#include <utility>

namespace smdebug::record {

OpenStep *LateSteps::Find(int64_t global_step) {
  const auto found = std::find_if(steps_.begin(), steps_.end(), [&](const LateStep &late) {
    return late.step->Position().global_step == global_step;
  });
  return found == steps_.end() ? nullptr : found->step.get();
}

LateStep &LateSteps::Add(std::unique_ptr<OpenStep> *open) {
  spare_.reserve(kMost + 1);  // so that RemoveOldest() needs no memory
  if (spare_.empty()) spare_.push_back((*open)->Another());
  LateStep &late = steps_.emplace_back();
  late.step = std::exchange(*open, std::move(spare_.back()));
  spare_.pop_back();
  return late;
}

void LateSteps::RemoveOldest() noexcept {
  steps_.front().step->End();
  spare_.push_back(std::move(steps_.front().step));
  steps_.pop_front();
}

}  // namespace smdebug::record
