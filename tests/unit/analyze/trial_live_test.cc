// A trial beside the job that still records it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/trial_fixture.h"

namespace smdebug::analyze::trial_live_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Le;
using testing::SizeIs;

class LiveTrialTest : public TrialFixture {
 protected:
  Status Wait(int64_t step, Mode mode = Mode::kGlobal) {
    return TheTrial().WaitForStep(step, mode, Deadline::Never());
  }
  Status WaitAtMost(Clock::Duration time, int64_t step) {
    return TheTrial().WaitForStep(step, Mode::kGlobal, Deadline::After(clock_, time));
  }
};

// ---- opening -----------------------------------------------------------------------------

TEST_F(LiveTrialTest, WaitsForTheCollections) {
  WhileWaiting({[] {}, [] {}, [this] { PutCollections(*store_); }});
  Expect(TheTrial().Load());
  EXPECT_THAT(waits_, ElementsAre(milliseconds(50), milliseconds(100), milliseconds(200)));
}

TEST_F(LiveTrialTest, WaitsForThoseOfEveryWorker) {
  PutCollections(*store_, 2, "worker_0");
  WhileWaiting({[] {}, [this] { PutCollections(*store_, 2, "worker_1"); }});
  Expect(TheTrial().Load());
  EXPECT_EQ(waits_.size(), 2U);
}

TEST_F(LiveTrialTest, LooksAtLeastEveryTwoSeconds) {
  options_.wait = seconds(60);
  EXPECT_EQ(TheTrial().Load().GetCode(), Code::kMissingCollections);
  EXPECT_THAT(waits_, Each(Le(seconds(2))));
  EXPECT_GE(waits_.size(), 30U);
}

TEST_F(LiveTrialTest, SaysAfterASecondWhatItWaitsFor) {
  options_.wait = seconds(600);
  std::vector<Clock::Duration> logged;
  options_.logger = Logger(LogLevel::kWarning, [&](LogLevel, const std::string &line) {
    logged.push_back(clock_.Monotonic());
    log_.push_back(line);
  });
  const auto before = clock_.Monotonic();
  EXPECT_EQ(TheTrial().Load().GetCode(), Code::kMissingCollections);
  ASSERT_THAT(logged, SizeIs(1)) << "once";
  EXPECT_EQ(logged[0] - before, seconds(1));
  EXPECT_THAT(log_[0], HasSubstr("/runs/my_trial/: waiting for a job to record here, for up to 600 "
                                 "seconds"));
}

TEST_F(LiveTrialTest, IsSilentIfItWaitsForLessThanASecond) {
  options_.logger =
      Logger(LogLevel::kWarning, [&](LogLevel, const std::string &line) { log_.push_back(line); });
  WhileWaiting({[] {}, [] {}, [this] { PutCollections(*store_); }});
  Expect(TheTrial().Load());
  EXPECT_THAT(log_, SizeIs(0));
}

TEST_F(LiveTrialTest, WaitsNoLongerThanItMay) {
  options_.wait = seconds(3);
  const auto before = clock_.Monotonic();
  const Status status = TheTrial().Load();
  EXPECT_EQ(status.GetCode(), Code::kMissingCollections);
  EXPECT_THAT(status.Message(), HasSubstr("/runs/my_trial/: no collection files"));
  EXPECT_EQ(*status.Detail("path"), "/runs/my_trial/");
  EXPECT_EQ(clock_.Monotonic() - before, seconds(3));
  PutCollections(*store_);
  Expect(TheTrial().Load());
}

TEST_F(LiveTrialTest, AJobThatEndedWithoutThemWillNotWriteThem) {
  PutEndMarker(*store_);
  EXPECT_EQ(TheTrial().Load().GetCode(), Code::kMissingCollections);
  EXPECT_THAT(waits_, IsEmpty());
}

TEST_F(LiveTrialTest, OpeningCanBeCancelled) {
  WhileWaiting([this] { TheTrial().Cancel(); });
  EXPECT_EQ(TheTrial().Load().GetCode(), Code::kCancelled);
  EXPECT_EQ(waits_.size(), 1U);
}

