#include "analyze/steps_ahead.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>

#include "analyze/trial_fixture.h"
#include "analyze/trial_source.h"
#include "base/strings.h"

namespace smdebug::analyze::steps_ahead_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int64_t kSteps = 40;

class StepsAheadTest : public TrialFixture {
 protected:
  StepsAheadTest() {
    store_->SetReadsAtOnce(32);
    PutCollections(*store_);
    for (int64_t step = 0; step < kSteps; ++step) PutStep(step);
    store_->SetFault([this](Call call, const std::string &name) {
      reads_ += call == Call::kRead && name.ends_with(".tfevents");
      return Status::Ok();
    });
  }

  // Returns "tensor number" for each tensor of the step.
  std::vector<std::string> Visit(int64_t step) {
    std::vector<std::string> shown;
    Expect(source_.VisitStep(
        step, [](std::string_view) { return true; },
        [&](const rules::Sample &sample) {
          shown.push_back(StrCat(sample.Tensor(), " ", sample.Numbers().front()));
        }));
    return shown;
  }
  void ExpectNumberAt(int64_t step) {
    EXPECT_THAT(Visit(step), ElementsAre(StrCat("a ", static_cast<double>(step))));
  }

  std::atomic<int> reads_{0};
  TrialSource source_{Shared()};
};

TEST_F(StepsAheadTest, EachFileIsReadOnce) {
  for (int64_t step = 0; step < kSteps; ++step) ExpectNumberAt(step);
  EXPECT_EQ(reads_, kSteps);
}

TEST_F(StepsAheadTest, ReadsBeforeItIsAsked) {
  ExpectNumberAt(0);
  source_.Hold();
  for (int64_t step = 1; step < 5; ++step) ExpectNumberAt(step);
  source_.Release();  // waits for the thread
  EXPECT_GT(reads_, 5);
}

TEST_F(StepsAheadTest, ReadsNothingAheadWhereOneFileIsReadAtATime) {
  store_->SetReadsAtOnce(1);
  for (int64_t step = 0; step < 5; ++step) ExpectNumberAt(step);
  EXPECT_EQ(reads_, 5);
}

TEST_F(StepsAheadTest, ReadsNothingAheadOfEachFifthStep) {
  for (int64_t step = 0; step < kSteps; step += 5) ExpectNumberAt(step);
  EXPECT_EQ(reads_, kSteps / 5);
}

TEST_F(StepsAheadTest, GoesBackAndOn) {
  for (const int64_t step : {3, 4, 5, 2, 3, 4, 39, 0, 1, 1, 2, 20}) ExpectNumberAt(step);
}

TEST_F(StepsAheadTest, LosesOnlyTheDamagedStep) {
  StepFiles files(7);
  files.Add("a", {7});
  files.Events()[files.Index().tensors[0].start + 20] ^= 1;
  files.Put(*store_);
  for (int64_t step = 0; step < kSteps; ++step) {
    if (step == 7) {
      EXPECT_THAT(Visit(step), IsEmpty());
    } else {
      ExpectNumberAt(step);
    }
  }
  ASSERT_EQ(log_.size(), 1U);
  EXPECT_TRUE(log_[0].ends_with("; skipped")) << log_[0];
}

TEST_F(StepsAheadTest, ReadsAgainWhatFailedAhead) {
  std::atomic<int> failures{0};
  store_->SetFault([&](Call call, const std::string &name) {
    const bool fails = call == Call::kRead && name.ends_with("000000000009_worker_0.tfevents") &&
                       failures.fetch_add(1) == 0;
    return fails ? Status(Code::kIo, "as told") : Status::Ok();
  });
  for (int64_t step = 0; step < kSteps; ++step) ExpectNumberAt(step);
  EXPECT_GT(failures, 1);
  EXPECT_THAT(log_, IsEmpty());
}

TEST_F(StepsAheadTest, ShowsAllOfAStepThatBecameCompleteLater) {
  PutCollections(*store_, 2);
  PutCollections(*store_, 2, "worker_1");
  for (int64_t step = 0; step < 3; ++step) PutStep(step, "worker_1");
  for (int64_t step = 0; step < 3; ++step) EXPECT_EQ(Visit(step).size(), 2U);
  PutStep(3, "worker_1");
  Expect(source_.WaitForStep(3));
  EXPECT_EQ(Visit(3).size(), 2U);
}

TEST_F(StepsAheadTest, ShowsAStepThatBecameKnownAfterLaterOnesWereRead) {
  for (int64_t step = 100; step < 120; step += 2) PutStep(step);
  for (int64_t step = 100; step < 108; step += 2) ExpectNumberAt(step);
  PutStep(109);
  Expect(TheTrial().Refresh());
  ExpectNumberAt(108);
  ExpectNumberAt(109);
  ExpectNumberAt(110);
}

TEST_F(StepsAheadTest, AForkedProcessNeedNotWait) {
  for (int64_t step = 0; step < 5; ++step) ExpectNumberAt(step);
  const pid_t child = fork();
  if (child == 0) {
    source_.Hold();
    source_.Release();
    _exit(0);
  }
  int state = 0;
  ASSERT_EQ(waitpid(child, &state, 0), child);
  EXPECT_EQ(state, 0);
  ExpectNumberAt(5);
}

}  // namespace
}  // namespace smdebug::analyze::steps_ahead_test
