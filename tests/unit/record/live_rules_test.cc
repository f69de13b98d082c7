#include "record/live_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "record/hook_fixture.h"
#include "rules/registry.h"

namespace smdebug::record::live_rules_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class LiveRulesTest : public HookFixture {
 protected:
  const std::shared_ptr<int> job_ = std::make_shared<int>();
  static std::shared_ptr<rules::RuleSet> RulesOf(std::initializer_list<const char *> rules,
                                                 rules::Action action = rules::Action::kWarn) {
    auto set = std::make_shared<rules::RuleSet>();
    for (const char *rule : rules) {
      Expect(set->Add(*rules::BuiltinRule(rule, {}, rules::Profile::kAws), action));
    }
    return set;
  }
  static std::shared_ptr<rules::RuleSet> RulesOf(rules::Action action) {
    return RulesOf({"VanishingGradient"}, action);
  }
  Status Attach(const std::shared_ptr<rules::RuleSet> &set) {
    auto evaluation = rules::Evaluation::Begin(set, job_);
    return evaluation.IsOk() ? TheHook().Attach(*std::move(evaluation)) : evaluation.GetStatus();
  }
  void StepWith(float gradient) {
    Begin();
    Save("gradient/w", Floats({gradient}));
    End();
  }
};

TEST_F(LiveRulesTest, EvaluateEveryStepWhateverIsSaved) {
  SaveEvery(100);
  Expect(Attach(RulesOf(rules::Action::kStop)));
  StepWith(1);
  EXPECT_EQ(TheHook().LastAction(), rules::Action::kContinue);
  StepWith(1e-9F);
  EXPECT_EQ(TheHook().LastAction(), rules::Action::kStop);
  StepWith(1);
  EXPECT_EQ(TheHook().LastAction(), rules::Action::kContinue);
  const std::vector<rules::Finding> findings = TheHook().TakeFindings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].place.step, 1);
  EXPECT_EQ(findings[0].tensor, "gradient/w");
  EXPECT_EQ(findings[0].worker, "worker_0");
  EXPECT_THAT(TheHook().TakeFindings(), IsEmpty());
}

TEST_F(LiveRulesTest, HearOfTheEndOfTheJob) {
  Expect(Attach(RulesOf({"UnusualSettings"})));
  for (int step = 0; step < 100; ++step) {
    Begin();
    Save("learning_rate/SGD_0", Floats({static_cast<float>(step)}));
    End();
  }
  EXPECT_THAT(TheHook().TakeFindings(), IsEmpty());
  Expect(TheHook().Close());
  const std::vector<rules::Finding> findings = TheHook().TakeFindings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].check, "warmup");
  EXPECT_EQ(findings[0].place.step, 99);
  EXPECT_EQ(TheHook().LastAction(), rules::Action::kWarn);
}

TEST_F(LiveRulesTest, EvaluateTheStepsThatTheirConfigSelects) {
  SaveEvery(100);
  const auto set = RulesOf(rules::Action::kStop);
  config::SaveConfig saves;
  saves.SetAll({.interval = 3, .end = {}, .steps = {1}});
  Expect(set->SetSaveConfig(saves));
  Expect(Attach(set));
  std::vector<rules::Action> actions;
  for (int step = 0; step < 5; ++step) {
    Begin();
    const bool is_evaluated = step % 3 == 0 || step == 1;
    EXPECT_EQ(TheHook().SavesStep(), is_evaluated) << step;
    EXPECT_EQ(TheHook().Wants("gradient/w"), is_evaluated) << step;
    Save("gradient/w", Floats({0}));
    End();
    actions.push_back(TheHook().LastAction());
  }
  constexpr auto kContinue = rules::Action::kContinue;
  constexpr auto kStop = rules::Action::kStop;
  EXPECT_THAT(actions, ElementsAre(kStop, kStop, kContinue, kStop, kContinue));
  EXPECT_THAT(TheHook().TakeFindings(), SizeIs(3));
}