TEST_F(LiveTrialTest, EveryQueryOpensIt) {
  WhileWaiting([this] { PutCollections(*store_); });
  PutStep(0);
  EXPECT_THAT(Steps(), ElementsAre(0));
}

// ---- waiting for a step ------------------------------------------------------------------

class WaitingTest : public LiveTrialTest {
 protected:
  WaitingTest() { PutCollections(*store_); }
};

TEST_F(WaitingTest, AStepThatIsThereIsNotWaitedFor) {
  PutStep(0);
  Expect(Wait(0));
  EXPECT_THAT(waits_, IsEmpty());
}

TEST_F(WaitingTest, StepsAreReadAsTheJobWritesThem) {
  int64_t next = 0;
  WhileWaiting([&] { PutStep(next++); });
  for (int64_t step = 0; step < 5; ++step) {
    Expect(Wait(step));
    EXPECT_EQ(Steps().back(), step);
  }
  EXPECT_EQ(waits_.size(), 5U);
  EXPECT_THAT(waits_, Each(milliseconds(50))) << "each wait begins anew";
}

TEST_F(WaitingTest, AStepIsThereOnceEveryWorkerWroteIt) {
  PutCollections(*store_, 2, "worker_0");
  PutCollections(*store_, 2, "worker_1");
  WhileWaiting({[this] { PutStep(0, "worker_1"); }, [this] { PutStep(0, "worker_0"); }});
  Expect(Wait(0));
  EXPECT_EQ(waits_.size(), 2U);
}

TEST_F(WaitingTest, AStepOfAModeIsWaitedForByItsOwnNumber) {
  WhileWaiting({[this] { PutStep(0, Mode::kTrain, 0); }, [this] { PutStep(1, Mode::kEval, 0); }});
  Expect(Wait(0, Mode::kEval));
  EXPECT_EQ(waits_.size(), 2U);
}

TEST_F(WaitingTest, AStepThatWasPassedOverWillNotCome) {
  WhileWaiting([this] { PutStep(10); });
  const Status status = Wait(5);
  EXPECT_EQ(status.GetCode(), Code::kStepUnavailable);
  EXPECT_EQ(*status.Detail("step"), "5");
  EXPECT_EQ(*status.Detail("mode"), "GLOBAL");
}

TEST_F(WaitingTest, AfterTheJobsEndThereIsNoMoreData) {
  PutStep(0);
  WhileWaiting({[this] { PutStep(7); }, [this] { PutOldEndMarker(); }});
  const Status status = Wait(8);
  EXPECT_EQ(status.GetCode(), Code::kNoMoreData);
  EXPECT_EQ(*status.Detail("last_step"), "7");
  EXPECT_EQ(*status.Detail("step"), "8");
  EXPECT_EQ(Wait(3).GetCode(), Code::kStepUnavailable) << "it was passed over";
}

TEST_F(WaitingTest, AModeThatNeverCameHasNoMoreData) {
  PutStep(0, Mode::kTrain, 0);
  PutOldEndMarker();
  const Status status = Wait(0, Mode::kEval);
  EXPECT_EQ(status.GetCode(), Code::kNoMoreData);
  EXPECT_EQ(*status.Detail("last_step"), "-1");
  EXPECT_EQ(*status.Detail("mode"), "EVAL");
}

TEST_F(WaitingTest, LastsNoLongerThanItMay) {
  const auto before = clock_.Monotonic();
  const Status status = WaitAtMost(milliseconds(130), 0);
  EXPECT_EQ(status.GetCode(), Code::kTimeout);
  EXPECT_TRUE(status.IsRetryable());
  EXPECT_EQ(clock_.Monotonic() - before, milliseconds(130));
  EXPECT_THAT(waits_, ElementsAre(milliseconds(50), milliseconds(80)));
}

TEST_F(WaitingTest, WithoutTimeItLooksOnce) {
  PutStep(0);
  Expect(WaitAtMost(seconds(0), 0));
  EXPECT_EQ(WaitAtMost(seconds(0), 1).GetCode(), Code::kTimeout);
  EXPECT_THAT(waits_, IsEmpty());
}

