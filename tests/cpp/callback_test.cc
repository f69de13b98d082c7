// Functions of the caller: rules and log lines, and what they throw.
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>

#include "support.h"

namespace smdebug {
namespace {

using ::testing::ElementsAre;

class RuleTest : public ::testing::Test {
 protected:
  RuleTest() { RecordSteps(folder_ / "run", 4); }
  // Evaluates a set with this function alone; returns the steps with findings.
  std::vector<int64_t> Run(RuleFunction function, int64_t first = 0, int64_t end = -1) {
    RuleSet set(Profile::kAws);
    set.AddFunction("Own", std::move(function));
    std::vector<int64_t> steps;
    for (const Finding &finding : set.Evaluate(trial_, first, end)) steps.push_back(finding.step);
    return steps;
  }

  Folder folder_;
  Trial trial_{folder_ / "run"};
};

TEST_F(RuleTest, ReportsFindings) {
  double last = 0;
  const auto falls = [&](RuleStep &step) {
    const double loss = step.Trial().Tensor("loss").Value(step.Step()).ToDouble();
    if (std::exchange(last, loss) > loss) step.Report("the loss falls");
  };
  EXPECT_THAT(Run(falls), ElementsAre(1, 2, 3));
  EXPECT_THAT(Run(falls, 2, 3), ElementsAre());  // 0.33 is not below 0.25
}

TEST_F(RuleTest, MixesWithBuiltInRules) {
  RuleSet set(Profile::kAws);
  set.Add("VanishingGradient", R"({"threshold": "1e-3"})");
  set.AddFunction(
      "Own",
      [](RuleStep &step) {
        Finding finding;
        finding.tensor = "loss";
        finding.check = "always";
        finding.message = "found";
        finding.value = 3;
        finding.action = Action::kStop;
        step.Report(finding);
      },
      Action::kWarn);
  const std::vector<Finding> found = set.Evaluate(trial_, 0, 1);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rule, "Own");
  EXPECT_EQ(found[0].tensor + found[0].check + found[0].message, "lossalwaysfound");
  EXPECT_EQ(found[0].value, 3);
  EXPECT_EQ(found[0].step, 0);
  EXPECT_EQ(found[0].action, Action::kStop);
  EXPECT_EQ(set.Results().at(0).status, RuleStatus::kNoTensors);
  EXPECT_EQ(set.Results().at(1).status, RuleStatus::kHasFindings);
}

TEST_F(RuleTest, MayFindSomethingWorthALook) {
  RuleSet set;
  set.AddFunction(
      "Own",
      [](RuleStep &step) {
        Finding finding;
        finding.level = smdebug::Level::kWorthALook;
        step.Report(finding);
      },
      Action::kStop);
  const std::vector<Finding> found = set.Evaluate(trial_, 0, 1);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].level, smdebug::Level::kWorthALook);
  EXPECT_STREQ(Name(found[0].level), "worth_a_look");
  EXPECT_EQ(found[0].action, Action::kContinue);
  const smdebug::RuleResult result = set.Results().at(0);
  EXPECT_EQ(result.status, RuleStatus::kWorthALook);
  EXPECT_EQ(result.finding_count, 0);
  EXPECT_EQ(result.look_count, 1);
  EXPECT_EQ(result.first->step, 0);
}

TEST_F(RuleTest, MayFinish) {
  const auto once = [](RuleStep &step) {
    step.Report("found");
    step.Finish();
  };
  EXPECT_THAT(Run(once), ElementsAre(0));
  RuleSet set(Profile::kAws);
  set.AddFunction("Ends", once);
  try {
    set.Require(trial_, 2);
    FAIL();
  } catch (const RuleConditionMet &met) {
    EXPECT_EQ(met.Detail("rule"), "Ends");
    EXPECT_EQ(met.Detail("step"), "2");
  }
}

struct Unheard : std::exception {
  const char *what() const noexcept override { return "unheard of"; }
};

TEST_F(RuleTest, WhatItThrowsComesOut) {
  EXPECT_THROW(Run([](RuleStep &) { throw Unheard(); }), Unheard);
  EXPECT_THROW(Run([](RuleStep &) { throw 7; }), int);
  EXPECT_EQ(CodeOf([&] { Run([](RuleStep &) { throw Error(SMD_IO, "as told"); }); }), SMD_IO);
}

