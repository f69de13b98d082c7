#include "rules/evaluation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/fake_source.h"
#include "rules/registry.h"

namespace smdebug::rules::evaluation_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Finds every tensor whose first number is negative, and remembers what it was shown.
class Negative final : public Rule {
 public:
  explicit Negative(std::vector<int64_t> *shown) : Rule("Negative"), shown_(shown) {}
  bool Wants(std::string_view tensor, const Membership &) const override { return tensor != "odd"; }
  void Observe(const Sample &sample, Findings &findings) override {
    shown_->push_back(sample.Place().step);
    NoteEvaluated();
    if (sample.Numbers()[0] >= 0) return;
    Finding finding;
    finding.tensor = sample.Tensor();
    finding.message = "it is negative";
    if (sample.Numbers()[0] < -100) NoteFinished();
    findings.Add(finding);
  }

 private:
  std::vector<int64_t> *shown_;
};

class EvaluationTest : public testing::Test {
 protected:
  EvaluationTest() {
    EXPECT_TRUE(set_->Add([this] { return std::make_unique<Negative>(&shown_); }).IsOk());
  }
  Status Run(const Range &range) {
    Evaluation evaluation = *Evaluation::Begin(set_, {});
    return evaluation.Run(source_, range,
                          [this](const Finding &finding) { found_.push_back(finding.place.step); });
  }
  RuleResult TheResult() const { return set_->Results().front(); }

  FakeSource source_;
  std::shared_ptr<RuleSet> set_ = std::make_shared<RuleSet>();
  std::vector<int64_t> shown_;
  std::vector<int64_t> found_;
};

TEST_F(EvaluationTest, ShowsEarlierStepsWithoutReportingThem) {
  for (const int64_t step : {0, 2, 4}) source_.Step(step).Save("w", {-1});
  EXPECT_TRUE(Run({.first = 2, .end = {}}).IsOk());
  EXPECT_THAT(shown_, ElementsAre(0, 2, 4));
  EXPECT_THAT(found_, ElementsAre(2, 4));
}

TEST_F(EvaluationTest, WhatIsNotReportedDoesNotCount) {
  for (const int64_t step : {0, 2}) source_.Step(step).Save("w", {-500});
  EXPECT_TRUE(Run({.first = 1, .end = 2}).IsOk());
  EXPECT_EQ(TheResult().status, RuleStatus::kPassed);
  EXPECT_TRUE(Run({.first = 1, .end = {}}).IsOk());
  EXPECT_THAT(found_, ElementsAre(2));
  EXPECT_EQ(TheResult().message, "1 finding: it is negative");
}

TEST_F(EvaluationTest, WantsNothingForARuleThatHasFinished) {
  class Nothing final : public Membership {
    bool IsIn(std::string_view, std::string_view) const override { return false; }
  };
  const Nothing nothing;
  source_.Step(0).Save("w", {-1});
  source_.Step(1).Save("w", {-500});
  Evaluation evaluation = *Evaluation::Begin(set_, {});
  const auto ignore = [](const Finding &) {};
  EXPECT_TRUE(evaluation.Run(source_, {.first = 0, .end = 1}, ignore).IsOk());
  EXPECT_TRUE(evaluation.Wants("w", nothing));
  EXPECT_TRUE(evaluation.Run(source_, {.first = 1, .end = {}}, ignore).IsOk());
  EXPECT_FALSE(evaluation.Wants("w", nothing));
}

TEST_F(EvaluationTest, LooksAtTheStepsThatItsConfigSaves) {
  for (const int64_t step : {0, 1, 2, 3, 4, 5, 6}) source_.Step(step).Save("w", {-1});
  config::SaveConfig saves;
  EXPECT_TRUE(saves.Set(Mode::kGlobal, {.interval = 3, .end = {}, .steps = {}}).IsOk());
  EXPECT_TRUE(set_->SetSaveConfig(saves).IsOk());
  EXPECT_TRUE(Run({.end = 5}).IsOk());
  EXPECT_THAT(shown_, ElementsAre(0, 3));
  EXPECT_TRUE(Run({.end = {}}).IsOk());
  EXPECT_THAT(found_, ElementsAre(0, 3, 6));
}