TEST_F(WaitingTest, CanBeCancelledNowAndForEver) {
  WhileWaiting([this] { TheTrial().Cancel(); });
  EXPECT_EQ(Wait(0).GetCode(), Code::kCancelled);
  EXPECT_EQ(Wait(0).GetCode(), Code::kCancelled);
  EXPECT_EQ(waits_.size(), 1U);
}

TEST_F(WaitingTest, LooksForWhatIsNewAlsoWhereQueriesDoNot) {
  TheTrial().SetAutoRefresh(false);
  WhileWaiting([this] { PutStep(0); });
  Expect(Wait(0));
  EXPECT_FALSE(TheTrial().SetAutoRefresh(true)) << "and leaves that as it was";
}

// A host that must look after itself meanwhile waits in short slices.
TEST_F(WaitingTest, InSlicesCostsNoMoreLooksThanInOnePiece) {
  store_->SetMetered();
  int looks = 0;
  store_->SetFault([&looks](Call call, const std::string &) {
    looks += call == Call::kList ? 1 : 0;
    return Status::Ok();
  });
  PutStep(0);
  Expect(Wait(0));
  looks = 0;
  const auto before = clock_.Monotonic();
  while (clock_.Monotonic() - before < seconds(20)) {
    EXPECT_EQ(WaitAtMost(milliseconds(200), 1).GetCode(), Code::kTimeout);
  }
  EXPECT_LE(looks, 6 + 10) << "50 ms apart, then ever more, at most 2 s";
  PutStep(1);
  while (!WaitAtMost(milliseconds(200), 1).IsOk()) continue;
  EXPECT_LE(clock_.Monotonic() - before, seconds(23));
  looks = 0;
  EXPECT_EQ(WaitAtMost(milliseconds(200), 2).GetCode(), Code::kTimeout);
  EXPECT_EQ(looks, 3) << "after news it begins anew";
}

TEST_F(WaitingTest, AFaultIsToldAndTheNextWaitGoesOn) {
  store_->Put(format::IndexFileName(0, "worker_0"), "nonsense");
  EXPECT_EQ(Wait(1).GetCode(), Code::kCorruptData);
  WhileWaiting([this] { PutStep(1); });
  Expect(Wait(1));
}

TEST_F(WaitingTest, TheEndIsNoticedWhileWaiting) {
  PutStep(0);
  WhileWaiting({[this] { PutEndMarker(*store_, clock_.WallSeconds()); }, [this] { PutStep(1); }});
  Expect(Wait(1));
  EXPECT_TRUE(TheTrial().HasEnded());
  EXPECT_THAT(waits_, ElementsAre(milliseconds(50), seconds(1)));
}

TEST_F(WaitingTest, TheDelayAtTheEndIsNoLongerThanTheWait) {
  options_.end_delay = seconds(60);
  PutStep(0);
  PutEndMarker(*store_, clock_.WallSeconds());
  const auto before = clock_.Monotonic();
  // Slices of a wait, as languages make them, so that an interrupt comes through.
  for (int i = 1; i <= 4; ++i) {
    EXPECT_EQ(WaitAtMost(seconds(10), 1).GetCode(), Code::kTimeout);
    EXPECT_EQ(clock_.Monotonic() - before, seconds(10) * i);
  }
  PutStep(1);
  Expect(WaitAtMost(seconds(10), 1));
  EXPECT_FALSE(TheTrial().HasEnded());
  EXPECT_EQ(WaitAtMost(seconds(40), 2).GetCode(), Code::kNoMoreData);
  EXPECT_EQ(clock_.Monotonic() - before, seconds(60));
  EXPECT_TRUE(TheTrial().HasEnded());
}

TEST_F(WaitingTest, TheDelayAtTheEndCanBeCancelled) {
  PutEndMarker(*store_, clock_.WallSeconds());
  options_.end_delay = seconds(60);
  WhileWaiting([this] { TheTrial().Cancel(); });
  EXPECT_EQ(TheTrial().Refresh().GetCode(), Code::kCancelled);
}

}  // namespace
}  // namespace smdebug::analyze::trial_live_test
