#include "rules/rule_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/evaluation.h"
#include "rules/fake_source.h"
#include "rules/registry.h"

namespace smdebug::rules::rule_set_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Keeps the largest element of what it observes.
class Maxima final : public Rule {
 public:
  Maxima(int64_t sample_size, std::vector<double> *maxima) : Rule("Maxima"), maxima_(maxima) {
    SetSampleSize(sample_size);
  }
  bool Wants(std::string_view, const Membership &) const override { return true; }
  void Observe(const Sample &sample, Findings &) override {
    maxima_->push_back(*sample.Reduce({tensor::ReductionKind::kMax}));
  }

 private:
  std::vector<double> *maxima_;
};

TEST(RuleSetTest, EachRuleObservesEstimatesOfItsSampleSize) {
  std::vector<double> numbers(1000, 1);
  numbers[999] = 7;
  FakeSource source;
  source.Step(0).Save("t", numbers);
  std::vector<double> maxima;
  const auto set = std::make_shared<RuleSet>();
  for (const int64_t size : {0, 16, 1000, 16}) {
    EXPECT_TRUE(
        set->Add([size, &maxima] { return std::make_unique<Maxima>(size, &maxima); }).IsOk());
  }
  Evaluation evaluation = *Evaluation::Begin(set, {});
  EXPECT_TRUE(evaluation.Run(source, {}, [](const Finding &) {}).IsOk());
  EXPECT_THAT(maxima, ElementsAre(7, 1, 7, 1));
}

class OfOneJob : public testing::Test {
 protected:
  OfOneJob() {
    EXPECT_TRUE(set_->Add(*BuiltinRule("VanishingGradient", {}, Profile::kAws)).IsOk());
    healthy_.Step(0).Save("gradient/w", {1}).Step(1).Save("gradient/w", {1});
    ill_.Step(0).Save("gradient/w", {0}).Step(1).Save("gradient/w", {0});
  }
  Status Run(FakeSource &source, const std::shared_ptr<int> &job) {
    auto evaluation = Evaluation::Begin(set_, job);
    if (!evaluation.IsOk()) return evaluation.GetStatus();
    return evaluation->Run(
        source, {}, [this](const Finding &finding) { found_.push_back(finding.place.step); });
  }

  FakeSource healthy_, ill_;
  std::shared_ptr<int> job_ = std::make_shared<int>();
  std::shared_ptr<int> other_job_ = std::make_shared<int>();
  std::shared_ptr<RuleSet> set_ = std::make_shared<RuleSet>();
  std::vector<int64_t> found_;
};

TEST_F(OfOneJob, AnotherJobIsRefused) {
  EXPECT_TRUE(Run(healthy_, job_).IsOk());
  const Status status = Run(ill_, other_job_);
  EXPECT_EQ(status.GetCode(), Code::kWrongState);
  EXPECT_THAT(status.Message(), HasSubstr("make one rule set for each, or reset this one"));
  EXPECT_TRUE(Run(healthy_, job_).IsOk());
}

TEST_F(OfOneJob, AJobThatTookTheMemoryOfTheFirstIsAnother) {
  EXPECT_TRUE(Run(healthy_, job_).IsOk());
  job_.reset();
  EXPECT_EQ(Run(ill_, std::make_shared<int>()).GetCode(), Code::kWrongState);
}

TEST_F(OfOneJob, AJobWithoutStepsDoesNotCount) {
  FakeSource empty;
  EXPECT_TRUE(Run(empty, other_job_).IsOk());
  EXPECT_TRUE(Run(healthy_, job_).IsOk());
}

TEST_F(OfOneJob, ResetForgetsTheJob) {
  EXPECT_TRUE(Run(healthy_, job_).IsOk());
  EXPECT_EQ(set_->Results()[0].status, RuleStatus::kPassed);
  EXPECT_TRUE(set_->Reset().IsOk());
  EXPECT_EQ(set_->Results()[0].status, RuleStatus::kNoTensors);
  EXPECT_TRUE(Run(ill_, other_job_).IsOk());
  EXPECT_THAT(found_, ElementsAre(0, 1));
}

