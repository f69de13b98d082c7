// Time, injected so that tests need not wait for it.
#pragma once

#include <chrono>

#include "base/mutex.h"

namespace smdebug {

class Clock {
 public:
  using Duration = std::chrono::nanoseconds;

  virtual ~Clock() = default;

  // Seconds since 1970, UTC.
  virtual double WallSeconds() = 0;

  // Since some fixed moment; never goes back.
  virtual Duration Monotonic() = 0;

  // Waits on `condition` until notified or `time` has passed.
  virtual void WaitFor(CondVar &condition, Mutex &mutex, Duration time) SMD_REQUIRES(mutex) = 0;

  // The machine's own clock.  Lives for ever.
  static Clock &System();
};

// A moment until which something may take; may be never.
class Deadline {
 public:
  static Deadline Never() { return {}; }
  static Deadline After(Clock &clock, Clock::Duration time);

  bool IsOver(Clock &clock) const { return Left(clock) <= Clock::Duration::zero(); }
  // What is left; a very long time if there is no end.
  Clock::Duration Left(Clock &clock) const;

 private:
  Clock::Duration end_ = Clock::Duration::max();
};

}  // namespace smdebug
