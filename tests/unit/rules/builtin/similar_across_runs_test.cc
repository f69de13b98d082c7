#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/evaluating.h"

namespace smdebug::rules::similar_across_runs_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char *kRule = "SimilarAcrossRuns";

class SimilarAcrossRunsTest : public testing::Test {
 protected:
  Evaluated Of(Parameters::Given parameters = {}) {
    parameters["other_trials"] = "/other";
    const RuleFactory make = *BuiltinRule(kRule, parameters, Profile::kAws);
    return EvaluateWith(
        [&] {
          std::unique_ptr<Rule> rule = make();
          rule->CompareWith(other_);
          return rule;
        },
        source_);
  }

  FakeSource source_;
  std::shared_ptr<FakeSource> other_ = std::make_shared<FakeSource>();
};

TEST_F(SimilarAcrossRunsTest, TheFirstTensorThatDiffersIsNamed) {
  source_.Step(0).Save("w", {1}).Save("loss", {1});
  source_.Step(5).Save("w", {1, 2, 3}).Save("loss", {2});
  other_->Step(0).Save("w", {1}).Save("loss", {1});
  other_->Step(5).Save("w", {1, 2, 4}).Save("loss", {3});
  const Evaluated evaluated = Of();
  ASSERT_THAT(evaluated.Steps(), ElementsAre(5));
  EXPECT_EQ(evaluated.findings[0].tensor, "w");
  EXPECT_EQ(evaluated.findings[0].check, "value");
  EXPECT_EQ(evaluated.findings[0].value, 1);
  EXPECT_THAT(evaluated.findings[0].message,
              HasSubstr("1 of 3 elements differ, most of all 3 and 4"));
}

TEST_F(SimilarAcrossRunsTest, EqualRunsAreSilent) {
  for (FakeSource *source : {&source_, other_.get()}) {
    source->Step(0).Save("w", {1}).Save("loss", {NAN}).SaveTexts("trees/ID", {"0-0"});
  }
  EXPECT_EQ(Of().result.status, RuleStatus::kPassed);
  EXPECT_EQ(Of({{"bitwise", "True"}}).result.status, RuleStatus::kPassed);
}

TEST_F(SimilarAcrossRunsTest, ToleratesLittleUnlessBitsAreAsked) {
  source_.Step(0).Save("w", {1.000001});
  other_->Step(0).Save("w", {1});
  EXPECT_THAT(Of().findings, IsEmpty());
  EXPECT_THAT(Of({{"rtol", "1e-7"}}).Steps(), ElementsAre(0));
  EXPECT_THAT(Of({{"rtol", "0"}, {"atol", "1e-5"}}).findings, IsEmpty());
  EXPECT_THAT(Of({{"bitwise", "True"}}).Steps(), ElementsAre(0));
}

TEST_F(SimilarAcrossRunsTest, ShapesTextsAndReductionsDifferToo) {
  const tensor::Reduction mean{tensor::ReductionKind::kMean, false};
  source_.Step(0).Save("w", {1, 2});
  source_.Step(1).SaveTexts("t", {"a"});
  source_.Step(2).SaveReductions("r", {{mean, 1}});
  source_.Step(3).Save("r", {1, 3});
  other_->Step(0).Save("w", {1, 2}, {1, 2});
  other_->Step(1).SaveTexts("t", {"b"});
  other_->Step(2).SaveReductions("r", {{mean, 2}});
  other_->Step(3).SaveReductions("r", {{mean, 2}});
  EXPECT_THAT(Of().Checks(), ElementsAre("shape", "texts", "mean"));
}

TEST_F(SimilarAcrossRunsTest, OnlyWhatBothHaveIsCompared) {
  source_.Step(0).Save("w", {1}).Save("only", {1});
  source_.Step(1).Save("w", {1});
  source_.Step(2).By("b").Save("w", {1});
  other_->Step(0).Save("w", {1});
  other_->Step(2).By("a").Save("w", {2});
  other_->Step(3).Save("w", {1});
  EXPECT_EQ(Of().result.status, RuleStatus::kPassed);
}

TEST_F(SimilarAcrossRunsTest, TensorsCanBeNamed) {
  source_.Step(0).Save("weight", {1}).Save("loss", {1});
  other_->Step(0).Save("weight", {2}).Save("loss", {2});
  EXPECT_THAT(Of({{"tensor_regex", "^l"}}).Tensors(), ElementsAre("loss"));
  EXPECT_THAT(Of({{"collection_names", "weights"}}).Tensors(), ElementsAre("weight"));
  EXPECT_EQ(Of({{"tensor_regex", "^x"}}).result.status, RuleStatus::kNoTensors);
}

TEST_F(SimilarAcrossRunsTest, NothingInCommonIsNotEnough) {
  source_.Step(0).Save("w", {1});
  EXPECT_EQ(Of().result.status, RuleStatus::kNotEnoughData);
  other_->Step(0).Save("w", {1});
  other_->FailVisitAt(0, {Code::kCorruptData, "a flipped bit"});
  EXPECT_THAT(Of().result.message, HasSubstr("a flipped bit"));
  EXPECT_EQ(other_->holds, 0);
}

TEST(SimilarAcrossRuns, NeedsAnotherTrial) {
  EXPECT_THAT(Refusal(kRule, {}), HasSubstr("other_trials is missing"));
}

TEST(SimilarAcrossRuns, SaysWhichTrialItCompares) {
  const auto rule = (*BuiltinRule(kRule, {{"other_trials", "/a/b"}}, Profile::kAws))();
  EXPECT_THAT(rule->OtherJobs(), ElementsAre("/a/b"));
  EXPECT_THAT(Refusal(kRule, {{"other_trials", "/a,/b"}}), HasSubstr("compares with one"));
  EXPECT_THAT(Refusal(kRule, {{"rtol", "-1"}}), HasSubstr("rtol"));
  EXPECT_THAT(Refusal(kRule, {{"bitwise", "x"}}), HasSubstr("bitwise"));
}

}  // namespace
}  // namespace smdebug::rules::similar_across_runs_test
