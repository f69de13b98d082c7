// Rule sets: over a stored trial, and in the training process.
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

std::vector<int64_t> StepsOf(const std::vector<Finding> &findings) {
  std::vector<int64_t> steps;
  for (const Finding &finding : findings) steps.push_back(finding.step);
  return steps;
}

TEST(RuleSetTest, EvaluatesAStoredTrial) {
  const Folder folder;
  RecordGradients(folder / "run", 10);
  const Trial trial(folder / "run");
  RuleSet set(Profile::kAws);
  set.Add("VanishingGradient", kOneMillionth, Action::kStop).Add("VanishingGradient");
  const std::vector<Finding> found = set.Evaluate(trial);
  EXPECT_THAT(StepsOf(found), ElementsAre(7, 8, 8, 9, 9));
  const Finding &first = found.front();
  EXPECT_EQ(first.rule, "VanishingGradient");
  EXPECT_EQ(first.action, Action::kStop);
  EXPECT_EQ(first.mode, Mode::kEval);
  EXPECT_EQ(first.mode_step, 3);
  EXPECT_EQ(first.worker, "worker_0");
  EXPECT_EQ(first.tensor, "gradient/w");
  EXPECT_DOUBLE_EQ(first.value, 1e-7);
  EXPECT_DOUBLE_EQ(first.limit, 1e-6);
  EXPECT_EQ(first.check, "small");
  EXPECT_THAT(first.message, HasSubstr("gradient/w"));
  EXPECT_EQ(found[2].action, Action::kWarn);
  EXPECT_THAT(set.Evaluate(trial), IsEmpty());  // nothing is evaluated twice

  const std::vector<RuleResult> results = set.Results();
  EXPECT_EQ(results.at(0).status, RuleStatus::kHasFindings);
  EXPECT_EQ(results[0].finding_count, 3);
  EXPECT_EQ(results[0].first->step, 7);
  EXPECT_EQ(results.at(1).first->step, 8);
  EXPECT_THAT(results[0].message, HasSubstr("3 findings"));
}

TEST(RuleSetTest, EvaluatesTheStepsThatItsConfigSelects) {
  const Folder folder;
  RecordGradients(folder / "run", 10);
  const Trial trial(folder / "run");
  SaveConfig every_third;
  every_third.Set(Mode::kTrain, 3);
  RuleSet some(Profile::kAws);
  some.SetSaveConfig(every_third).Add("VanishingGradient", kOneMillionth);
  EXPECT_THAT(StepsOf(some.Evaluate(trial)), ElementsAre(7, 9));  // of EVAL; TRAIN's are 0 and 6
  EXPECT_EQ(CodeOf([&] { some.SetSaveConfig(every_third); }), SMD_WRONG_STATE);

  RuleSet all(Profile::kAws);
  all.SetSaveConfig(every_third).Add("VanishingGradient", kOneMillionth);
  EXPECT_EQ(smd_rule_set_set_save_config(all.Get(), nullptr), nullptr);
  EXPECT_THAT(StepsOf(all.Evaluate(trial)), ElementsAre(7, 8, 9));
}

TEST(RuleSetTest, StopsAtAFindingAndKeepsIt) {
  const Folder folder;
  RecordGradients(folder / "run", 10);
  RuleSet set(Profile::kAws);
  set.Add("VanishingGradient", kOneMillionth);
  EvaluateOptions options;
  options.first = 2;
  options.stop_at_finding = true;
  std::vector<Finding> found;
  EXPECT_EQ(CodeOf<RuleConditionMet>([&] { set.Evaluate(Trial(folder / "run"), options, &found); }),
            SMD_RULE_CONDITION_MET);
  EXPECT_THAT(StepsOf(found), ElementsAre(7));
}

TEST(RuleSetTest, EvaluatesIncompleteStepsIfAsked) {
  const Folder folder;
  const auto open = [&](const char *worker) {
    HookOptions options = Gradients(folder / "run");
    options.Set("worker", worker).Set("num_workers", "2").Set("include_workers", "all");
    return Hook(options);
  };
  Hook ahead = open("worker_0");
  Hook behind = open("worker_1");
  for (int step = 0; step < 3; ++step) SaveGradient(ahead, step);
  SaveGradient(behind, 0);
  ahead.Flush();
  behind.Flush();
  const Trial trial = Trial::Open(folder / "run");
  RuleSet set(Profile::kAws);
  set.AddFunction("Own", [](RuleStep &step) { step.Report("found"); });
  std::vector<Finding> found;
  EvaluateOptions options;
  set.Evaluate(trial, options, &found);
  EXPECT_THAT(StepsOf(found), ElementsAre(0));
  options.incomplete = true;
  set.Evaluate(trial, options, &found);
  EXPECT_THAT(StepsOf(found), ElementsAre(0, 1, 2));
}