TEST_F(OfOneJob, NothingChangesDuringAnEvaluationButResultsAreThere) {
  const auto evaluation = Evaluation::Begin(set_, job_);
  EXPECT_EQ(Run(healthy_, job_).GetCode(), Code::kWrongState);
  EXPECT_EQ(set_->Reset().GetCode(), Code::kWrongState);
  EXPECT_EQ(set_->SetSaveConfig({}).GetCode(), Code::kWrongState);
  EXPECT_EQ(set_->Add(*BuiltinRule("DeadRelu", {}, Profile::kAws)).GetCode(), Code::kWrongState);
  EXPECT_EQ(set_->Results().size(), 1U);
}

// Finds each tensor whose first element is not 0: worth a look if that is 1.
class Levels final : public Rule {
 public:
  Levels() : Rule("Levels") {}
  bool Wants(std::string_view, const Membership &) const override { return true; }
  void Observe(const Sample &sample, Findings &findings) override {
    NoteEvaluated();
    if (sample.Numbers()[0] == 0) return;
    Finding finding;
    finding.level = sample.Numbers()[0] == 1 ? Level::kWorthALook : Level::kFinding;
    finding.action = Action::kStop;
    finding.message = "it is not 0";
    findings.Add(std::move(finding));
  }
};

class WorthALook : public testing::Test {
 protected:
  WorthALook() {
    EXPECT_TRUE(set_->Add([] { return std::make_unique<Levels>(); }, Action::kStop).IsOk());
  }
  void Run(const std::vector<double> &elements, bool stops = false) {
    FakeSource source;
    for (size_t i = 0; i < elements.size(); ++i) {
      source.Step(static_cast<int64_t>(i)).Save("t", {elements[i]});
    }
    Evaluation evaluation = *Evaluation::Begin(set_, {});
    status_ = evaluation.Run(source, {.end = {}, .stops_at_finding = stops},
                             [this](const Finding &finding) { found_.push_back(finding); });
    result_ = set_->Results().front();
  }

  std::shared_ptr<RuleSet> set_ = std::make_shared<RuleSet>();
  std::vector<Finding> found_;
  RuleResult result_;
  Status status_;
};

TEST_F(WorthALook, RecommendsNothingAndIsNotCountedAsAFinding) {
  Run({0, 1, 1});
  ASSERT_EQ(found_.size(), 2U);
  EXPECT_EQ(found_[0].action, Action::kContinue);
  EXPECT_EQ(result_.status, RuleStatus::kWorthALook);
  EXPECT_EQ(result_.finding_count, 0);
  EXPECT_EQ(result_.look_count, 2);
  EXPECT_EQ(result_.first.place.step, 1);
  EXPECT_EQ(result_.message, "worth a look 2 times, first: it is not 0");
}

TEST_F(WorthALook, AFindingComesBeforeIt) {
  Run({1, 2, 1, 2});
  EXPECT_EQ(found_[1].action, Action::kStop);
  EXPECT_EQ(result_.status, RuleStatus::kHasFindings);
  EXPECT_EQ(result_.finding_count, 2);
  EXPECT_EQ(result_.look_count, 2);
  EXPECT_EQ(result_.first.place.step, 1);
  EXPECT_EQ(result_.first.level, Level::kFinding);
}

TEST_F(WorthALook, DoesNotStopAnEvaluation) {
  Run({1, 1, 2, 2}, true);
  EXPECT_EQ(status_.GetCode(), Code::kRuleConditionMet);
  EXPECT_EQ(found_.size(), 3U);
}

TEST(LevelTest, HasANameForEachLevel) {
  EXPECT_STREQ(LevelName(Level::kFinding), "finding");
  EXPECT_STREQ(LevelName(Level::kWorthALook), "worth_a_look");
  EXPECT_STREQ(LevelName(static_cast<Level>(7)), "");
}

}  // namespace
}  // namespace smdebug::rules::rule_set_test
