#include "rules/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

#include "rules/fake_source.h"

namespace smdebug::rules::runner_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Judges as the test says.
class ScriptedRule final : public Rule {
 public:
  using Script = std::function<Result<Judgement>(Source &, int64_t)>;
  explicit ScriptedRule(Script script) : script_(std::move(script)) {}
  const std::string &Name() const override { return name_; }
  Result<Judgement> Judge(Source &source, int64_t step) override {
    judged.push_back(step);
    return script_(source, step);
  }
  std::vector<int64_t> judged;

 private:
  const std::string name_ = "Scripted";
  Script script_;
};

Judgement Finding(std::string message = "found") { return {true, false, std::move(message)}; }

class RunnerTest : public testing::Test {
 protected:
  RunnerTest() {
    for (const int64_t step : {0, 2, 5}) source_.Step(step);
  }
  RunResult Judge(const ScriptedRule::Script &script, const RunRange &range = {}) {
    ScriptedRule rule(script);
    RunResult findings = rules::Run(rule, source_, range);
    judged_ = rule.judged;
    return findings;
  }

  FakeSource source_;
  std::vector<int64_t> judged_;
};

TEST_F(RunnerTest, JudgesEveryStepUntilTheJobEnds) {
  const RunResult findings = Judge([](Source &, int64_t step) -> Result<Judgement> {
    return step == 2 ? Finding("at two") : Judgement{};
  });
  EXPECT_TRUE(findings.status.IsOk());
  EXPECT_THAT(judged_, ElementsAre(0, 2, 5));
  EXPECT_THAT(findings.steps, ElementsAre(2));
  EXPECT_EQ(findings.last_message, "at two");
}

TEST_F(RunnerTest, StepsThatWereNotSavedArePassedOver) {
  Judge([](Source &, int64_t) -> Result<Judgement> { return Judgement{}; }, {1, {}, false});
  EXPECT_THAT(judged_, ElementsAre(2, 5));
  EXPECT_THAT(source_.waited_for, ElementsAre(1, 2, 3, 5, 6)) << "but not one by one";
}

TEST_F(RunnerTest, ARangeEndsBeforeItsEnd) {
  Judge([](Source &, int64_t) -> Result<Judgement> { return Judgement{}; }, {0, 5, false});
  EXPECT_THAT(judged_, ElementsAre(0, 2));
  Judge([](Source &, int64_t) -> Result<Judgement> { return Judgement{}; }, {3, 3, false});
  EXPECT_THAT(judged_, IsEmpty());
}

TEST_F(RunnerTest, TheFirstFindingEndsTheRunIfSoAsked) {
  const RunResult findings = Judge(
      [](Source &, int64_t step) -> Result<Judgement> {
        return step >= 2 ? Finding("it vanished") : Judgement{};
      },
      {0, {}, true});
  EXPECT_EQ(findings.status.GetCode(), Code::kRuleConditionMet);
  EXPECT_THAT(findings.status.Message(), HasSubstr("Scripted is met at step 2: it vanished"));
  EXPECT_EQ(*findings.status.Detail("rule"), "Scripted");
  EXPECT_EQ(*findings.status.Detail("step"), "2");
  EXPECT_THAT(findings.steps, ElementsAre(2));
  EXPECT_THAT(judged_, ElementsAre(0, 2));
}

TEST_F(RunnerTest, AFindingMayBeTheRulesLast) {
  const RunResult findings = Judge([](Source &, int64_t) -> Result<Judgement> {
    return Judgement{true, true, "enough"};
  });
  EXPECT_TRUE(findings.status.IsOk());
  EXPECT_THAT(findings.steps, ElementsAre(0));
  EXPECT_THAT(judged_, ElementsAre(0));
}

TEST_F(RunnerTest, MissingDataPassesTheStepOver) {
  for (const Code code : {Code::kStepUnavailable, Code::kTensorUnavailable, Code::kValueUnavailable,
                          Code::kShapeUnavailable}) {
    const RunResult findings = Judge([code](Source &, int64_t step) -> Result<Judgement> {
      if (step == 2) return Status(code, "missing");
      return Finding();
    });
    EXPECT_TRUE(findings.status.IsOk()) << CodeName(code);
    EXPECT_THAT(findings.steps, ElementsAre(0, 5)) << CodeName(code);
  }
}

TEST_F(RunnerTest, AnyOtherErrorEndsTheRunAndWhatWasFoundIsKept) {
  for (const Code code : {Code::kCallbackFailed, Code::kIo, Code::kCorruptData, Code::kCancelled}) {
    const RunResult findings = Judge([code](Source &, int64_t step) -> Result<Judgement> {
      if (step == 2) return Status(code, "failed");
      return Finding();
    });
    EXPECT_EQ(findings.status.GetCode(), code);
    EXPECT_THAT(findings.steps, ElementsAre(0));
  }
}

TEST_F(RunnerTest, AWaitThatFailsEndsTheRunAndWhatWasFoundIsKept) {
  source_.FailWaitAt(2, {Code::kCancelled, "cancelled"});
  const RunResult findings =
      Judge([](Source &, int64_t) -> Result<Judgement> { return Finding(); });
  EXPECT_EQ(findings.status.GetCode(), Code::kCancelled);
  EXPECT_THAT(findings.steps, ElementsAre(0));
}

TEST_F(RunnerTest, TheSourceStandsStillWhileAStepIsJudged) {
  int holds = 0;
  Judge([&](Source &, int64_t) -> Result<Judgement> {
    holds = source_.holds;
    return Judgement{};
  });
  EXPECT_EQ(holds, 1);
  EXPECT_EQ(source_.holds, 0);
}

TEST_F(RunnerTest, ItMovesAgainHoweverJudgingEnds) {
  Judge([](Source &, int64_t) -> Result<Judgement> { return Status(Code::kIo, "failed"); });
  EXPECT_EQ(source_.holds, 0);
  EXPECT_THROW(
      Judge([](Source &, int64_t) -> Result<Judgement> { throw std::runtime_error("thrown"); }),
      std::runtime_error);
  EXPECT_EQ(source_.holds, 0);
}

TEST_F(RunnerTest, AJobWithoutStepsHasNoFindings) {
  FakeSource empty;
  ScriptedRule rule([](Source &, int64_t) -> Result<Judgement> { return Finding(); });
  const RunResult findings = rules::Run(rule, empty, {});
  EXPECT_TRUE(findings.status.IsOk());
  EXPECT_THAT(findings.steps, IsEmpty());
}

}  // namespace
}  // namespace smdebug::rules::runner_test