TEST_F(RuleTest, StepsWhoseDataIsMissingAreSkipped) {
  int calls = 0;
  const auto skips = [&](RuleStep &step) {
    ++calls;
    if (step.Step() == 1) step.Trial().Tensor("missing");
    if (step.Step() == 3) throw Unheard();
    step.Report("found");
  };
  EXPECT_THAT(Run(skips, 0, 3), ElementsAre(0, 2));
  EXPECT_EQ(calls, 3);
  EXPECT_THROW(Run(skips), Unheard);
}

TEST_F(RuleTest, AFailureKeepsWhatWasFoundBefore) {
  RuleSet set(Profile::kAws);
  set.AddFunction("Own", [](RuleStep &step) {
    step.Report("found");
    if (step.Step() == 1) throw Unheard();
  });
  std::vector<Finding> found(1);
  EXPECT_THROW(set.Evaluate(trial_, EvaluateOptions(), &found), Unheard);
  ASSERT_EQ(found.size(), 3U);  // appended
  EXPECT_EQ(found[1].step, 0);
  EXPECT_EQ(found[2].step, 1);
}

TEST_F(RuleTest, ARefusedEvaluationChangesNothing) {
  const Folder folder;
  RecordSteps(folder / "other", 1);
  const Trial other(folder / "other");
  for (int i = 0; i < 50; ++i) {
    RuleSet set(Profile::kAws);
    std::atomic<bool> has_begun{false};
    std::atomic<bool> has_ended{false};
    std::atomic<int> refusals{0};
    set.AddFunction("Own", [&](RuleStep &step) {
      EXPECT_EQ(CodeOf([&] { set.Evaluate(other); }), SMD_WRONG_STATE);
      EXPECT_EQ(step.Trial().Path(), trial_.Path());
      has_begun = true;
      while (refusals == 0) std::this_thread::yield();
      if (step.Step() == 2) throw Unheard();
    });
    std::thread refused([&] {
      while (!has_begun) std::this_thread::yield();
      while (!has_ended) {
        EXPECT_EQ(CodeOf([&] { set.Evaluate(other); }), SMD_WRONG_STATE);
        ++refusals;
      }
    });
    EXPECT_THROW(set.Evaluate(trial_), Unheard);
    has_ended = true;
    refused.join();
  }
}

TEST_F(RuleTest, StoppingAtAFindingKeepsWhatIsThrownAfterIt) {
  RuleSet set(Profile::kAws);
  set.AddFunction("Own", [](RuleStep &step) {
    if (step.Step() < 2) return;
    step.Report("found");
    throw Unheard();
  });
  try {
    set.Require(trial_);
    FAIL();
  } catch (const RuleConditionMet &met) {
    EXPECT_EQ(met.Detail("step"), "2");
    EXPECT_THROW(std::rethrow_if_nested(met), Unheard);
  }
}

TEST_F(RuleTest, AConditionThatAFunctionThrowsIsNotTheSetsOwn) {
  RuleSet set(Profile::kAws);
  set.AddFunction("Outer", [this](RuleStep &) {
    RuleSet inner(Profile::kAws);
    inner.AddFunction("Inner", [](RuleStep &step) { step.Report("found"); }).Require(trial_);
  });
  try {
    set.Require(trial_);
    FAIL();
  } catch (const RuleConditionMet &met) {
    EXPECT_EQ(met.Detail("rule"), "Inner");
    EXPECT_EQ(dynamic_cast<const std::nested_exception *>(&met), nullptr);
  }
}

TEST_F(RuleTest, CMayEvaluateTheSet) {
  RuleSet set(Profile::kAws);
  set.AddFunction("Own", [this](RuleStep &step) {
    EXPECT_EQ(step.Trial().Path(), trial_.Path());
    if (step.Step() == 1) throw Unheard();
  });
  smd_findings *found = nullptr;
  const auto evaluate = [&] {
    detail::Check(smd_rule_set_evaluate(set.Get(), trial_.Get(), 0, -1, 0, &found));
  };
  EXPECT_EQ(CodeOf(evaluate), SMD_CALLBACK_FAILED);
  smd_findings_free(found);
  EXPECT_THAT(set.Evaluate(trial_), ::testing::IsEmpty());
}