TEST_F(EvaluationTest, GoesOnWhereItStopped) {
  for (const int64_t step : {0, 1, 2}) source_.Step(step).Save("w", {-1});
  EXPECT_TRUE(Run({.end = 1}).IsOk());
  EXPECT_TRUE(Run({.end = {}}).IsOk());
  EXPECT_THAT(shown_, ElementsAre(0, 1, 2));
  EXPECT_THAT(found_, ElementsAre(0, 1, 2));
}

TEST_F(EvaluationTest, AStepThatIsNotCompleteIsLeftForLater) {
  for (const int64_t step : {0, 1, 2}) source_.Step(step).Save("w", {-1});
  source_.LeaveOpen(1);
  EXPECT_TRUE(Run({.end = {}}).IsOk());
  EXPECT_THAT(found_, ElementsAre(0));
  source_.LeaveOpen({});
  EXPECT_TRUE(Run({.end = {}}).IsOk());
  EXPECT_THAT(found_, ElementsAre(0, 1, 2));
}

TEST_F(EvaluationTest, AStepThatIsKnownIsEnoughIfItIsTo) {
  source_.Step(0).Save("w", {-1});
  source_.LeaveOpen(0);
  EXPECT_TRUE(Run({.end = {}, .includes_incomplete = true}).IsOk());
  EXPECT_THAT(found_, ElementsAre(0));
}

TEST_F(EvaluationTest, MissingDataPassesAStepOverAndOtherFailuresEndIt) {
  for (const int64_t step : {0, 1, 2}) source_.Step(step).Save("w", {-1});
  source_.FailVisitAt(0, {Code::kValueUnavailable, "gone"});
  source_.FailVisitAt(2, {Code::kCorruptData, "flipped"});
  EXPECT_EQ(Run({.end = {}}).GetCode(), Code::kCorruptData);
  EXPECT_THAT(found_, ElementsAre(1));
  EXPECT_EQ(source_.holds, 0);
}

TEST_F(EvaluationTest, StopsAtAFindingIfItIsTo) {
  for (const int64_t step : {0, 1, 2}) source_.Step(step).Save("w", {step == 0 ? 1.0 : -1.0});
  const Status status = Run({.end = {}, .stops_at_finding = true});
  EXPECT_EQ(status.GetCode(), Code::kRuleConditionMet);
  EXPECT_THAT(status.Message(), HasSubstr("Negative is met at step 1: it is negative"));
  EXPECT_THAT(shown_, ElementsAre(0, 1));
}

TEST_F(EvaluationTest, ARuleThatHasEndedSeesNoMore) {
  for (const int64_t step : {0, 1, 2}) source_.Step(step).Save("w", {-500});
  EXPECT_TRUE(Run({.end = {}}).IsOk());
  EXPECT_THAT(found_, ElementsAre(0));
  EXPECT_THAT(shown_, ElementsAre(0));
}

TEST_F(EvaluationTest, OutcomesSayWhatBecameOfEachRule) {
  EXPECT_EQ(TheResult().status, RuleStatus::kNoTensors);
  source_.Step(0).Save("odd", {-1});
  EXPECT_TRUE(Run({.end = {}}).IsOk());
  EXPECT_EQ(TheResult().status, RuleStatus::kNoTensors);
  source_.Step(1).Save("w", {1});
  EXPECT_TRUE(Run({.end = {}}).IsOk());
  EXPECT_EQ(TheResult().status, RuleStatus::kPassed);
  for (const int64_t step : {2, 3}) source_.Step(step).Save("w", {-1});
  EXPECT_TRUE(Run({.end = {}}).IsOk());
  const RuleResult result = TheResult();
  EXPECT_EQ(result.status, RuleStatus::kHasFindings);
  EXPECT_EQ(result.first.place.step, 2);
  EXPECT_EQ(result.message, "2 findings, first: it is negative");
}

TEST_F(EvaluationTest, TheLastStepThatANumberCanNameIsTheLast) {
  source_.Step(0).Save("w", {-1}).Step(INT64_MAX).Save("w", {-1});
  EXPECT_TRUE(Run({.end = {}, .follows = true}).IsOk());
  EXPECT_THAT(found_, ElementsAre(0, INT64_MAX));
  EXPECT_TRUE(Run({.end = {}, .follows = true}).IsOk());
  EXPECT_THAT(found_, ElementsAre(0, INT64_MAX));
}

