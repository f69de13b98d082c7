#include "rules/vanishing_gradient.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "rules/fake_source.h"

namespace smdebug::rules {
namespace {

using testing::HasSubstr;

class VanishingGradientTest : public testing::Test {
 protected:
  Verdict Judge(int64_t step = 0) {
    const auto verdict = rule_.Judge(source_, step);
    EXPECT_TRUE(verdict.IsOk()) << verdict.GetStatus().Message();
    return verdict.IsOk() ? *verdict : Verdict{};
  }

  FakeSource source_;
  VanishingGradient rule_;
};

TEST_F(VanishingGradientTest, IsFoundBelowTheThreshold) {
  source_.Save(0, "gradient/a", 1e-3);
  source_.Save(0, "gradient/b", 1e-8);
  source_.Save(0, "gradient/c", 1e-9);
  const Verdict verdict = Judge();
  EXPECT_TRUE(verdict.is_finding);
  EXPECT_FALSE(verdict.ends_rule);
  EXPECT_EQ(verdict.message,
            "the gradient 'gradient/c' has a mean absolute value of 1e-09, below the limit of "
            "1e-07");
}

TEST_F(VanishingGradientTest, IsNotFoundAtTheThresholdOrAbove) {
  source_.Save(0, "gradient/a", 1e-7);
  source_.Save(0, "gradient/b", 2);
  EXPECT_FALSE(Judge().is_finding);
}

TEST_F(VanishingGradientTest, TheThresholdIsTheUsers) {
  source_.Save(0, "gradient/a", 0.5);
  VanishingGradient strict(0.6);
  const auto verdict = strict.Judge(source_, 0);
  ASSERT_TRUE(verdict.IsOk());
  EXPECT_TRUE(verdict->is_finding);
  EXPECT_THAT(verdict->message, HasSubstr("0.5, below the limit of 0.6"));
}

TEST_F(VanishingGradientTest, ZeroIsBelowAndNotANumberIsNot) {
  source_.Save(0, "gradient/a", 0);
  EXPECT_TRUE(Judge(0).is_finding);
  source_.Save(1, "gradient/a", std::nan(""));
  EXPECT_FALSE(Judge(1).is_finding);
}

TEST_F(VanishingGradientTest, AStepWithoutGradientsIsNoFinding) {
  source_.Save(0);
  EXPECT_FALSE(Judge().is_finding);
}

TEST_F(VanishingGradientTest, AGradientWithoutAValueHidesNoOther) {
  source_.Save(0, "gradient/a", 1);
  source_.Save(0, "gradient/b", 1e-9);
  source_.Fail("gradient/a", {Code::kValueUnavailable, "only the shape"});
  EXPECT_THAT(Judge().message, HasSubstr("gradient/b"));
}

TEST_F(VanishingGradientTest, AFailureIsPassedOn) {
  source_.Save(0, "gradient/a", 1);
  source_.Fail("gradient/a", {Code::kCorruptData, "flipped"});
  EXPECT_EQ(rule_.Judge(source_, 0).GetStatus().GetCode(), Code::kCorruptData);
}

}  // namespace
}  // namespace smdebug::rules