TEST_F(LiveRulesTest, TheHookWantsTheirTensors) {
  SaveEvery(100);
  Expect(Attach(RulesOf(rules::Action::kWarn)));
  StepWith(1);
  Begin();
  EXPECT_TRUE(TheHook().SavesStep());
  EXPECT_TRUE(TheHook().Wants("gradient/w"));
  EXPECT_FALSE(TheHook().Wants("loss"));
  End();
  EXPECT_FALSE(TheHook().SavesStep());
}

TEST_F(LiveRulesTest, AChangedCollectionCountsFromTheNextStepOn) {
  Expect(Attach(RulesOf(rules::Action::kWarn)));
  Begin();
  EXPECT_FALSE(TheHook().Wants("my tensor"));
  End();
  TheHook().Collections().GetOrCreate("gradients")->AddTensor("my tensor");
  Begin();
  EXPECT_TRUE(TheHook().Wants("my tensor"));
  End();
}

TEST_F(LiveRulesTest, BeginBetweenSteps) {
  Begin();
  EXPECT_EQ(Attach(RulesOf(rules::Action::kWarn)).GetCode(), Code::kWrongState);
  End();
}

TEST_F(LiveRulesTest, AnotherRuleSetKeepsWhatWasNotTaken) {
  Expect(Attach(RulesOf(rules::Action::kWarn)));
  StepWith(0);
  Expect(Attach(RulesOf(rules::Action::kStop)));
  StepWith(0);
  std::vector<rules::Action> asked;
  for (const rules::Finding &finding : TheHook().TakeFindings()) asked.push_back(finding.action);
  EXPECT_THAT(asked, ElementsAre(rules::Action::kWarn, rules::Action::kStop));
}

TEST_F(LiveRulesTest, SeeWhatWasSavedByHand) {
  Expect(Attach(RulesOf(rules::Action::kWarn)));
  Begin();
  Expect(TheHook().SaveCustom("gradient/mine", Floats({0}), {}));
  End();
  EXPECT_THAT(TheHook().TakeFindings(), SizeIs(1));
}

TEST_F(LiveRulesTest, SeeTextsAndTimes) {
  Expect(Attach(RulesOf({"TreeDepth", "StalledTrainingRule"})));
  const std::array<const char *, 1> texts = {"0-31"};
  const std::array<int64_t, 1> shape = {1};
  Begin();
  Save("trees/ID", {texts.data(), shape, {}, tensor::DType::kString});
  End();
  clock_.Pass(std::chrono::hours(1));
  Begin();
  End();
  std::vector<std::string> found;
  for (const rules::Finding &finding : TheHook().TakeFindings()) found.push_back(finding.rule);
  EXPECT_THAT(found, ElementsAre("TreeDepth", "StalledTrainingRule"));
}

TEST_F(LiveRulesTest, SeeStridedTexts) {
  Expect(Attach(RulesOf({"TreeDepth"})));
  const std::array<const char *, 3> texts = {"0-31", "0-0", "0-0"};
  const std::array<int64_t, 1> shape = {2};
  const std::array<int64_t, 1> strides = {2};
  Begin();
  Save("trees/ID", {texts.data(), shape, strides, tensor::DType::kString});
  End();
  EXPECT_THAT(TheHook().TakeFindings(), SizeIs(1));
}

TEST_F(LiveRulesTest, ASetBelongsToOneHook) {
  const auto set = RulesOf(rules::Action::kWarn);
  Expect(Attach(set));
  EXPECT_TRUE(TheHook().IsAttached(*set));
  EXPECT_EQ(Attach(set).GetCode(), Code::kWrongState);
  StepWith(0);
  Expect(Attach(RulesOf(rules::Action::kStop)));
  EXPECT_FALSE(TheHook().IsAttached(*set));
  const auto other_job = std::make_shared<int>();
  EXPECT_EQ(rules::Evaluation::Begin(set, other_job).GetStatus().GetCode(), Code::kWrongState);
  Expect(Attach(set));
}

TEST_F(LiveRulesTest, AWorkerThatRecordsNothingIsNotEvaluated) {
  options_.worker = "worker_1";
  options_.num_workers = 2;
  Expect(Attach(RulesOf(rules::Action::kStop)));
  StepWith(0);
  EXPECT_EQ(TheHook().LastAction(), rules::Action::kContinue);
}

}  // namespace
}  // namespace smdebug::record::live_rules_test