// Tells where the job ended.
class AtTheEnd final : public Rule {
 public:
  AtTheEnd() : Rule("AtTheEnd") {}
  bool Wants(std::string_view, const Membership &) const override { return true; }
  void Observe(const Sample &, Findings &) override {}
  void EndJob(Findings &findings) override {
    Finding finding;
    finding.message = "it ended";
    findings.Add(finding);
  }
};

TEST_F(EvaluationTest, TheEndIsToldOnceTheJobHasEnded) {
  EXPECT_TRUE(set_->Add([] { return std::make_unique<AtTheEnd>(); }).IsOk());
  EXPECT_TRUE(Run({}).IsOk());
  EXPECT_THAT(found_, IsEmpty()) << "nothing was evaluated";
  source_.Step(0).Save("w", {1}).Step(4).Save("w", {1});
  source_.has_ended = false;
  EXPECT_TRUE(Run({}).IsOk());
  EXPECT_THAT(found_, IsEmpty());
  source_.has_ended = true;
  EXPECT_TRUE(Run({}).IsOk());
  EXPECT_TRUE(Run({.end = {}, .follows = true}).IsOk());
  EXPECT_THAT(found_, ElementsAre(4)) << "once";
  source_.Step(7).Save("w", {1});
  EXPECT_TRUE(Run({.end = {}, .follows = true}).IsOk());
  EXPECT_THAT(found_, ElementsAre(4, 7)) << "a job that went on";
}

TEST_F(EvaluationTest, TheEndBelongsToTheLastStep) {
  EXPECT_TRUE(set_->Add([] { return std::make_unique<AtTheEnd>(); }).IsOk());
  source_.Step(0).Save("w", {1}).Step(4).Save("w", {1});
  EXPECT_TRUE(Run({.end = 4}).IsOk());
  EXPECT_THAT(found_, IsEmpty());
  EXPECT_TRUE(Run({.first = 5, .end = {}}).IsOk());
  EXPECT_THAT(found_, IsEmpty()) << "which is not in the range";
  EXPECT_TRUE(Run({.end = 0}).IsOk());
  EXPECT_THAT(found_, IsEmpty());
  EXPECT_TRUE(Run({.end = 5}).IsOk());
  EXPECT_THAT(found_, ElementsAre(4)) << "as who evaluates step by step asks";
}

// ---- following a job -------------------------------------------------------------------------

TEST_F(EvaluationTest, WaitsOnlyIfItFollows) {
  source_.Step(0).Save("w", {1});
  EXPECT_TRUE(Run({}).IsOk());
  EXPECT_THAT(source_.waited_for, IsEmpty());
  source_.Step(2).Save("w", {-1});
  EXPECT_TRUE(Run({.end = {}, .follows = true}).IsOk());
  EXPECT_THAT(source_.waited_for, ElementsAre(3));
  EXPECT_THAT(found_, ElementsAre(2));
}

TEST_F(EvaluationTest, FollowsToTheEndOfTheRangeAlsoIfNoStepIsInIt) {
  source_.Step(0).Save("w", {-1}).Step(9).Save("w", {-1});
  EXPECT_TRUE(Run({.end = 5, .follows = true}).IsOk());
  EXPECT_THAT(found_, ElementsAre(0));
}

TEST_F(EvaluationTest, AFailureToWaitEndsIt) {
  source_.FailWaitAt(0, {Code::kCancelled, "cancelled"});
  EXPECT_EQ(Run({.end = {}, .follows = true}).GetCode(), Code::kCancelled);
}

// A source whose steps come while the evaluation waits for them.
class ComingSource : public FakeSource {
 public:
  explicit ComingSource(const RuleSet &set) : set_(set) {}
  Status WaitForStep(int64_t step) override {
    EXPECT_EQ(set_.Results().size(), 1U);
    if (step < 3) Step(step).Save("w", {-1});
    return FakeSource::WaitForStep(step);
  }

 private:
  const RuleSet &set_;
};

