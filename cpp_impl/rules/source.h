// What rules may ask about a job, wherever its answers come from.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "rules/detector.h"
#include "rules/sample.h"

namespace smdebug::rules {

// Steps are global ones.
class Source {
 public:
  // Which tensors are of interest; asked before they are read.
  using Wants = std::function<bool(std::string_view tensor)>;
  using Visit = std::function<void(const Sample &sample)>;

  virtual ~Source() = default;

  // Waits until the step can be judged.  STEP_UNAVAILABLE: it was not saved;
  // NO_MORE_DATA: the job has ended before it; CANCELLED.
  virtual Status WaitForStep(int64_t step) = 0;

  // The same, but not for longer than until `deadline`: TIMEOUT.
  virtual Status WaitForStepUntil(int64_t step, const Deadline &deadline) {
    (void)deadline;
    return WaitForStep(step);
  }

  // The first known step that is not before `step`.
  virtual Result<std::optional<int64_t>> NextStep(int64_t step) = 0;

  // Whether nothing more will be written to a known step.
  virtual Result<bool> IsComplete(int64_t step) {
    (void)step;
    return true;
  }

  // When a known step was recorded, in seconds since 1970; not a number where that cannot be
  // told.  May have to read for it.
  virtual double WallSecondsOf(int64_t step) {
    (void)step;
    return kNoNumber;
  }

  // What the step was.
  virtual Result<StepPlace> PlaceOf(int64_t step) = 0;

  // Visits the tensors of a step: worker by worker, in the order of their names, and of
  // each in the order in which they were recorded.  Fails as reading them does.
  virtual Status VisitStep(int64_t step, const Wants &wants, const Visit &visit) = 0;

  virtual const Membership &Collections() const = 0;

  // Between the two, questions look for no new data.  Rules that run side by side each
  // hold the source still: it moves again after the last Release().
  virtual void Hold() = 0;
  virtual void Release() = 0;
};

// Holds a source still.
class StandingStill {
 public:
  explicit StandingStill(Source &source) : source_(source) { source_.Hold(); }
  ~StandingStill() { source_.Release(); }
  StandingStill(const StandingStill &) = delete;
  StandingStill &operator=(const StandingStill &) = delete;

 private:
  Source &source_;
};

}  // namespace smdebug::rules
