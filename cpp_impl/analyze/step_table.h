// Keeps track of which steps are available, which will never be, and which may still come.  No I/O.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "analyze/sorted_entries.h"
#include "base/mode.h"

namespace smdebug::analyze {

// The values are those of smd_step_state.
enum class StepState : int32_t { kUnavailable = 0, kAvailable = 1, kNotYet = 2 };

struct ModeStep {
  Mode mode = Mode::kGlobal;
  int64_t step = 0;
};

// For one thread at a time.
//
// A step is complete if every worker wrote it, a later step is complete, or the job has stopped.
// Workers write in order, so a gap before a complete step is never filled.
class StepTable {
 public:
  // `window`: how many known steps may follow the last complete step.  If more follow, half a
  // window of them counts as complete.
  explicit StepTable(int64_t window) : window_(window) {}

  void SetNumWorkers(size_t count) { num_workers_ = count; }

  // Notes that a worker wrote a step.  The first worker to write a global step defines its mode and
  // its step of that mode.  Returns false if that worker's step was noted before.
  bool Add(int64_t global_step, uint32_t worker, ModeStep as);
  bool Has(int64_t global_step, uint32_t worker) const;
  // Returns true if the worker wrote a later step.
  bool HasAfter(int64_t global_step, uint32_t worker) const;

  // The caller calls this after it has added everything that a refresh found.  The first time that
  // too many steps follow, drops half a window; later, as many halves as necessary.
  void ApplyWindow();
  // Declares that no more steps will come.
  void End();

  bool HasEnded() const { return has_ended_; }
  int64_t LastComplete() const { return last_complete_; }

  // Returns the steps of a mode, ascending.  For kGlobal, returns all steps by their global
  // numbers.
  std::vector<int64_t> Steps(Mode mode, bool incomplete_too) const;
  // Returns the first known step of any mode at or after this one.
  std::optional<int64_t> NextStep(int64_t global_step) const;
  // Returns the mode's largest step (complete or not), or nothing.
  std::optional<int64_t> LastStep(Mode mode) const;
  // Returns the modes other than kGlobal that have steps.
  std::vector<Mode> Modes() const;

  std::optional<ModeStep> ModeStepOf(int64_t global_step) const;
  // For kGlobal, returns the step itself, known or not.
  std::optional<int64_t> GlobalStepOf(Mode mode, int64_t step) const;

  bool IsComplete(int64_t global_step) const;
  StepState StateOf(int64_t step, Mode mode) const;

 private:
  enum class Wrote : uint8_t { kNobody, kOne, kSeveral };
  // There are many steps.  Nearly always one worker wrote all.
  struct GlobalStep {
    int64_t step;
    int64_t mode_step;
    uint32_t worker;  // that wrote the step; if several did, their place in `several_`
    Wrote wrote;
    uint8_t mode;  // its ModeIndex()
  };
  struct NumberedStep {
    int64_t step;         // the step of the mode
    int64_t global_step;  // the first global step with this number
  };
  struct NumberOf {
    int64_t operator()(const NumberedStep &step) const { return step.step; }
  };
  using NumberedSteps = SortedEntries<NumberedStep, NumberOf, Kept::kFirst>;

  const GlobalStep *Find(int64_t global_step) const;
  bool HasWritten(const GlobalStep &step, uint32_t worker) const;
  void NoteWriter(GlobalStep *step, uint32_t worker);
  size_t Writers(const GlobalStep &step) const;
  bool IsComplete(const GlobalStep &step) const;

  const int64_t window_;
  size_t num_workers_ = 1;
  std::vector<GlobalStep> steps_;                     // ascending
  std::vector<std::vector<uint32_t>> several_;        // workers of a step, ascending
  std::array<NumberedSteps, kModes.size()> by_mode_;  // without kGlobal
  int64_t last_complete_ = -1;
  bool has_given_up_ = false;
  bool has_ended_ = false;
};

}  // namespace smdebug::analyze
