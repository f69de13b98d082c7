// The numbers of a job's steps, and the mode of the next one.
#pragma once

#include <array>
#include <cstdint>

#include "base/mode.h"
#include "base/mutex.h"
#include "record/batch.h"
#include "record/state_store.h"

namespace smdebug::record {

// Thread safety: any thread.
//
// Invariants:
//   1. The lock is held for look-ups only, never while a thread waits, does I/O or calls
//      anything: any callback may query numbers at any time.
//   2. Numbers only grow.  The number of GLOBAL counts the steps of all modes.
class StepNumbers {
 public:
  void SetMode(Mode mode);
  Mode GetMode() const;
  // The last step begun in the mode; -1 if there was none.
  int64_t Last(Mode mode) const;
  // Returns the position of the next step of the current mode.
  StepPosition Next() const;
  // Notes that the step at `position` was begun.
  void Advance(const StepPosition &position);

  // Continues after the steps of a run.
  void Restore(const RunState &state);
  // Fills in the numbers of a run's state.
  void Fill(RunState *state) const;

 private:
  mutable Mutex mutex_;
  Mode mode_ SMD_GUARDED_BY(mutex_) = Mode::kGlobal;
  std::array<int64_t, kModes.size()> last_ SMD_GUARDED_BY(mutex_) = {-1, -1, -1, -1};
};

}  // namespace smdebug::record
