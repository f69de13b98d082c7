// A clock that advances when a test says so, or in waits.
#pragma once

#include <atomic>
#include <functional>
#include <utility>

#include "base/clock.h"

namespace smdebug {

// Safe from any thread.
class FakeClock final : public Clock {
 public:
  double WallSeconds() override { return std::chrono::duration<double>(Monotonic()).count(); }
  Duration Monotonic() override { return Duration(now_.load()); }

  // Advances the time without waiting.  After SetOnWait(), calls that function instead,
  // without the mutex.
  void WaitFor(CondVar &, Mutex &mutex, Duration time) override SMD_REQUIRES(mutex) {
    if (!on_wait_) return Pass(time);
    mutex.Unlock();
    on_wait_(time);
    mutex.Lock();
  }

  void Pass(Duration time) { now_ += time.count(); }
  // Call it before any wait.
  void SetOnWait(std::function<void(Duration)> on_wait) { on_wait_ = std::move(on_wait); }

 private:
  std::atomic<Duration::rep> now_{Duration(std::chrono::seconds(1'000'000)).count()};
  std::function<void(Duration)> on_wait_;
};

}  // namespace smdebug
