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
  std::shared_ptr<rules::SharedPanel> PanelOf(rules::Action action) {
    auto shared = std::make_shared<rules::SharedPanel>();
    auto detector = rules::MakeDetector("VanishingGradient", {}, rules::Profile::kAws);
    const MutexLock lock(shared->mutex);
    shared->panel.Add(*std::move(detector), action);
    return shared;
  }
  void StepWith(float gradient) {
    Begin();
    Save("gradient/w", Floats({gradient}));
    End();
  }
};

TEST_F(LiveRulesTest, JudgeEveryStepWhateverIsSaved) {
  SaveEvery(100);
  Expect(TheHook().Watch(PanelOf(rules::Action::kStop)));
  StepWith(1);
  EXPECT_EQ(TheHook().Advice(), rules::Action::kContinue);
  StepWith(1e-9F);
  EXPECT_EQ(TheHook().Advice(), rules::Action::kStop);
  StepWith(1);
  EXPECT_EQ(TheHook().Advice(), rules::Action::kContinue);
  const std::vector<rules::Verdict> verdicts = TheHook().TakeVerdicts();
  ASSERT_THAT(verdicts, SizeIs(1));
  EXPECT_EQ(verdicts[0].place.step, 1);
  EXPECT_EQ(verdicts[0].tensor, "gradient/w");
  EXPECT_EQ(verdicts[0].worker, "worker_0");
  EXPECT_THAT(TheHook().TakeVerdicts(), IsEmpty());
}

TEST_F(LiveRulesTest, JudgeTheStepsThatTheirConfigSaves) {
  SaveEvery(100);
  const auto shared = PanelOf(rules::Action::kStop);
  {
    const MutexLock lock(shared->mutex);
    config::SaveConfig saves;
    saves.SetAll({.interval = 3, .end = {}, .steps = {1}});
    shared->panel.SetSaveConfig(saves);
  }
  Expect(TheHook().Watch(shared));
  std::vector<rules::Action> advice;
  for (int step = 0; step < 5; ++step) {
    Begin();
    const bool is_looked_at = step % 3 == 0 || step == 1;
    EXPECT_EQ(TheHook().SavesStep(), is_looked_at) << step;
    EXPECT_EQ(TheHook().Wants("gradient/w"), is_looked_at) << step;
    Save("gradient/w", Floats({0}));
    End();
    advice.push_back(TheHook().Advice());
  }
  constexpr auto kContinue = rules::Action::kContinue;
  constexpr auto kStop = rules::Action::kStop;
  EXPECT_THAT(advice, ElementsAre(kStop, kStop, kContinue, kStop, kContinue));
  EXPECT_THAT(TheHook().TakeVerdicts(), SizeIs(3));
}

TEST_F(LiveRulesTest, TheHookWantsWhatTheyLookAt) {
  SaveEvery(100);
  Expect(TheHook().Watch(PanelOf(rules::Action::kWarn)));
  StepWith(1);
  Begin();
  EXPECT_TRUE(TheHook().SavesStep());
  EXPECT_TRUE(TheHook().Wants("gradient/w"));
  EXPECT_FALSE(TheHook().Wants("loss"));
  End();
  EXPECT_FALSE(TheHook().SavesStep());
}

TEST_F(LiveRulesTest, AChangedCollectionCountsFromTheNextStepOn) {
  Expect(TheHook().Watch(PanelOf(rules::Action::kWarn)));
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
  EXPECT_EQ(TheHook().Watch(PanelOf(rules::Action::kWarn)).GetCode(), Code::kWrongState);
  End();
}

TEST_F(LiveRulesTest, AnotherPanelKeepsWhatWasNotTaken) {
  Expect(TheHook().Watch(PanelOf(rules::Action::kWarn)));
  StepWith(0);
  Expect(TheHook().Watch(PanelOf(rules::Action::kStop)));
  StepWith(0);
  std::vector<rules::Action> asked;
  for (const rules::Verdict &verdict : TheHook().TakeVerdicts()) asked.push_back(verdict.action);
  EXPECT_THAT(asked, ElementsAre(rules::Action::kWarn, rules::Action::kStop));
}

TEST_F(LiveRulesTest, SeeWhatWasSavedByHand) {
  Expect(TheHook().Watch(PanelOf(rules::Action::kWarn)));
  Begin();
  Expect(TheHook().SaveCustom("gradient/mine", Floats({0}), {}));
  End();
  EXPECT_THAT(TheHook().TakeVerdicts(), SizeIs(1));
}

TEST_F(LiveRulesTest, SeeTextsAndTimes) {
  auto shared = std::make_shared<rules::SharedPanel>();
  {
    const MutexLock lock(shared->mutex);
    for (const char *rule : {"TreeDepth", "StalledTrainingRule"}) {
      shared->panel.Add(*rules::MakeDetector(rule, {}, rules::Profile::kAws));
    }
  }
  Expect(TheHook().Watch(shared));
  const std::array<const char *, 1> texts = {"0-31"};
  const std::array<int64_t, 1> shape = {1};
  Begin();
  Save("trees/ID", {texts.data(), shape, {}, tensor::DType::kString});
  End();
  clock_.Pass(std::chrono::hours(1));
  Begin();
  End();
  std::vector<std::string> found;
  for (const rules::Verdict &verdict : TheHook().TakeVerdicts()) found.push_back(verdict.rule);
  EXPECT_THAT(found, ElementsAre("TreeDepth", "StalledTrainingRule"));
}

TEST_F(LiveRulesTest, AWorkerThatRecordsNothingIsNotJudged) {
  options_.worker = "worker_1";
  options_.num_workers = 2;
  Expect(TheHook().Watch(PanelOf(rules::Action::kStop)));
  StepWith(0);
  EXPECT_EQ(TheHook().Advice(), rules::Action::kContinue);
}

}  // namespace
}  // namespace smdebug::record::live_rules_test
