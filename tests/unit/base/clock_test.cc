#include "base/clock.h"

#include <gtest/gtest.h>

namespace smdebug::clock_test {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

class FakeClock final : public Clock {
 public:
  double WallSeconds() override { return std::chrono::duration<double>(now_).count(); }
  Duration Monotonic() override { return now_; }
  void WaitFor(CondVar &, Mutex &, Duration time) override { now_ += time; }

  void Pass(Duration time) { now_ += time; }

 private:
  Duration now_ = seconds(1000);
};

TEST(Deadline, IsOverWhenItsTimeHasPassed) {
  FakeClock clock;
  const Deadline deadline = Deadline::After(clock, seconds(10));
  EXPECT_EQ(deadline.Left(clock), seconds(10));
  clock.Pass(seconds(9));
  EXPECT_FALSE(deadline.IsOver(clock));
  EXPECT_EQ(deadline.Left(clock), seconds(1));
  clock.Pass(seconds(1));
  EXPECT_TRUE(deadline.IsOver(clock));
  clock.Pass(seconds(5));
  EXPECT_EQ(deadline.Left(clock), seconds(-5));
}

TEST(Deadline, WithoutTimeIsOverImmediately) {
  FakeClock clock;
  EXPECT_TRUE(Deadline::After(clock, seconds(0)).IsOver(clock));
  EXPECT_TRUE(Deadline::After(clock, seconds(-1)).IsOver(clock));
}

TEST(Deadline, MayBeNever) {
  FakeClock clock;
  const Deadline never = Deadline::Never();
  const Deadline endless = Deadline::After(clock, Clock::Duration::max());
  clock.Pass(hours(24 * 365 * 100));
  EXPECT_FALSE(never.IsOver(clock));
  EXPECT_FALSE(endless.IsOver(clock)) << "the sum of now and that time does not overflow";
}

TEST(Deadline, BoundsAWait) {
  FakeClock clock;
  Mutex mutex;
  CondVar condition;
  const Deadline deadline = Deadline::After(clock, seconds(10));
  int waits = 0;
  const MutexLock lock(mutex);
  while (!deadline.IsOver(clock)) {
    clock.WaitFor(condition, mutex, seconds(4));
    ++waits;
  }
  EXPECT_EQ(waits, 3);
}

TEST(SystemClock, IncreasesMonotonically) {
  Clock &clock = Clock::System();
  EXPECT_EQ(&clock, &Clock::System());
  const Clock::Duration before = clock.Monotonic();
  EXPECT_GE(clock.Monotonic(), before);
  EXPECT_GT(clock.WallSeconds(), 1.6e9);
}

TEST(SystemClock, WaitsNoLongerThanRequested) {
  Mutex mutex;
  CondVar condition;
  const MutexLock lock(mutex);
  Clock::System().WaitFor(condition, mutex, std::chrono::nanoseconds(1));
}

}  // namespace
}  // namespace smdebug::clock_test
