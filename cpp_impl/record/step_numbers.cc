#include "record/step_numbers.h"

namespace smdebug::record {

void StepNumbers::SetMode(Mode mode) {
  const MutexLock lock(mutex_);
  mode_ = mode;
}

Mode StepNumbers::GetMode() const {
  const MutexLock lock(mutex_);
  return mode_;
}

int64_t StepNumbers::Last(Mode mode) const {
  const MutexLock lock(mutex_);
  return last_[ModeIndex(mode)];
}

StepPosition StepNumbers::Next() const {
  const MutexLock lock(mutex_);
  return {last_[ModeIndex(Mode::kGlobal)] + 1, mode_, last_[ModeIndex(mode_)] + 1};
}

void StepNumbers::Advance(const StepPosition &position) {
  const MutexLock lock(mutex_);
  last_[ModeIndex(position.mode)] = position.mode_step;
  last_[ModeIndex(Mode::kGlobal)] = position.global_step;
}

void StepNumbers::Restore(const RunState &state) {
  const MutexLock lock(mutex_);
  last_.fill(state.last_seen);
  for (const auto &[mode, step] : state.mode_steps) last_[ModeIndex(mode)] = step;
  last_[ModeIndex(Mode::kGlobal)] = state.last_seen;
}

void StepNumbers::Fill(RunState *state) const {
  const MutexLock lock(mutex_);
  state->last_seen = last_[ModeIndex(Mode::kGlobal)];
  for (const Mode mode : kModes) {
    if (last_[ModeIndex(mode)] != -1) state->mode_steps[mode] = last_[ModeIndex(mode)];
  }
}

}  // namespace smdebug::record
