#include "base/deferral.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <vector>

#include "base/log.h"

namespace smdebug::deferral_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Call final : public OutsideCall {
 public:
  explicit Call(std::function<void()> body) : body_(std::move(body)) {}
  void Run() noexcept override { body_(); }

 private:
  const std::function<void()> body_;
};

class DeferralTest : public testing::Test {
 protected:
  void Note(int number) {
    RunOutside(std::make_unique<Call>([this, number] { run_.push_back(number); }));
  }

  std::vector<int> run_;
};

TEST_F(DeferralTest, WithoutALockACallRunsAtOnce) {
  Note(1);
  EXPECT_THAT(run_, ElementsAre(1));
}

TEST_F(DeferralTest, UnderLocksCallsWaitForTheLastInTheirOrder) {
  Mutex first;
  Mutex second;
  {
    const DeferringLock lock(first);
    Note(1);
    {
      const DeferringLock inner(second);
      Note(2);
    }
    EXPECT_THAT(run_, IsEmpty());
    Note(3);
  }
  EXPECT_THAT(run_, ElementsAre(1, 2, 3));
}

TEST_F(DeferralTest, ACallFindsTheMutexUnlocked) {
  Mutex mutex;
  {
    const DeferringLock lock(mutex);
    RunOutside(std::make_unique<Call>([&] {
      const DeferringLock again(mutex);
      run_.push_back(1);
    }));
  }
  EXPECT_THAT(run_, ElementsAre(1));
}

TEST_F(DeferralTest, ACallWithinACallWaitsForItsEnd) {
  RunOutside(std::make_unique<Call>([this] {
    Note(2);
    run_.push_back(1);
  }));
  EXPECT_THAT(run_, ElementsAre(1, 2));
}

TEST_F(DeferralTest, OtherThreadsDoNotWait) {
  const CallDeferral deferral;
  std::thread([this] { Note(1); }).join();
  EXPECT_THAT(run_, ElementsAre(1));
}

TEST_F(DeferralTest, ALogLineIsPassedOnAfterTheLock) {
  Mutex mutex;
  const Logger logger(LogLevel::kInfo, [&](LogLevel, const std::string &) {
    const DeferringLock lock(mutex);
    run_.push_back(1);
  });
  {
    const DeferringLock lock(mutex);
    logger.Info("line");
    EXPECT_THAT(run_, IsEmpty());
  }
  EXPECT_THAT(run_, ElementsAre(1));
}

}  // namespace
}  // namespace smdebug::deferral_test
