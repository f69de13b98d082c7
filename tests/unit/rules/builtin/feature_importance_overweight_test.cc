#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "rules/evaluating.h"

namespace smdebug::rules::feature_importance_overweight_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char *kRule = "FeatureImportanceOverweight";

void Tell(FakeSource &source, const std::vector<double> &weights,
          const std::string &kind = "weight") {
  int feature = 0;
  for (const double weight : weights) {
    source.Save(StrCat("feature_importance/", kind, "/f", feature++), {weight});
  }
}

TEST(FeatureImportanceOverweightTest, ThreeThatHaveNearlyAll) {
  FakeSource source;
  source.Step(5);
  Tell(source, {.1, .3, .4, .125, .075});
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  ASSERT_THAT(evaluated.Steps(), ElementsAre(5));
  EXPECT_DOUBLE_EQ(evaluated.findings[0].value, .825);
  EXPECT_EQ(evaluated.findings[0].limit, .8);
  EXPECT_EQ(evaluated.findings[0].tensor, "feature_importance/weight/f2") << "the heaviest";
}

TEST(FeatureImportanceOverweightTest, AtTheThresholdItIsFine) {
  FakeSource source;
  source.Step(0);
  Tell(source, {1, 1, 1, 1});
  EXPECT_THAT(Evaluate(kRule, {{"threshold", "0.75"}}, source).findings, IsEmpty());
  EXPECT_THAT(Evaluate(kRule, {{"threshold", "0.74"}}, source).Steps(), ElementsAre(0));
  EXPECT_THAT(Evaluate(kRule, {{"nfeatures", "2"}, {"threshold", "0.5"}}, source).findings,
              IsEmpty());
}

TEST(FeatureImportanceOverweightTest, AsManyFeaturesAsLookedAtSayNothing) {
  FakeSource source;
  source.Step(0);
  Tell(source, {1, 1, 1});
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  EXPECT_EQ(evaluated.result.status, RuleStatus::kNotEnoughData);
  EXPECT_THAT(evaluated.result.message, HasSubstr("at least 4 features"));
  EXPECT_THAT(Evaluate(kRule, {{"nfeatures", "2"}, {"threshold", "0.5"}}, source).Steps(),
              ElementsAre(0));
}

TEST(FeatureImportanceOverweightTest, OtherKindsAreOthers) {
  FakeSource source;
  source.Step(0);
  Tell(source, {9, 9, 9, 1}, "gain");
  EXPECT_EQ(Evaluate(kRule, {}, source).result.status, RuleStatus::kNoTensors);
  Tell(source, {1, 1, 1, 1, 1}, "weight");
  EXPECT_THAT(Evaluate(kRule, {{"tensor_regex", "^feature_importance/"}}, source).Tensors(),
              ElementsAre("feature_importance/gain/f0"));
}

TEST(FeatureImportanceOverweightTest, OneTensorMayHoldAllFeatures) {
  FakeSource source;
  source.Step(0).Save("feature_importance/weight", {9, 9, 9, 1});
  EXPECT_THAT(Evaluate(kRule, {}, source).Steps(), ElementsAre(0));
}

TEST(FeatureImportanceOverweightTest, WithoutImportanceNothingIsJudged) {
  FakeSource source;
  source.Step(0);
  Tell(source, {0, 0, 0, 0});
  EXPECT_EQ(Evaluate(kRule, {}, source).result.status, RuleStatus::kNotEnoughData);
}

TEST(FeatureImportanceOverweightTest, WorkersHaveTheirOwn) {
  FakeSource source;
  source.Step(0).By("a");
  Tell(source, {1, 1, 1, 1, 1});
  source.By("b");
  Tell(source, {9, 9, 9, 1});
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  ASSERT_THAT(evaluated.Steps(), ElementsAre(0));
  EXPECT_EQ(evaluated.findings[0].worker, "b");
}

TEST(FeatureImportanceOverweightTest, CalibratedWantsMoreFeatures) {
  FakeSource source;
  source.Step(0);
  Tell(source, {9, 9, 9, 1, 1});
  EXPECT_EQ(Evaluate(kRule, {}, source, Profile::kCalibrated).result.status,
            RuleStatus::kNotEnoughData);
}

TEST(FeatureImportanceOverweightTest, ItsParametersAreChecked) {
  EXPECT_THAT(Refusal(kRule, {{"threshold", "2"}}), HasSubstr("threshold"));
  EXPECT_THAT(Refusal(kRule, {{"nfeatures", "0"}}), HasSubstr("nfeatures"));
  EXPECT_THAT(Refusal(kRule, {{"tensor_regex", ""}}), HasSubstr("tensor_regex"));
}

}  // namespace
}  // namespace smdebug::rules::feature_importance_overweight_test
