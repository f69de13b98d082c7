#include "rules/panel_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/fake_source.h"

namespace smdebug::rules::panel_run_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Finds every tensor whose first number is negative, and remembers what it was shown.
class Negative final : public Detector {
 public:
  explicit Negative(std::vector<int64_t> *shown) : Detector("Negative"), shown_(shown) {}
  bool Wants(std::string_view tensor, const Membership &) const override { return tensor != "odd"; }
  void Observe(const Sample &sample, Findings &findings) override {
    shown_->push_back(sample.Place().step);
    NoteJudged();
    if (sample.Numbers()[0] >= 0) return;
    Verdict verdict;
    verdict.tensor = sample.Tensor();
    verdict.message = "it is negative";
    verdict.ends_rule = sample.Numbers()[0] < -100;
    findings.Add(verdict);
  }

 private:
  std::vector<int64_t> *shown_;
};

class PanelRunTest : public testing::Test {
 protected:
  PanelRunTest() { panel_.Add(std::make_unique<Negative>(&shown_)); }
  Status Run(const RunRange &range, Reach reach = Reach::kComplete) {
    PanelRun run(panel_, source_, last_shown_);
    const Status status = run.Run(
        range, reach, [this](const Verdict &verdict) { found_.push_back(verdict.place.step); });
    last_shown_ = run.LastShown();
    return status;
  }

  FakeSource source_;
  Panel panel_;
  int64_t last_shown_ = -1;
  std::vector<int64_t> shown_;
  std::vector<int64_t> found_;
};

TEST_F(PanelRunTest, ShowsEarlierStepsWithoutReportingThem) {
  for (const int64_t step : {0, 2, 4}) source_.Step(step).Save("w", {-1});
  EXPECT_TRUE(Run({2, {}, false}).IsOk());
  EXPECT_THAT(shown_, ElementsAre(0, 2, 4));
  EXPECT_THAT(found_, ElementsAre(2, 4));
}

TEST_F(PanelRunTest, WhatIsNotReportedDoesNotCount) {
  for (const int64_t step : {0, 2}) source_.Step(step).Save("w", {-500});
  EXPECT_TRUE(Run({1, 2, false}).IsOk());
  EXPECT_EQ(panel_.Outcomes()[0].status, VerdictStatus::kNoIssue);
  EXPECT_TRUE(Run({1, {}, false}).IsOk());
  EXPECT_THAT(found_, ElementsAre(2));
  EXPECT_EQ(panel_.Outcomes()[0].message, "1 finding: it is negative");
}

TEST_F(PanelRunTest, LooksAtTheStepsThatItsConfigSaves) {
  for (const int64_t step : {0, 1, 2, 3, 4, 5, 6}) source_.Step(step).Save("w", {-1});
  config::SaveConfig saves;
  EXPECT_TRUE(saves.Set(Mode::kGlobal, {.interval = 3, .end = {}, .steps = {}}).IsOk());
  panel_.SetSaveConfig(saves);
  EXPECT_TRUE(Run({0, 5, false}).IsOk());
  EXPECT_THAT(shown_, ElementsAre(0, 3));
  EXPECT_TRUE(Run({0, {}, false}).IsOk());
  EXPECT_THAT(found_, ElementsAre(0, 3, 6));
}

TEST_F(PanelRunTest, GoesOnWhereItStopped) {
  for (const int64_t step : {0, 1, 2}) source_.Step(step).Save("w", {-1});
  EXPECT_TRUE(Run({0, 1, false}).IsOk());
  EXPECT_TRUE(Run({0, {}, false}).IsOk());
  EXPECT_THAT(shown_, ElementsAre(0, 1, 2));
  EXPECT_THAT(found_, ElementsAre(0, 1, 2));
}

TEST_F(PanelRunTest, AStepThatIsNotCompleteIsLeftForLater) {
  for (const int64_t step : {0, 1, 2}) source_.Step(step).Save("w", {-1});
  source_.LeaveOpen(1);
  EXPECT_TRUE(Run({0, {}, false}).IsOk());
  EXPECT_THAT(found_, ElementsAre(0));
  source_.LeaveOpen({});
  EXPECT_TRUE(Run({0, {}, false}).IsOk());
  EXPECT_THAT(found_, ElementsAre(0, 1, 2));
}

TEST_F(PanelRunTest, AStepThatIsKnownIsEnoughIfItIsTo) {
  source_.Step(0).Save("w", {-1});
  source_.LeaveOpen(0);
  EXPECT_TRUE(Run({0, {}, false}, Reach::kKnown).IsOk());
  EXPECT_THAT(found_, ElementsAre(0));
}

TEST_F(PanelRunTest, MissingDataPassesAStepOverAndOtherFailuresEndIt) {
  for (const int64_t step : {0, 1, 2}) source_.Step(step).Save("w", {-1});
  source_.FailVisitAt(0, {Code::kValueUnavailable, "gone"});
  source_.FailVisitAt(2, {Code::kCorruptData, "flipped"});
  EXPECT_EQ(Run({0, {}, false}).GetCode(), Code::kCorruptData);
  EXPECT_THAT(found_, ElementsAre(1));
  EXPECT_EQ(source_.holds, 0);
}

TEST_F(PanelRunTest, StopsAtAFindingIfItIsTo) {
  for (const int64_t step : {0, 1, 2}) source_.Step(step).Save("w", {step == 0 ? 1.0 : -1.0});
  const Status status = Run({0, {}, true});
  EXPECT_EQ(status.GetCode(), Code::kRuleConditionMet);
  EXPECT_THAT(status.Message(), HasSubstr("Negative is met at step 1: it is negative"));
  EXPECT_THAT(shown_, ElementsAre(0, 1));
}

TEST_F(PanelRunTest, ARuleThatHasEndedSeesNoMore) {
  for (const int64_t step : {0, 1, 2}) source_.Step(step).Save("w", {-500});
  EXPECT_TRUE(Run({0, {}, false}).IsOk());
  EXPECT_THAT(found_, ElementsAre(0));
  EXPECT_THAT(shown_, ElementsAre(0));
}

TEST_F(PanelRunTest, OutcomesSayWhatBecameOfEachRule) {
  EXPECT_EQ(panel_.Outcomes()[0].status, VerdictStatus::kNoTensor);
  source_.Step(0).Save("odd", {-1});
  EXPECT_TRUE(Run({0, {}, false}).IsOk());
  EXPECT_EQ(panel_.Outcomes()[0].status, VerdictStatus::kNoTensor);
  source_.Step(1).Save("w", {1});
  EXPECT_TRUE(Run({0, {}, false}).IsOk());
  EXPECT_EQ(panel_.Outcomes()[0].status, VerdictStatus::kNoIssue);
  for (const int64_t step : {2, 3}) source_.Step(step).Save("w", {-1});
  EXPECT_TRUE(Run({0, {}, false}).IsOk());
  const Verdict outcome = panel_.Outcomes()[0];
  EXPECT_EQ(outcome.status, VerdictStatus::kFinding);
  EXPECT_EQ(outcome.place.step, 2);
  EXPECT_EQ(outcome.message, "2 findings, first: it is negative");
}

}  // namespace
}  // namespace smdebug::rules::panel_run_test