TEST_F(RuleTest, OnlyMissingDataSkipsAStep) {
  for (const smd_code code : {SMD_STEP_UNAVAILABLE, SMD_TENSOR_UNAVAILABLE, SMD_VALUE_UNAVAILABLE,
                              SMD_SHAPE_UNAVAILABLE}) {
    EXPECT_THAT(Run([code](RuleStep &) { throw Error(code, "as told"); }), ElementsAre());
  }
  for (const smd_code code : {SMD_STEP_NOT_YET, SMD_NO_MORE_DATA, SMD_WORKER_UNKNOWN, SMD_TIMEOUT,
                              SMD_CANCELLED, SMD_CORRUPT_DATA}) {
    EXPECT_EQ(CodeOf([&] { Run([code](RuleStep &) { throw Error(code, "as told"); }); }), code);
  }
}

TEST_F(RuleTest, AnOldThrowIsNotMistakenForTheEndOfAnEvaluation) {
  const Folder folder;
  Hook hook(EveryStep(folder / "run"));
  {
    const StepGuard step = hook.Step();
    hook.Save("loss", 1.0);
  }
  hook.Flush();
  const Trial live = Trial::Open(folder / "run");
  RuleSet set(Profile::kAws);
  set.AddFunction("Cancels", [](RuleStep &step) {
    step.Trial().Cancel();
    throw TensorUnavailable(SMD_TENSOR_UNAVAILABLE, "skipped");
  });
  EXPECT_EQ(CodeOf([&] { set.Follow(live); }), SMD_CANCELLED);
}

TEST_F(RuleTest, IsMovedWithItsState) {
  const auto counted = std::make_shared<int>(0);
  {
    RuleSet set(Profile::kAws);
    set.AddFunction("Counts", [counted](RuleStep &) { ++*counted; });
    RuleSet moved = std::move(set);
    moved.Evaluate(trial_);
    EXPECT_EQ(*counted, 4);
    moved = RuleSet();
    EXPECT_EQ(counted.use_count(), 1);
    EXPECT_TRUE(moved.Evaluate(trial_).empty());
  }
  RuleSet set(Profile::kAws);
  EXPECT_EQ(CodeOf([&] { set.AddFunction("None", nullptr); }), SMD_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf([&] { set.AddFunction("", [counted](RuleStep &) {}); }), SMD_INVALID_ARGUMENT);
  EXPECT_EQ(counted.use_count(), 1);
}

// ---- log lines ----

// Two hooks in one folder: the second says that it has no claim.
void MakeALogLine(const std::string &path, HookOptions logging) {
  Hook first(EveryStep(path));
  logging.Set("out_dir", path).Set("save_all", "true");
  Hook second(logging);
  for (Hook *hook : {&first, &second}) {
    const StepGuard step = hook->Step();
    hook->Save("loss", 1.0);
  }
}

TEST(Log, LinesArrive) {
  const Folder folder;
  std::vector<std::string> lines;
  HookOptions options;
  options.SetLog(LogLevel::kWarning, [&lines](LogLevel level, std::string_view line) {
    EXPECT_EQ(level, LogLevel::kWarning);
    lines.emplace_back(line);
  });
  MakeALogLine(folder / "run", std::move(options));
  EXPECT_THAT(lines, ElementsAre(::testing::HasSubstr("already records here")));
}

TEST(Log, ThrowingDoesNoHarm) {
  for (const bool is_standard : {true, false}) {
    const Folder folder;
    HookOptions options;
    options.SetLog(LogLevel::kDebug, [is_standard](LogLevel, std::string_view) {
      if (is_standard) throw std::runtime_error("the log is full");
      throw 7;
    });
    ::testing::internal::CaptureStderr();
    MakeALogLine(folder / "run", std::move(options));
    const std::string printed = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(printed.find("already records here"), std::string::npos);
    EXPECT_NE(printed.find("the log function threw"), std::string::npos);
    EXPECT_EQ(printed.find("the log is full") != std::string::npos, is_standard);
  }
}

TEST(Log, FunctionsAreFreed) {
  const auto held = std::make_shared<int>(0);
  const auto log = [held](LogLevel, std::string_view) {};
  const long before = held.use_count();
  {
    HookOptions options;
    options.SetLog(LogLevel::kInfo, log);
    TrialOptions().SetLog(LogLevel::kInfo, log);
    EXPECT_EQ(held.use_count(), before + 1);
    EXPECT_EQ(CodeOf([&] { options.SetLog(static_cast<LogLevel>(99), log); }),
              SMD_INVALID_ARGUMENT);
    EXPECT_EQ(CodeOf([&] { options.SetLog(LogLevel::kInfo, nullptr); }), SMD_INVALID_ARGUMENT);
  }
  EXPECT_EQ(held.use_count(), before);
}

}  // namespace
}  // namespace smdebug
