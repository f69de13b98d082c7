// Presents a job to rules, whether it is stored or still being written.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "rules/finding.h"
#include "rules/support/membership.h"
#include "rules/support/sample.h"

namespace smdebug::rules {

// Reports whether the error means missing data rather than a failed read.
bool IsMissingData(const Status &status);

// Reads the steps of a job.  Steps are global steps.
class Source {
 public:
  // Reports whether a tensor is needed.  Called before the tensor is read.
  using Wants = std::function<bool(std::string_view tensor)>;
  using Visit = std::function<void(Sample &sample)>;

  virtual ~Source() = default;

  // Waits until the step is complete.  Fails with STEP_UNAVAILABLE if the step was not saved, with
  // NO_MORE_DATA if the job ended before it, and with CANCELLED.
  virtual Status WaitForStep(int64_t step) = 0;

  // Waits like WaitForStep(), but fails with TIMEOUT at `deadline`.
  virtual Status WaitForStepUntil(int64_t step, const Deadline &deadline) {
    (void)deadline;
    return WaitForStep(step);
  }

  // Returns the first known step at or after `step`.
  virtual Result<std::optional<int64_t>> NextStep(int64_t step) = 0;

  // Reports whether the job has ended: no further step comes.
  virtual Result<bool> HasEnded() { return false; }

  // Reports whether all workers have written a known step.
  virtual Result<bool> IsComplete(int64_t step) {
    (void)step;
    return true;
  }

  // Returns the time at which a known step was recorded, in seconds since 1970, or NaN if unknown.
  // May read from storage, unless the step was visited last.
  virtual double WallSecondsOf(int64_t step) {
    (void)step;
    return kNoNumber;
  }

  // Returns the step's mode and its number in that mode.
  virtual Result<StepPlace> PlaceOf(int64_t step) = 0;

  // Visits the tensors of a step, ordered by worker name.  Each worker's tensors come in the order
  // in which they were recorded.  Fails if reading them fails.
  virtual Status VisitStep(int64_t step, const Wants &wants, const Visit &visit) = 0;

  virtual const Membership &Collections() const = 0;

  // Between Hold() and Release(), no call looks for new data.  Calls nest: the source refreshes
  // again after the last Release().
  virtual void Hold() = 0;
  virtual void Release() = 0;

  // Between the two, the source keeps what it reads, for rules that read it themselves.  Calls
  // nest.
  virtual void BeginSharing() {}
  virtual void EndSharing() {}
};

// Holds a source while it exists, see Source::Hold().
class StandingStill {
 public:
  explicit StandingStill(Source &source) : source_(source) { source_.Hold(); }
  ~StandingStill() { source_.Release(); }
  StandingStill(const StandingStill &) = delete;
  StandingStill &operator=(const StandingStill &) = delete;

 private:
  Source &source_;
};

// Shares a source's reads while it exists, see Source::BeginSharing().
class SharedReading {
 public:
  explicit SharedReading(Source &source) : source_(source) { source_.BeginSharing(); }
  ~SharedReading() { source_.EndSharing(); }
  SharedReading(const SharedReading &) = delete;
  SharedReading &operator=(const SharedReading &) = delete;

 private:
  Source &source_;
};

}  // namespace smdebug::rules
