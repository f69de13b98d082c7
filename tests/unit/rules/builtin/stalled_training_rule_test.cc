#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fake_clock.h"
#include "rules/evaluating.h"

namespace smdebug::rules::stalled_training_rule_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char *kRule = "StalledTrainingRule";

TEST(StalledTrainingRuleTest, AGapBetweenTwoStoredSteps) {
  FakeSource source;
  source.Step(0).At(1000).Step(10).At(2800).Step(20).At(4601);
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  ASSERT_THAT(evaluated.Steps(), ElementsAre(20));
  EXPECT_EQ(evaluated.findings[0].value, 1801);
  EXPECT_EQ(evaluated.findings[0].limit, 1800);
  EXPECT_EQ(evaluated.findings[0].message,
            "nothing came for 1.8e+03 s after step 10, longer than the limit of 1.8e+03 s");
}

TEST(StalledTrainingRuleTest, TheThresholdIsTheUsers) {
  FakeSource source;
  source.Step(0).At(0).Step(1).At(10);
  EXPECT_THAT(Evaluate(kRule, {{"threshold", "9.5"}}, source).Steps(), ElementsAre(1));
  EXPECT_THAT(Evaluate(kRule, {{"threshold", "10"}}, source).findings, IsEmpty());
  EXPECT_THAT(Refusal(kRule, {{"threshold", "0"}}), HasSubstr("threshold"));
  EXPECT_THAT(Refusal(kRule, {{"stop_training_on_fire", "x"}}), HasSubstr("stop_training"));
  EXPECT_EQ(Refusal(kRule, {{"training_job_name_prefix", "job"}}), "");
}

TEST(StalledTrainingRuleTest, AClockThatGoesBackIsNoGap) {
  FakeSource source;
  source.Step(0).At(5000).Step(1).At(10).Step(2).At(6000);
  EXPECT_THAT(Evaluate(kRule, {}, source).findings, IsEmpty());
}

TEST(StalledTrainingRuleTest, AFindingMayAskForTheEnd) {
  FakeSource source;
  source.Step(0).At(0).Step(1).At(5000);
  EXPECT_EQ(Evaluate(kRule, {{"stop_training_on_fire", "True"}}, source).findings[0].action,
            Action::kStop);
  EXPECT_EQ(Evaluate(kRule, {}, source).findings[0].action, Action::kWarn) << "the rule set's";
}

TEST(StalledTrainingRuleTest, OneStepOrNoTimesAreNotEnough) {
  FakeSource source;
  source.Step(0).At(0);
  EXPECT_EQ(Evaluate(kRule, {}, source).result.status, RuleStatus::kNotEnoughData);
  source.Step(1).Step(2);
  EXPECT_EQ(Evaluate(kRule, {}, source).result.status, RuleStatus::kNotEnoughData);
}

TEST(StalledTrainingRuleTest, RulesThatLookAtTensorsLeaveItTheTime) {
  FakeSource source;
  source.Step(0).At(0).Save("w", {1}).Step(1).At(5000).Save("w", {1});
  const auto set = std::make_shared<RuleSet>();
  for (const char *rule : {"ExplodingTensor", kRule}) {
    EXPECT_TRUE(set->Add(*BuiltinRule(rule, {}, Profile::kAws)).IsOk());
  }
  std::vector<std::string> found;
  Evaluation evaluation = *Evaluation::Begin(set, {});
  const Status status =
      evaluation.Run(source, {}, [&](const Finding &finding) { found.push_back(finding.rule); });
  EXPECT_TRUE(status.IsOk());
  EXPECT_THAT(found, ElementsAre(kRule));
}

// A rule that is called with the time while no step comes.
class Watched : public testing::Test {
 protected:
  void StepAt(int64_t step, double seconds) {
    Findings findings({step, Mode::kTrain, step, seconds});
    rule_->EndStep(findings);
    Note(findings);
  }
  void LookAt(double seconds) {
    Findings findings({0, Mode::kTrain, 0});
    rule_->NoteTime(seconds, findings);
    Note(findings);
  }
  void Note(Findings &findings) {
    for (const Finding &finding : findings.All()) found_.push_back(finding.message);
  }

  const std::unique_ptr<Rule> rule_ = (*BuiltinRule(kRule, {{"threshold", "60"}}, Profile::kAws))();
  std::vector<std::string> found_;
};

TEST_F(Watched, SilenceIsReportedOnce) {
  LookAt(0);
  StepAt(4, 100);
  LookAt(160);
  EXPECT_THAT(found_, IsEmpty());
  LookAt(161);
  LookAt(500);
  EXPECT_THAT(found_, ElementsAre(HasSubstr("after step 4")));
  StepAt(5, 600);
  EXPECT_THAT(found_, SizeIs(1)) << "not again when the silence ends";
  LookAt(700);
  EXPECT_THAT(found_, ElementsAre(HasSubstr("after step 4"), HasSubstr("after step 5")));
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

TEST_F(Watched, IsCalledWhileAnEvaluationWaits) {
  FakeClock clock;
  SilentSource source(clock);
  const auto set = std::make_shared<RuleSet>();
  EXPECT_TRUE(set->Add(*BuiltinRule(kRule, {{"threshold", "60"}}, Profile::kAws)).IsOk());
  Evaluation evaluation = *Evaluation::Begin(set, {});
  std::vector<double> silences;
  // The first call evaluates the step, the second only waits.
  EXPECT_TRUE(evaluation.Run(source, {}, [](const Finding &) {}).IsOk());
  const Status status = evaluation.Run(
      source, {.end = {}, .follows = true},
      [&](const Finding &finding) { silences.push_back(finding.value); }, clock);
  EXPECT_TRUE(status.IsOk()) << status.Message();
  ASSERT_EQ(silences.size(), 1U);
  EXPECT_NEAR(silences[0], 61, 1);
  EXPECT_EQ(set->Results()[0].finding_count, 1);
  EXPECT_EQ(set->Results()[0].first.place.step, 0);
}

}  // namespace
}  // namespace smdebug::rules::stalled_training_rule_test
