// Functions of the caller: rules and log lines, and what they throw.
#include <memory>
#include <mutex>

#include "support.h"

namespace smdebug {
namespace {

using ::testing::ElementsAre;

class RuleTest : public ::testing::Test {
 protected:
  RuleTest() { RecordSteps(folder_ / "run", 4); }

  Folder folder_;
  Trial trial_{folder_ / "run"};
};

TEST_F(RuleTest, Judges) {
  double last = 0;
  Rule rule("Falls", [&](const Trial &trial, int64_t step) {
    const double loss = trial.Tensor("loss").Value(step).ToDouble();
    return std::exchange(last, loss) > loss ? Judgement::kFinding : Judgement::kNoFinding;
  });
  EXPECT_EQ(rule.LastFinding(), "");
  EXPECT_THAT(rule.Run(trial_), ElementsAre(1, 2, 3));
  EXPECT_NE(rule.LastFinding(), "");
  EXPECT_THAT(rule.Run(trial_, 2, 3), ElementsAre());  // 0.33 is not below 0.25
}

TEST_F(RuleTest, MayEndTheRun) {
  Rule rule("Ends", [](const Trial &, int64_t) { return Judgement::kFindingAndEnd; });
  EXPECT_THAT(rule.Run(trial_), ElementsAre(0));
  try {
    rule.Require(trial_, 2);
    FAIL();
  } catch (const RuleConditionMet &met) {
    EXPECT_EQ(met.Detail("rule"), "Ends");
    EXPECT_EQ(met.Detail("step"), "2");
  }
}

TEST_F(RuleTest, TheLibrarysOwn) {
  Rule rule = Rule::BuiltIn("VanishingGradient");
  rule = Rule::BuiltIn("VanishingGradient", R"({"threshold": "1e-3"})");
  EXPECT_THAT(rule.Run(trial_), ElementsAre());
  EXPECT_EQ(CodeOf([] { Rule::BuiltIn("Unknown"); }), SMD_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf([] { Rule::BuiltIn("VanishingGradient", R"({"limit": "1"})"); }),
            SMD_INVALID_CONFIG);
}

struct Unheard : std::exception {
  const char *what() const noexcept override { return "unheard of"; }
};

TEST_F(RuleTest, WhatItThrowsComesOut) {
  Rule standard("Own", [](const Trial &, int64_t) -> Judgement { throw Unheard(); });
  EXPECT_THROW(standard.Run(trial_), Unheard);
  EXPECT_THROW(standard.Run(trial_), Unheard);
  Rule odd("Odd", [](const Trial &, int64_t) -> Judgement { throw 7; });
  EXPECT_THROW(odd.Run(trial_), int);
  Rule own("Error", [](const Trial &, int64_t) -> Judgement { throw Error(SMD_IO, "as told"); });
  EXPECT_EQ(CodeOf([&] { own.Run(trial_); }), SMD_IO);
}

TEST_F(RuleTest, StepsThatAreNotThereArePassedOver) {
  int judged = 0;
  Rule rule("Skips", [&](const Trial &trial, int64_t step) {
    ++judged;
    if (step == 1) trial.Tensor("missing");
    if (step == 3) throw Unheard();
    return Judgement::kFinding;
  });
  EXPECT_THAT(rule.Run(trial_, 0, 3), ElementsAre(0, 2));
  EXPECT_EQ(judged, 3);
  EXPECT_THROW(rule.Run(trial_), Unheard);
}

TEST_F(RuleTest, AnOldThrowIsNotMistakenForTheEndOfARun) {
  const Folder folder;
  Hook hook(EveryStep(folder / "run"));
  {
    const StepGuard step = hook.Step();
    hook.Save("loss", 1.0);
  }
  hook.Flush();
  const Trial live = Trial::Open(folder / "run");
  Rule rule("Cancels", [](const Trial &trial, int64_t) -> Judgement {
    trial.Cancel();
    throw TensorUnavailable(SMD_TENSOR_UNAVAILABLE, "passed over");
  });
  EXPECT_EQ(CodeOf([&] { rule.Run(live); }), SMD_CANCELLED);
}

TEST_F(RuleTest, IsMovedWithItsState) {
  const auto counted = std::make_shared<int>(0);
  {
    Rule rule("Counts", [counted](const Trial &, int64_t) {
      ++*counted;
      return Judgement::kNoFinding;
    });
    Rule moved = std::move(rule);
    moved.Run(trial_);
    EXPECT_EQ(*counted, 4);
    EXPECT_EQ(CodeOf([&] { rule.Run(trial_); }), SMD_INVALID_ARGUMENT);
    moved = Rule::BuiltIn("VanishingGradient");
    EXPECT_EQ(counted.use_count(), 1);
    EXPECT_THAT(moved.Run(trial_), ElementsAre());
  }
  EXPECT_EQ(CodeOf([&] { Rule none("None", nullptr); }), SMD_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf([&] {
              Rule nameless("", [counted](const Trial &, int64_t) { return Judgement::kFinding; });
            }),
            SMD_INVALID_ARGUMENT);
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
  EXPECT_THAT(lines, ElementsAre(::testing::HasSubstr("another process already records here")));
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
    EXPECT_NE(printed.find("another process already records here"), std::string::npos);
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
