// Which steps are there, which will never be, and which may still come.  No I/O.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/mode.h"

namespace smdebug::analyze {

// The numbers are those of smd_step_state.
enum class StepState : int32_t { kUnavailable = 0, kAvailable = 1, kNotYet = 2 };

struct ModeStep {
  Mode mode = Mode::kGlobal;
  int64_t step = 0;
};

// For one thread at a time.
//
// A step is complete when every worker wrote it, or when some later step is complete
// (workers write in order, so it will never be filled), or when the job has ended.
class StepTable {
 public:
  // `window`: how many known steps may follow the last complete one; of more, the first
  // half a window is given up as complete, until no more follow.
  explicit StepTable(int64_t window) : window_(window) {}

  void SetNumWorkers(size_t count) { num_workers_ = count; }

  // Notes that a worker wrote a step; the first to write a global step says what step
  // of which mode it was.  False if that worker's step was noted before.
  bool Add(int64_t global_step, uint32_t worker, ModeStep as);
  bool Has(int64_t global_step, uint32_t worker) const;
  // Whether the worker wrote a later step.
  bool HasAfter(int64_t global_step, uint32_t worker) const;

  // To be called when all that a refresh found has been added.
  void ApplyWindow();
  // Nothing more will come.
  void End();

  bool HasEnded() const { return has_ended_; }
  int64_t LastComplete() const { return last_complete_; }

  // Steps of a mode, ascending; for kGlobal all, by their global numbers.
  std::vector<int64_t> Steps(Mode mode, bool incomplete_too) const;
  // The first known step of all modes that is not before this one.
  std::optional<int64_t> NextStep(int64_t global_step) const;
  // The largest of them (complete or not), or nothing.
  std::optional<int64_t> LastStep(Mode mode) const;
  // Modes other than kGlobal that have steps.
  std::vector<Mode> Modes() const;

  std::optional<ModeStep> ModeStepOf(int64_t global_step) const;
  // For kGlobal the step itself, known or not.
  std::optional<int64_t> GlobalStepOf(Mode mode, int64_t step) const;

  bool IsComplete(int64_t global_step) const;
  StepState StateOf(int64_t step, Mode mode) const;

 private:
  struct GlobalStep {
    int64_t step;
    ModeStep as;
    std::vector<uint32_t> workers;
  };
  struct NumberedStep {
    int64_t step;         // of the mode
    int64_t global_step;  // the first one that was this step
  };

  const GlobalStep *Find(int64_t global_step) const;
  bool IsComplete(const GlobalStep &step) const;

  const int64_t window_;
  size_t num_workers_ = 1;
  std::vector<GlobalStep> steps_;                                 // ascending
  std::array<std::vector<NumberedStep>, kModes.size()> by_mode_;  // ascending; not kGlobal
  int64_t last_complete_ = -1;
  bool has_ended_ = false;
};

}  // namespace smdebug::analyze
