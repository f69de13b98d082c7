#include "analyze/step_table.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace smdebug::analyze {
namespace {

template <class Steps>
auto LowerBound(Steps &steps, int64_t step) {
  return std::lower_bound(steps.begin(), steps.end(), step,
                          [](const auto &entry, int64_t wanted) { return entry.step < wanted; });
}

}  // namespace

size_t StepTable::Writers(const GlobalStep &step) const {
  return step.wrote == Wrote::kSeveral ? several_[step.worker].size() : step.wrote == Wrote::kOne;
}

bool StepTable::HasWritten(const GlobalStep &step, uint32_t worker) const {
  if (step.wrote != Wrote::kSeveral) return step.wrote == Wrote::kOne && step.worker == worker;
  const std::vector<uint32_t> &all = several_[step.worker];
  return std::binary_search(all.begin(), all.end(), worker);
}

void StepTable::NoteWriter(GlobalStep *step, uint32_t worker) {
  if (step->wrote == Wrote::kNobody) {
    step->worker = worker;
    step->wrote = Wrote::kOne;
    return;
  }
  if (step->wrote == Wrote::kOne) {
    several_.push_back({step->worker});
    step->worker = static_cast<uint32_t>(several_.size() - 1);
    step->wrote = Wrote::kSeveral;
  }
  std::vector<uint32_t> &all = several_[step->worker];
  all.insert(std::lower_bound(all.begin(), all.end(), worker), worker);
}

bool StepTable::Add(int64_t global_step, uint32_t worker, ModeStep as) {
  auto entry = LowerBound(steps_, global_step);
  if (entry == steps_.end() || entry->step != global_step) {
    entry = steps_.insert(
        entry, {global_step, as.step, 0, Wrote::kNobody, static_cast<uint8_t>(ModeIndex(as.mode))});
  }
  if (HasWritten(*entry, worker)) return false;
  if (as.mode != Mode::kGlobal) by_mode_[ModeIndex(as.mode)].Add({as.step, global_step});
  // This is last: if memory for the rest runs out, the step is not noted.
  NoteWriter(&*entry, worker);
  if (Writers(*entry) == num_workers_) last_complete_ = std::max(last_complete_, global_step);
  return true;
}

const StepTable::GlobalStep *StepTable::Find(int64_t global_step) const {
  const auto entry = LowerBound(steps_, global_step);
  return entry == steps_.end() || entry->step != global_step ? nullptr : &*entry;
}

bool StepTable::Has(int64_t global_step, uint32_t worker) const {
  const GlobalStep *step = Find(global_step);
  return step != nullptr && HasWritten(*step, worker);
}

bool StepTable::HasAfter(int64_t global_step, uint32_t worker) const {
  return std::any_of(LowerBound(steps_, global_step + 1), steps_.end(),
                     [&](const auto &step) { return HasWritten(step, worker); });
}

void StepTable::ApplyWindow() {
  auto first_after = LowerBound(steps_, last_complete_ + 1);
  const int64_t half = std::max<int64_t>(window_ / 2, 1);
  while (steps_.end() - first_after > window_) {
    first_after += half;
    last_complete_ = std::prev(first_after)->step;
    // The original drops half a window at each refresh.  A trial that is opened late may have to
    // catch up with many windows, so only the first refresh does as the original.
    if (!std::exchange(has_given_up_, true)) return;
  }
}

void StepTable::End() {
  has_ended_ = true;
  if (!steps_.empty()) last_complete_ = steps_.back().step;
}

bool StepTable::IsComplete(const GlobalStep &step) const {
  return has_ended_ || step.step <= last_complete_ || Writers(step) >= num_workers_;
}

bool StepTable::IsComplete(int64_t global_step) const {
  const GlobalStep *step = Find(global_step);
  return step != nullptr && IsComplete(*step);
}

std::vector<int64_t> StepTable::Steps(Mode mode, bool incomplete_too) const {
  std::vector<int64_t> found;
  if (mode == Mode::kGlobal) {
    for (const GlobalStep &step : steps_) {
      if (incomplete_too || IsComplete(step)) found.push_back(step.step);
    }
    return found;
  }
  for (const NumberedStep &step : by_mode_[ModeIndex(mode)].All()) {
    if (incomplete_too || IsComplete(step.global_step)) found.push_back(step.step);
  }
  return found;
}

std::optional<int64_t> StepTable::NextStep(int64_t global_step) const {
  const auto next = LowerBound(steps_, global_step);
  if (next == steps_.end()) return {};
  return next->step;
}

std::optional<int64_t> StepTable::LastStep(Mode mode) const {
  if (mode == Mode::kGlobal) {
    if (steps_.empty()) return {};
    return steps_.back().step;
  }
  const auto &numbered = by_mode_[ModeIndex(mode)].All();
  if (numbered.empty()) return {};
  return numbered.back().step;
}

std::vector<Mode> StepTable::Modes() const {
  std::vector<Mode> modes;
  for (const Mode mode : kModes) {
    if (!by_mode_[ModeIndex(mode)].IsEmpty()) modes.push_back(mode);
  }
  return modes;
}

std::optional<ModeStep> StepTable::ModeStepOf(int64_t global_step) const {
  const GlobalStep *step = Find(global_step);
  if (step == nullptr) return {};
  return ModeStep{kModes[step->mode], step->mode_step};
}

std::optional<int64_t> StepTable::GlobalStepOf(Mode mode, int64_t step) const {
  if (mode == Mode::kGlobal) return step;
  const auto &numbered = by_mode_[ModeIndex(mode)].All();
  const auto at = LowerBound(numbered, step);
  if (at == numbered.end() || at->step != step) return {};
  return at->global_step;
}

StepState StepTable::StateOf(int64_t step, Mode mode) const {
  // The first known step of the mode at or after `step`, with both its numbers.
  std::optional<NumberedStep> next;
  if (mode == Mode::kGlobal) {
    const auto at = LowerBound(steps_, step);
    if (at != steps_.end()) next = {at->step, at->step};
  } else {
    const auto &numbered = by_mode_[ModeIndex(mode)].All();
    const auto at = LowerBound(numbered, step);
    if (at != numbered.end()) next = *at;
  }
  if (!next) return has_ended_ ? StepState::kUnavailable : StepState::kNotYet;
  if (next->step > step) {
    return next->global_step <= last_complete_ ? StepState::kUnavailable : StepState::kNotYet;
  }
  return IsComplete(next->global_step) ? StepState::kAvailable : StepState::kNotYet;
}

}  // namespace smdebug::analyze
