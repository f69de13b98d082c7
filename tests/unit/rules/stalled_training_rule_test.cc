#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fake_clock.h"
#include "rules/judging.h"
#include "rules/shared_panel.h"

namespace smdebug::rules::stalled_training_rule_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char *kRule = "StalledTrainingRule";

TEST(StalledTrainingRuleTest, AGapBetweenTwoStoredSteps) {
  FakeSource source;
  source.Step(0).At(1000).Step(10).At(2800).Step(20).At(4601);
  const Judged judged = Judge(kRule, {}, source);
  ASSERT_THAT(judged.Steps(), ElementsAre(20));
  EXPECT_EQ(judged.findings[0].value, 1801);
  EXPECT_EQ(judged.findings[0].limit, 1800);
  EXPECT_EQ(judged.findings[0].message,
            "nothing came for 1.8e+03 s after step 10, longer than the limit of 1.8e+03 s");
}

TEST(StalledTrainingRuleTest, TheThresholdIsTheUsers) {
  FakeSource source;
  source.Step(0).At(0).Step(1).At(10);
  EXPECT_THAT(Judge(kRule, {{"threshold", "9.5"}}, source).Steps(), ElementsAre(1));
  EXPECT_THAT(Judge(kRule, {{"threshold", "10"}}, source).findings, IsEmpty());
  EXPECT_THAT(Refusal(kRule, {{"threshold", "0"}}), HasSubstr("threshold"));
  EXPECT_THAT(Refusal(kRule, {{"stop_training_on_fire", "x"}}), HasSubstr("stop_training"));
  EXPECT_EQ(Refusal(kRule, {{"training_job_name_prefix", "job"}}), "");
}

TEST(StalledTrainingRuleTest, AClockThatGoesBackIsNoGap) {
  FakeSource source;
  source.Step(0).At(5000).Step(1).At(10).Step(2).At(6000);
  EXPECT_THAT(Judge(kRule, {}, source).findings, IsEmpty());
}

TEST(StalledTrainingRuleTest, AFindingMayAskForTheEnd) {
  FakeSource source;
  source.Step(0).At(0).Step(1).At(5000);
  EXPECT_EQ(Judge(kRule, {{"stop_training_on_fire", "True"}}, source).findings[0].action,
            Action::kStop);
  EXPECT_EQ(Judge(kRule, {}, source).findings[0].action, Action::kWarn) << "the panel's";
}

TEST(StalledTrainingRuleTest, OneStepOrNoTimesAreNotEnough) {
  FakeSource source;
  source.Step(0).At(0);
  EXPECT_EQ(Judge(kRule, {}, source).outcome.status, VerdictStatus::kNotEnoughData);
  source.Step(1).Step(2);
  EXPECT_EQ(Judge(kRule, {}, source).outcome.status, VerdictStatus::kNotEnoughData);
}

TEST(StalledTrainingRuleTest, RulesThatLookAtTensorsLeaveItTheTime) {
  FakeSource source;
  source.Step(0).At(0).Save("w", {1}).Step(1).At(5000).Save("w", {1});
  Panel panel;
  panel.Add(*MakeDetector("ExplodingTensor", {}, Profile::kAws));
  panel.Add(*MakeDetector(kRule, {}, Profile::kAws));
  PanelRun run(panel, source);
  std::vector<std::string> found;
  const Status status = run.Run({}, Reach::kKnown, [&](const Verdict &verdict) {
    found.push_back(verdict.rule);
    return true;
  });
  EXPECT_TRUE(status.IsOk());
  EXPECT_THAT(found, ElementsAre(kRule));
}

// What a watchdog in a running job is told.
class Watched : public testing::Test {
 protected:
  Watched() { panel_.Add(*MakeDetector(kRule, {{"threshold", "60"}}, Profile::kAws)); }
  void StepAt(int64_t step, double seconds) {
    for (const Verdict &each : panel_.EndStep({step, Mode::kTrain, step, seconds})) Note(each);
  }
  void LookAt(double seconds) {
    for (const Verdict &each : panel_.NoteTime(seconds)) Note(each);
  }
  void Note(const Verdict &verdict) { found_.push_back(verdict.place.step); }

  Panel panel_;
  std::vector<int64_t> found_;
};

TEST_F(Watched, SilenceIsToldOnce) {
  LookAt(0);
  StepAt(4, 100);
  LookAt(160);
  EXPECT_THAT(found_, IsEmpty());
  LookAt(161);
  LookAt(500);
  EXPECT_THAT(found_, ElementsAre(4)) << "the last step that came";
  StepAt(5, 600);
  EXPECT_THAT(found_, ElementsAre(4)) << "and not again when it ends";
  LookAt(700);
  EXPECT_THAT(found_, ElementsAre(4, 5));
}

// A job that goes silent: waiting for it passes the time.
class SilentSource final : public Source, private Membership {
 public:
  explicit SilentSource(FakeClock &clock) : clock_(clock), began_(clock.WallSeconds()) {}
  Status WaitForStep(int64_t) override { return {Code::kNoMoreData, "ended"}; }
  Status WaitForStepUntil(int64_t step, const Deadline &deadline) override {
    if (step == 0) return Status::Ok();
    if (++waits_ > 100) return {Code::kNoMoreData, "ended"};
    clock_.Pass(deadline.Left(clock_));
    return {Code::kTimeout, "not yet"};
  }
  Result<std::optional<int64_t>> NextStep(int64_t step) override {
    return step == 0 ? std::optional<int64_t>(0) : std::nullopt;
  }
  Result<StepPlace> PlaceOf(int64_t step) override { return StepPlace{step, Mode::kTrain, step}; }
  double WallSecondsOf(int64_t) override { return began_; }
  Status VisitStep(int64_t, const Wants &, const Visit &) override { return Status::Ok(); }
  const Membership &Collections() const override { return *this; }
  void Hold() override {}
  void Release() override {}

 private:
  bool IsIn(std::string_view, std::string_view) const override { return false; }

  FakeClock &clock_;
  const double began_;
  int waits_ = 0;
};

TEST_F(Watched, WhoeverWaitsForStepsIsToldToo) {
  FakeClock clock;
  SilentSource source(clock);
  SharedPanel shared;
  {
    const MutexLock lock(shared.mutex);
    shared.panel = std::move(panel_);
  }
  std::vector<double> silences;
  const Status status = JudgeSteps(
      shared, source, {}, true, [&](const Verdict &verdict) { silences.push_back(verdict.value); },
      clock);
  EXPECT_TRUE(status.IsOk()) << status.Message();
  ASSERT_EQ(silences.size(), 1U);
  EXPECT_NEAR(silences[0], 61, 1);
}

}  // namespace
}  // namespace smdebug::rules::stalled_training_rule_test
