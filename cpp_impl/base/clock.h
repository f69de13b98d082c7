// A clock that tests can replace, so that they need not wait.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/mutex.h"

namespace smdebug {

class Clock {
 public:
  using Duration = std::chrono::nanoseconds;

  virtual ~Clock() = default;

  // Returns the seconds since 1970, UTC, to the microsecond.
  virtual double WallSeconds() = 0;

  // Returns the time since a fixed moment.  Never decreases.
  virtual Duration Monotonic() = 0;

  // Waits on `condition` until notified or `time` has passed.
  virtual void WaitFor(CondVar &condition, Mutex &mutex, Duration time) SMD_REQUIRES(mutex) = 0;

  // Returns the clock of the machine, which is never destroyed.
  static Clock &System();
};

// Returns the whole microseconds, or nothing if there is no time or it does not fit.
std::optional<int64_t> Microseconds(std::optional<double> seconds);

// The moment at which an operation times out; may be never.
class Deadline {
 public:
  static Deadline Never() { return {}; }
  static Deadline After(Clock &clock, Clock::Duration time);

  bool IsOver(Clock &clock) const { return Left(clock) <= Clock::Duration::zero(); }
  // Returns the time left; a very long time if the deadline is never.
  Clock::Duration Left(Clock &clock) const;

 private:
  Clock::Duration end_ = Clock::Duration::max();
};

}  // namespace smdebug