TEST(RuleSetTest, ReportsWhyNothingWasFound) {
  const Folder folder;
  RecordSteps(folder / "run", 2);
  RuleSet set(Profile::kCalibrated);
  set.Add("DeadRelu");
  EXPECT_THAT(set.Follow(Trial(folder / "run")), IsEmpty());
  const RuleResult result = set.Results().at(0);
  EXPECT_EQ(result.status, RuleStatus::kNoTensors);
  EXPECT_EQ(result.finding_count, 0);
  EXPECT_FALSE(result.first);
  EXPECT_NE(result.message, "");
}

TEST(RuleSetTest, EvaluatesARange) {
  const Folder folder;
  RecordGradients(folder / "run", 12);
  const Trial trial(folder / "run");
  RuleSet set(Profile::kAws);
  set.Add("VanishingGradient", kOneMillionth);
  EXPECT_THAT(StepsOf(set.Evaluate(trial, 8, 10)), ElementsAre(8, 9));
  EXPECT_THAT(StepsOf(set.Follow(trial)), ElementsAre(10, 11));
}

TEST(RuleSetTest, ObservesTheStepsBeforeTheOneItWaitsFor) {
  const Folder folder;
  Hook hook(Gradients(folder / "run"));
  SaveGradient(hook, 7);
  hook.Flush();
  const Trial trial = Trial::Open(folder / "run");
  RuleSet set(Profile::kAws);
  set.Add("VanishingGradient", R"({"threshold": "1e-6", "patience": "4"})");
  std::thread training([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    for (int i = 0; i < 4; ++i) SaveGradient(hook, 7);
    hook.Close();
  });
  EXPECT_THAT(StepsOf(set.Follow(trial, 3)), ElementsAre(3, 4));
  training.join();
  EXPECT_THAT(set.Results()[0].message, HasSubstr("2 findings"));
}

TEST(RuleSetTest, RefusesBadArguments) {
  const Folder folder;
  RecordSteps(folder / "run", 1);
  const Trial trial(folder / "run");
  RuleSet set(Profile::kAws);
  EXPECT_EQ(CodeOf([&] { set.Add("VanishingGradients"); }), SMD_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf([&] { set.Add("VanishingGradient", R"({"limit": "1"})"); }), SMD_INVALID_CONFIG);
  EXPECT_EQ(CodeOf([&] { set.Add("VanishingGradient", nullptr, static_cast<Action>(7)); }),
            SMD_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf([&] { set.Evaluate(trial, -1); }), SMD_INVALID_ARGUMENT);
  set.Evaluate(trial);
  EXPECT_EQ(CodeOf([&] { set.Add("VanishingGradient"); }), SMD_WRONG_STATE);
  EXPECT_EQ(CodeOf([&] { set.AddAll(); }), SMD_WRONG_STATE);
  const std::vector<RuleInfo> rules = BuiltinRules();
  EXPECT_EQ(rules.at(0).name, "VanishingGradient");
  EXPECT_EQ(rules[0].parameters.at(0).name, "threshold");
}

TEST(RuleSetTest, AddsAllRulesThatItDoesNotHold) {
  const Folder folder;
  RecordGradients(folder / "run", 8);
  RuleSet set(Profile::kAws);
  set.Add("VanishingGradient", kOneMillionth, Action::kContinue).AddAll(Action::kStop);
  EXPECT_EQ(CodeOf([&] { set.AddAll(static_cast<Action>(7)); }), SMD_INVALID_ARGUMENT);
  const std::vector<RuleResult> results = set.Results();
  EXPECT_EQ(results.size(), 26U);
  EXPECT_EQ(results.at(0).rule, "VanishingGradient");
  const Trial trial(folder / "run");
  EXPECT_EQ(set.Evaluate(trial).back().action, Action::kStop);
  const RuleResult first = set.Results()[0];
  ASSERT_TRUE(first.first);
  EXPECT_EQ(first.first->step, 7);
  EXPECT_DOUBLE_EQ(first.first->limit, 1e-6);
}

