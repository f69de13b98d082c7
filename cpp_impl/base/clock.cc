#include "base/clock.h"

#include <time.h>

#include <cmath>

namespace smdebug {
namespace {

// Long enough to mean "never", short enough that adding it to the current time cannot overflow.
constexpr Clock::Duration kVeryLong = std::chrono::hours(24 * 365);

class SystemClock final : public Clock {
 public:
  [[gnu::hot]] double WallSeconds() override {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    // Exact in a double, unlike nanoseconds, which only some C++ libraries count.
    return std::chrono::duration<double>(std::chrono::floor<std::chrono::microseconds>(now))
        .count();
  }
  // Not by std::chrono::steady_clock, which is code of one more library.  A profile asks when the
  // caches hold what a training has just computed, and no code of ours.
  [[gnu::hot]] Duration Monotonic() override {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
  }
  void WaitFor(CondVar &condition, Mutex &mutex, Duration time) override SMD_REQUIRES(mutex) {
    condition.WaitFor(mutex, time);
  }
};

}  // namespace

std::optional<int64_t> Microseconds(std::optional<double> seconds) {
  constexpr double kMicroseconds = 1e6;
  // The largest time that fits, some 290,000 years.
  constexpr double kMostSeconds = 9e12;
  const bool is_time = seconds && std::abs(*seconds) < kMostSeconds;
  if (!is_time) return std::nullopt;
  return static_cast<int64_t>(std::llround(*seconds * kMicroseconds));
}

Clock &Clock::System() {
  static auto *clock = new SystemClock;  // never freed, on purpose
  return *clock;
}

Deadline Deadline::After(Clock &clock, Clock::Duration time) {
  Deadline deadline;
  if (time < kVeryLong) deadline.end_ = clock.Monotonic() + time;
  return deadline;
}

Clock::Duration Deadline::Left(Clock &clock) const {
  if (end_ == Clock::Duration::max()) return kVeryLong;
  return end_ - clock.Monotonic();
}

}  // namespace smdebug