TEST_F(EvaluationTest, ResultsAreThereWhileItWaits) {
  ComingSource source(*set_);
  Evaluation evaluation = *Evaluation::Begin(set_, {});
  EXPECT_TRUE(evaluation
                  .Run(source, {.end = {}, .follows = true},
                       [this](const Finding &finding) { found_.push_back(finding.place.step); })
                  .IsOk());
  EXPECT_THAT(found_, ElementsAre(0, 1, 2));
}

// ---- rules that read the source --------------------------------------------------------------

class Reader final : public Rule {
 public:
  using Script = std::function<Status(Source &, Findings &)>;
  explicit Reader(Script script) : Rule("Reader"), script_(std::move(script)) {}
  bool Wants(std::string_view, const Membership &) const override { return false; }
  void Observe(const Sample &, Findings &) override {}
  bool ReadsSource() const override { return true; }
  Status Read(Source &source, Findings &findings) override {
    NoteEvaluated();
    return script_(source, findings);
  }

 private:
  Script script_;
};

class ReaderTest : public EvaluationTest {
 protected:
  ReaderTest() {
    for (const int64_t step : {0, 2, 5}) source_.Step(step).Save("w", {-1});
  }
  Status RunWith(const Reader::Script &script, const Range &range = {}) {
    EXPECT_TRUE(set_->Add([script] { return std::make_unique<Reader>(script); }).IsOk());
    Evaluation evaluation = *Evaluation::Begin(set_, {});
    return evaluation.Run(source_, range, [this](const Finding &finding) {
      found_by_.push_back(finding.rule + " " + std::to_string(finding.place.step));
    });
  }
  static void Add(Findings &findings) {
    Finding finding;
    finding.message = "found";
    findings.Add(finding);
  }

  std::vector<std::string> found_by_;
};

TEST_F(ReaderTest, MixesWithRulesThatObserve) {
  EXPECT_TRUE(RunWith([](Source &source, Findings &findings) {
                if (findings.Place().step != 2) Add(findings);
                EXPECT_EQ(static_cast<FakeSource &>(source).holds, 1);
                return Status::Ok();
              }).IsOk());
  EXPECT_THAT(found_by_,
              ElementsAre("Negative 0", "Reader 0", "Negative 2", "Negative 5", "Reader 5"));
  EXPECT_EQ(set_->Results()[1].finding_count, 2);
  EXPECT_EQ(source_.holds, 0);
}

TEST_F(ReaderTest, IsCalledForStepsOfTheRangeOnly) {
  std::vector<int64_t> read;
  EXPECT_TRUE(RunWith(
                  [&](Source &, Findings &findings) {
                    read.push_back(findings.Place().step);
                    return Status::Ok();
                  },
                  {.first = 1, .end = 5})
                  .IsOk());
  EXPECT_THAT(read, ElementsAre(2));
  EXPECT_THAT(shown_, ElementsAre(0, 2));
  EXPECT_EQ(set_->Results()[1].status, RuleStatus::kPassed);
}

TEST_F(ReaderTest, MissingDataSkipsTheStepAndAnyOtherErrorEndsTheRun) {
  EXPECT_EQ(RunWith([](Source &, Findings &findings) {
              Add(findings);
              if (findings.Place().step == 0) return Status(Code::kValueUnavailable, "missing");
              return Status(Code::kCallbackFailed, "failed");
            }).GetCode(),
            Code::kCallbackFailed);
  EXPECT_THAT(found_by_, ElementsAre("Negative 0", "Reader 0", "Negative 2", "Reader 2"))
      << "what was found before the failure counts";
}

TEST_F(ReaderTest, MayAskTheSetAndIsRefusedAnEvaluation) {
  EXPECT_TRUE(RunWith([&](Source &, Findings &) {
                EXPECT_EQ(set_->Results().size(), 2U);
                EXPECT_EQ(Evaluation::Begin(set_, {}).GetStatus().GetCode(), Code::kWrongState);
                return Status::Ok();
              }).IsOk());
}

TEST_F(ReaderTest, TheSetIsFreeAgainHoweverARuleEnds) {
  EXPECT_THROW((void)RunWith([](Source &, Findings &) -> Status { throw std::bad_alloc(); }),
               std::bad_alloc);
  EXPECT_EQ(source_.holds, 0);
  EXPECT_TRUE(Evaluation::Begin(set_, {}).IsOk());
}

}  // namespace
}  // namespace smdebug::rules::evaluation_test
