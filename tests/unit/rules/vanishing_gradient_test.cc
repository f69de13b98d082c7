#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "rules/judging.h"

namespace smdebug::rules {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char *kRule = "VanishingGradient";

TEST(VanishingGradientTest, TheSmallestGradientBelowTheThresholdIsNamed) {
  FakeSource source;
  source.Step(0).Save("gradient/a", {1e-3}).Save("gradient/b", {1e-8}).Save("gradient/c", {-1e-9});
  const Judged judged = Judge(kRule, {}, source);
  ASSERT_THAT(judged.Tensors(), ElementsAre("gradient/c"));
  EXPECT_EQ(judged.findings[0].value, 1e-9);
  EXPECT_EQ(judged.findings[0].limit, 1e-7);
  EXPECT_EQ(judged.findings[0].worker, "worker_0");
  EXPECT_EQ(judged.findings[0].message,
            "the gradient 'gradient/c' has a mean absolute value of 1e-09, below the limit of "
            "1e-07");
  EXPECT_EQ(judged.outcome.status, VerdictStatus::kFinding);
}

TEST(VanishingGradientTest, IsNotFoundAtTheThresholdOrAbove) {
  FakeSource source;
  source.Step(0).Save("gradient/a", {1e-7}).Save("gradient/b", {2, -2});
  EXPECT_THAT(Judge(kRule, {}, source).findings, IsEmpty());
}

TEST(VanishingGradientTest, TheThresholdIsTheUsers) {
  FakeSource source;
  source.Step(0).Save("gradient/a", {0.5});
  EXPECT_THAT(Judge(kRule, {{"threshold", "0.6"}}, source).Steps(), ElementsAre(0));
  for (const char *bad : {"0", "-1", "nan", "x", ""}) {
    EXPECT_THAT(Refusal(kRule, {{"threshold", bad}}), HasSubstr("threshold")) << bad;
  }
}

TEST(VanishingGradientTest, ZeroIsBelowAndNotANumberIsNot) {
  FakeSource source;
  source.Step(0).Save("gradient/a", {0});
  source.Step(1).Save("gradient/a", {std::nan("")});
  EXPECT_THAT(Judge(kRule, {}, source).Steps(), ElementsAre(0));
}

TEST(VanishingGradientTest, ASavedReductionIsEnough) {
  FakeSource source;
  source.Step(0).SaveReductions("gradient/a", {{{tensor::ReductionKind::kMean, true}, 1e-9}});
  EXPECT_THAT(Judge(kRule, {}, source).Steps(), ElementsAre(0));
}

TEST(VanishingGradientTest, OtherReductionsAreNotEnough) {
  FakeSource source;
  source.Step(0).SaveReductions("gradient/a", {{{tensor::ReductionKind::kMax, false}, 1e-9}});
  EXPECT_EQ(Judge(kRule, {}, source).outcome.status, VerdictStatus::kNotEnoughData);
}

TEST(VanishingGradientTest, WithoutGradientsNothingIsJudged) {
  FakeSource source;
  source.Step(0).Save("weight", {1});
  EXPECT_EQ(Judge(kRule, {}, source).outcome.status, VerdictStatus::kNoTensor);
}

}  // namespace
}  // namespace smdebug::rules