TEST(RuleSetTest, BelongsToOneTrial) {
  const Folder folder;
  RecordSteps(folder / "healthy", 2);
  RecordGradients(folder / "ill", 10);
  const Trial healthy(folder / "healthy");
  const Trial ill(folder / "ill");
  RuleSet set(Profile::kAws);
  set.Add("VanishingGradient", kOneMillionth);
  set.Evaluate(healthy);
  EXPECT_EQ(CodeOf([&] { set.Evaluate(ill); }), SMD_WRONG_STATE);
  set.Reset();
  EXPECT_THAT(StepsOf(set.Evaluate(ill)), ElementsAre(7, 8, 9));
}

TEST(RuleSetTest, CancellingTheTrialEndsAWait) {
  const Folder folder;
  Hook hook(Gradients(folder / "run"));
  SaveGradient(hook, 0);
  hook.Flush();
  const Trial trial = Trial::Open(folder / "run");
  RuleSet set(Profile::kAws);
  set.Add("VanishingGradient");
  std::thread canceller([&] { trial.Cancel(); });
  EXPECT_EQ(CodeOf([&] { set.Follow(trial); }), SMD_CANCELLED);
  canceller.join();
}

TEST(Attached, EvaluatesEachStepWhateverIsSaved) {
  const Folder folder;
  HookOptions options;
  options.Set("out_dir", folder / "run").SetSaveConfig(SaveConfig::Every(100));
  Hook hook(options);
  {
    RuleSet set(Profile::kAws);
    set.Add("VanishingGradient", kOneMillionth, Action::kStop);
    hook.Attach(set);
  }
  EXPECT_EQ(hook.LastAction(), Action::kContinue);
  for (int step = 0; step < 8; ++step) {
    EXPECT_EQ(hook.LastAction(), Action::kContinue) << step;
    SaveGradient(hook, step);
  }
  EXPECT_EQ(hook.LastAction(), Action::kStop);
  const std::vector<Finding> found = hook.TakeFindings();
  EXPECT_THAT(StepsOf(found), ElementsAre(7));
  EXPECT_EQ(found[0].mode, Mode::kEval);
  EXPECT_EQ(found[0].mode_step, 3);
  EXPECT_THAT(hook.TakeFindings(), IsEmpty());
}

TEST(Attached, AgreesWithTheStoredTrial) {
  const Folder folder;
  RuleSet live(Profile::kAws);
  live.Add("VanishingGradient", kOneMillionth);
  Hook hook(Gradients(folder / "run"));
  hook.Attach(live);
  for (int step = 0; step < 10; ++step) SaveGradient(hook, step);
  const std::vector<Finding> attached = hook.TakeFindings();
  hook.Close();
  RuleSet later(Profile::kAws);
  later.Add("VanishingGradient", kOneMillionth);
  const std::vector<Finding> stored = later.Evaluate(Trial(folder / "run"));
  ASSERT_EQ(attached.size(), stored.size());
  for (size_t i = 0; i < stored.size(); ++i) {
    EXPECT_EQ(attached[i].step, stored[i].step);
    EXPECT_EQ(attached[i].message, stored[i].message);
    EXPECT_EQ(attached[i].value, stored[i].value);
  }
  EXPECT_EQ(live.Results()[0].message, later.Results()[0].message);
}

TEST(Attached, CannotBeChanged) {
  const Folder folder;
  Hook hook(Gradients(folder / "run"));
  RuleSet set(Profile::kAws);
  set.Add("VanishingGradient");
  hook.Attach(set);
  try {
    set.Add("DeadRelu");
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.Code(), SMD_WRONG_STATE);
    EXPECT_THAT(error.what(), HasSubstr("is attached or has begun to evaluate; add rules before"));
  }
  EXPECT_EQ(CodeOf([&] { set.SetSaveConfig(SaveConfig()); }), SMD_WRONG_STATE);
}

TEST(Attached, WaitsForTheNextStep) {
  const Folder folder;
  Hook hook(Gradients(folder / "run"));
  const RuleSet set(Profile::kAws);
  const StepGuard step = hook.Step();
  EXPECT_EQ(CodeOf([&] { hook.Attach(set); }), SMD_WRONG_STATE);
}

}  // namespace
}  // namespace smdebug
