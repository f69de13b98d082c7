// Panels of rules: over a stored trial, and in the training process.
#include <cmath>
#include <thread>

#include "support.h"

namespace smdebug {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kOneMillionth[] = R"({"threshold": "1e-6"})";

HookOptions Gradients(const std::string &path) {
  HookOptions options = EveryStep(path);
  options.Set("include_collections", "gradients");
  return options;
}

// A step whose gradient is 0.1 to the power of its number.
void SaveGradient(Hook &hook, int step) {
  const StepGuard guard = hook.Step(step % 2 == 0 ? Mode::kTrain : Mode::kEval);
  hook.Save("gradient/w", std::vector<double>{std::pow(0.1, step), -std::pow(0.1, step)});
}

void RecordGradients(const std::string &path, int count) {
  Hook hook(Gradients(path));
  for (int step = 0; step < count; ++step) SaveGradient(hook, step);
  hook.Close();
}

std::vector<int64_t> StepsOf(const std::vector<Verdict> &verdicts) {
  std::vector<int64_t> steps;
  for (const Verdict &verdict : verdicts) steps.push_back(verdict.step);
  return steps;
}

TEST(Panel, JudgesWhatIsStored) {
  const Folder folder;
  RecordGradients(folder / "run", 10);
  const Trial trial(folder / "run");
  Panel panel;
  panel.Add("VanishingGradient", kOneMillionth, Action::kStop).Add("VanishingGradient");
  const std::vector<Verdict> found = panel.Run(trial);
  EXPECT_THAT(StepsOf(found), ElementsAre(7, 8, 8, 9, 9));
  const Verdict &first = found.front();
  EXPECT_EQ(first.rule, "VanishingGradient");
  EXPECT_EQ(first.status, VerdictStatus::kFinding);
  EXPECT_EQ(first.action, Action::kStop);
  EXPECT_EQ(first.mode, Mode::kEval);
  EXPECT_EQ(first.mode_step, 3);
  EXPECT_EQ(first.worker, "worker_0");
  EXPECT_EQ(first.tensor, "gradient/w");
  EXPECT_DOUBLE_EQ(first.value, 1e-7);
  EXPECT_DOUBLE_EQ(first.limit, 1e-6);
  EXPECT_EQ(first.label, "small");
  EXPECT_THAT(first.message, HasSubstr("gradient/w"));
  EXPECT_EQ(found[2].action, Action::kWarn);
  EXPECT_THAT(panel.Run(trial), IsEmpty());  // nothing is judged twice

  const std::vector<Verdict> outcomes = panel.Outcomes();
  EXPECT_THAT(StepsOf(outcomes), ElementsAre(7, 8));
  EXPECT_THAT(outcomes[0].message, HasSubstr("3 findings"));
}

TEST(Panel, LooksAtTheStepsThatItsConfigSaves) {
  const Folder folder;
  RecordGradients(folder / "run", 10);
  const Trial trial(folder / "run");
  SaveConfig every_third;
  every_third.Set(Mode::kTrain, 3);
  Panel some;
  some.SetSaveConfig(every_third).Add("VanishingGradient", kOneMillionth);
  EXPECT_THAT(StepsOf(some.Run(trial)), ElementsAre(7, 9));  // of EVAL; TRAIN's are 0 and 6
  EXPECT_EQ(CodeOf([&] { some.SetSaveConfig(every_third); }), SMD_WRONG_STATE);

  Panel all;
  all.SetSaveConfig(every_third).Add("VanishingGradient", kOneMillionth);
  EXPECT_EQ(smd_panel_set_save_config(all.Get(), nullptr), nullptr);
  EXPECT_THAT(StepsOf(all.Run(trial)), ElementsAre(7, 8, 9));
}

TEST(Panel, SaysWhyNothingWasFound) {
  const Folder folder;
  RecordSteps(folder / "run", 2);
  Panel panel(Profile::kCalibrated);
  panel.Add("VanishingGradient");
  EXPECT_THAT(panel.RunToEnd(Trial(folder / "run")), IsEmpty());
  const Verdict outcome = panel.Outcomes().at(0);
  EXPECT_EQ(outcome.status, VerdictStatus::kNoTensor);
  EXPECT_EQ(outcome.action, Action::kContinue);
  EXPECT_EQ(outcome.step, -1);
  EXPECT_EQ(outcome.mode, Mode::kGlobal);
  EXPECT_EQ(outcome.mode_step, -1);
  EXPECT_EQ(outcome.worker + outcome.tensor + outcome.label, "");
  EXPECT_TRUE(std::isnan(outcome.value) && std::isnan(outcome.limit));
  EXPECT_NE(outcome.message, "");
}

TEST(Panel, JudgesARange) {
  const Folder folder;
  RecordGradients(folder / "run", 12);
  const Trial trial(folder / "run");
  Panel panel;
  panel.Add("VanishingGradient", kOneMillionth);
  EXPECT_THAT(StepsOf(panel.Run(trial, 8, 10)), ElementsAre(8, 9));
  EXPECT_THAT(StepsOf(panel.RunToEnd(trial)), ElementsAre(10, 11));
}

TEST(Panel, IsShownTheStepsThatComeBeforeTheOneItWaitsFor) {
  const Folder folder;
  Hook hook(Gradients(folder / "run"));
  SaveGradient(hook, 7);
  hook.Flush();
  const Trial trial = Trial::Open(folder / "run");
  Panel panel;
  panel.Add("VanishingGradient", R"({"threshold": "1e-6", "patience": "4"})");
  std::thread training([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    for (int i = 0; i < 4; ++i) SaveGradient(hook, 7);
    hook.Close();
  });
  EXPECT_THAT(StepsOf(panel.RunToEnd(trial, 3)), ElementsAre(3, 4));
  training.join();
  EXPECT_THAT(panel.Outcomes()[0].message, HasSubstr("2 findings"));
}

TEST(Panel, RefusesWhatMakesNoSense) {
  const Folder folder;
  RecordSteps(folder / "run", 1);
  const Trial trial(folder / "run");
  Panel panel;
  EXPECT_EQ(CodeOf([&] { panel.Add("VanishingGradients"); }), SMD_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf([&] { panel.Add("VanishingGradient", R"({"limit": "1"})"); }),
            SMD_INVALID_CONFIG);
  EXPECT_EQ(CodeOf([&] { panel.Add("VanishingGradient", nullptr, static_cast<Action>(7)); }),
            SMD_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf([&] { panel.Run(trial, -1); }), SMD_INVALID_ARGUMENT);
  panel.Run(trial);
  EXPECT_EQ(CodeOf([&] { panel.Add("VanishingGradient"); }), SMD_WRONG_STATE);
  EXPECT_THAT(Panel::RulesToJson(), HasSubstr(R"("name": "VanishingGradient")"));
}

TEST(Panel, CancellingTheTrialEndsAWait) {
  const Folder folder;
  Hook hook(Gradients(folder / "run"));
  SaveGradient(hook, 0);
  hook.Flush();
  const Trial trial = Trial::Open(folder / "run");
  Panel panel;
  panel.Add("VanishingGradient");
  std::thread canceller([&] { trial.Cancel(); });
  EXPECT_EQ(CodeOf([&] { panel.RunToEnd(trial); }), SMD_CANCELLED);
  canceller.join();
}

TEST(Watching, JudgesEachStepWhateverIsSavedOfIt) {
  const Folder folder;
  HookOptions options;
  options.Set("out_dir", folder / "run").SetSaveConfig(SaveConfig::Every(100));
  Hook hook(options);
  {
    Panel panel;
    panel.Add("VanishingGradient", kOneMillionth, Action::kStop);
    hook.Watch(panel);
  }
  EXPECT_EQ(hook.Advice(), Action::kContinue);
  for (int step = 0; step < 8; ++step) {
    EXPECT_EQ(hook.Advice(), Action::kContinue) << step;
    SaveGradient(hook, step);
  }
  EXPECT_EQ(hook.Advice(), Action::kStop);
  const std::vector<Verdict> found = hook.TakeVerdicts();
  EXPECT_THAT(StepsOf(found), ElementsAre(7));
  EXPECT_EQ(found[0].mode, Mode::kEval);
  EXPECT_EQ(found[0].mode_step, 3);
  EXPECT_THAT(hook.TakeVerdicts(), IsEmpty());
}

TEST(Watching, AgreesWithTheStoredTrial) {
  const Folder folder;
  Panel live;
  live.Add("VanishingGradient", kOneMillionth);
  Hook hook(Gradients(folder / "run"));
  hook.Watch(live);
  for (int step = 0; step < 10; ++step) SaveGradient(hook, step);
  const std::vector<Verdict> watched = hook.TakeVerdicts();
  hook.Close();
  Panel later;
  later.Add("VanishingGradient", kOneMillionth);
  const std::vector<Verdict> stored = later.Run(Trial(folder / "run"));
  ASSERT_EQ(watched.size(), stored.size());
  for (size_t i = 0; i < stored.size(); ++i) {
    EXPECT_EQ(watched[i].step, stored[i].step);
    EXPECT_EQ(watched[i].message, stored[i].message);
    EXPECT_EQ(watched[i].value, stored[i].value);
  }
  EXPECT_EQ(live.Outcomes()[0].message, later.Outcomes()[0].message);
}

TEST(Watching, WaitsForTheNextStep) {
  const Folder folder;
  Hook hook(Gradients(folder / "run"));
  const Panel panel;
  const StepGuard step = hook.Step();
  EXPECT_EQ(CodeOf([&] { hook.Watch(panel); }), SMD_WRONG_STATE);
}

}  // namespace
}  // namespace smdebug
