#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "rules/evaluating.h"

namespace smdebug::rules::first_non_finite_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char *kRule = "FirstNonFinite";

TEST(FirstNonFiniteTest, TheFirstInTheOrderOfTheRecordIsNamed) {
  FakeSource source;
  source.Step(0).Save("w", {1}).Save("out", {1}).Save("loss", {1});
  source.Step(1).Save("w", {1}).Save("out", {NAN, INFINITY, 1}).Save("loss", {NAN});
  source.Step(2).Save("w", {NAN}).Save("out", {NAN}).Save("loss", {NAN});
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  ASSERT_THAT(evaluated.Steps(), ElementsAre(1));
  EXPECT_EQ(evaluated.findings[0].tensor, "out");
  EXPECT_EQ(evaluated.findings[0].check, "nan");
  EXPECT_EQ(evaluated.findings[0].value, 2);
  EXPECT_EQ(evaluated.findings[0].limit, 0);
  EXPECT_EQ(evaluated.findings[0].message,
            "'out' is the first tensor that is not finite, with 1 NaN and 1 infinite of 3 "
            "elements; its norm was 1 at step 0 and did not grow");
}

// Estimates take every 16th element or so.
TEST(FirstNonFiniteTest, FewElementsOfAnInputAreTheCauseThatNoEstimateHas) {
  std::vector<double> input(65'536, 1);
  input[12'345] = NAN;
  FakeSource source;
  source.Step(0).Save("Net_output_0", {1, NAN}).Save("Net_input_0", input);
  EXPECT_THAT(Evaluate(kRule, {}, source, Profile::kCalibrated).Tensors(),
              ElementsAre("Net_input_0"));
}

TEST(FirstNonFiniteTest, TheInputOfAModelComesBeforeThoseOfItsLayers) {
  const auto with = [](double of_input) {
    FakeSource source;
    source.Step(0).Save("conv_input_0", {1}).Save("Net_input_0", {1});
    source.Step(1).Save("conv_input_0", {NAN}).Save("conv_output_0", {NAN});
    source.Save("Net_input_0", {of_input});
    source.Step(2).Save("conv_input_0", {NAN}).Save("Net_input_0", {NAN});
    return Evaluate(kRule, {}, source);
  };
  EXPECT_THAT(with(NAN).Tensors(), ElementsAre("Net_input_0"));
  EXPECT_THAT(with(NAN).Steps(), ElementsAre(1));
  EXPECT_THAT(with(1).Tensors(), ElementsAre("conv_input_0"));
}

TEST(FirstNonFiniteTest, MasksAreNoFault) {
  const std::vector<double> masked = {0, -INFINITY, 0.5};
  FakeSource source;
  for (int64_t step = 0; step < 3; ++step) {
    source.Step(step)
        .Save("attention_input_mask_0", {0, -INFINITY})
        .Save("softmax_input_0", masked);
  }
  EXPECT_THAT(Evaluate(kRule, {}, source).Steps(), IsEmpty());
  // What breaks later is named, and not a mask of that step.
  source.Step(3).Save("softmax_input_0", masked).Save("head_output_0", {1, NAN});
  EXPECT_THAT(Evaluate(kRule, {}, source).Tensors(), ElementsAre("head_output_0"));
}

TEST(FirstNonFiniteTest, InfinitiesThatSpreadAreNoMask) {
  const std::vector<double> masked = {0, -INFINITY, 0.5};
  FakeSource at_once;
  at_once.Step(0).Save("log_output_0", masked).Save("loss", {INFINITY});
  EXPECT_THAT(Evaluate(kRule, {}, at_once).Tensors(), ElementsAre("log_output_0"));
  FakeSource later;
  later.Step(0).Save("log_output_0", {0, 1});
  later.Step(1).Save("log_output_0", masked);
  EXPECT_THAT(Evaluate(kRule, {}, later).Steps(), ElementsAre(1));
  for (const double number : std::vector<double>{INFINITY, NAN}) {
    FakeSource other;
    other.Step(0).Save("softmax_input_0", {0, -INFINITY, number});
    EXPECT_THAT(Evaluate(kRule, {}, other).Steps(), ElementsAre(0));
  }
  FakeSource weight;
  weight.Step(0).Save("w", masked);
  EXPECT_THAT(Evaluate(kRule, {}, weight).Steps(), ElementsAre(0));
}

TEST(FirstNonFiniteTest, EmptyCellsOfTreesAreNoFault) {
  FakeSource source;
  source.Include("trees", "^trees/");
  source.Step(0).Save("trees/Split", {0.5, NAN}).Save("w", {1});
  EXPECT_THAT(Evaluate(kRule, {}, source).Steps(), IsEmpty());
  EXPECT_THAT(Evaluate(kRule, {{"tensor_regex", "^trees/"}}, source).Tensors(),
              ElementsAre("trees/Split"));
}

TEST(FirstNonFiniteTest, SaysWhenItsNormBeganToGrow) {
  FakeSource source;
  int64_t step = 0;
  for (const double norm : {1., 3., 2., 8., 1e5, 1e30}) source.Step(10 * step++).Save("w", {norm});
  source.Step(60).Save("w", {INFINITY});
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  EXPECT_THAT(evaluated.Checks(), ElementsAre("inf"));
  EXPECT_THAT(evaluated.findings[0].message,
              HasSubstr("its norm was 1, 3, 2, 8, 1e+05, 1e+30 at steps 0, 10, 20, 30, 40, 50 and "
                        "began to grow at step 20"));
}

TEST(FirstNonFiniteTest, TheRingHoldsTheLastSteps) {
  FakeSource source;
  for (int64_t step = 0; step < 9; ++step) {
    source.Step(step).Save("w", {std::pow(2, static_cast<double>(step))});
  }
  source.Step(9).Save("w", {NAN});
  EXPECT_THAT(Evaluate(kRule, {{"window", "3"}}, source).findings[0].message,
              HasSubstr("its norm was 64, 128, 256 at steps 6, 7, 8 and began to grow at step 6"));
}

TEST(FirstNonFiniteTest, OneWithoutAPastSaysSo) {
  FakeSource source;
  source.Step(0).Save("w", {NAN});
  EXPECT_THAT(Evaluate(kRule, {}, source).findings[0].message, HasSubstr("no value at an earlier"));
}

TEST(FirstNonFiniteTest, LargeNumbersAreFinite) {
  FakeSource source;
  source.Step(0).Save("w", {1e300, -1e300}).SaveTexts("t", {"nan"});
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  EXPECT_THAT(evaluated.findings, IsEmpty());
  EXPECT_EQ(evaluated.result.status, RuleStatus::kPassed);
}

TEST(FirstNonFiniteTest, SavedReductionsAreEnough) {
  FakeSource source;
  source.Step(0).SaveReductions("w", {{{tensor::ReductionKind::kMean, false}, 1}});
  source.Step(1).SaveReductions("w", {{{tensor::ReductionKind::kMean, false}, NAN}});
  EXPECT_THAT(Evaluate(kRule, {}, source).Steps(), ElementsAre(1));
}

TEST(FirstNonFiniteTest, TargetsComeBeforeTheLoss) {
  FakeSource source;
  source.Step(0).Save("loss_output_0", {1}).Save("loss/MSELoss_input_1", {1});
  source.Step(1).Save("loss_output_0", {NAN}).Save("loss/MSELoss_input_1", {NAN});
  EXPECT_THAT(Evaluate(kRule, {}, source).Tensors(), ElementsAre("loss/MSELoss_input_1"));
}

TEST(FirstNonFiniteTest, EachWorkerHasAFirst) {
  FakeSource source;
  source.Step(0).By("a").Save("w", {1}).By("b").Save("w", {NAN});
  source.Step(1).By("a").Save("w", {NAN}).By("b").Save("w", {NAN});
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  ASSERT_THAT(evaluated.Steps(), ElementsAre(0, 1));
  EXPECT_EQ(evaluated.findings[0].worker, "b");
  EXPECT_EQ(evaluated.findings[1].worker, "a");
}

TEST(FirstNonFiniteTest, ScaledGradientsMayOverflow) {
  FakeSource source;
  source.Step(0).Save("w", {1}).Save("gradient/w", {INFINITY});
  source.Step(1).Save("w", {1}).Save("gradient/w", {1});
  source.Step(2).Save("w", {1}).Save("gradient/w", {NAN});
  source.Step(3).Save("w", {NAN}).Save("gradient/w", {NAN});
  EXPECT_THAT(Evaluate(kRule, {}, source).Steps(), ElementsAre(0));
  const Evaluated evaluated = Evaluate(kRule, {{"loss_scaling", "True"}}, source);
  ASSERT_THAT(evaluated.Steps(), ElementsAre(3));
  EXPECT_EQ(evaluated.findings[0].tensor, "gradient/w");
  EXPECT_THAT(evaluated.findings[0].message, HasSubstr("'w' followed at step 3"));
}

TEST(FirstNonFiniteTest, GradientsThatOverflowForLongAreNoLossScaling) {
  FakeSource source;
  for (int64_t step = 0; step < 34; ++step) {
    source.Step(2 * step, Mode::kTrain, step);
    source.Save("w", {1}).Save("gradient/w", {step == 0 ? 1 : INFINITY});
    source.Step(2 * step + 1, Mode::kEval, step).Save("w", {1});
  }
  const Evaluated evaluated = Evaluate(kRule, {}, source, Profile::kCalibrated);
  ASSERT_THAT(evaluated.Steps(), ElementsAre(64));
  EXPECT_EQ(evaluated.findings[0].tensor, "gradient/w");
  EXPECT_THAT(evaluated.findings[0].message, HasSubstr("for 32 steps in a row"));
}

TEST(FirstNonFiniteTest, TensorsCanBeNamed) {
  FakeSource source;
  source.Step(0).Save("mask", {-INFINITY}).Save("loss", {1});
  EXPECT_THAT(Evaluate(kRule, {{"tensor_regex", "^(?!mask)"}}, source).findings, IsEmpty());
  EXPECT_EQ(Evaluate(kRule, {{"collection_names", "weights"}}, source).result.status,
            RuleStatus::kNoTensors);
}

TEST(FirstNonFiniteTest, NothingToLookAtIsNotEnough) {
  FakeSource source;
  source.Step(0).SaveTexts("t", {"a"});
  EXPECT_EQ(Evaluate(kRule, {}, source).result.status, RuleStatus::kNotEnoughData);
}

TEST(FirstNonFiniteTest, ItsParametersAreChecked) {
  EXPECT_THAT(Refusal(kRule, {{"window", "0"}}), HasSubstr("window"));
  EXPECT_THAT(Refusal(kRule, {{"loss_scaling", "x"}}), HasSubstr("loss_scaling"));
  EXPECT_THAT(Refusal(kRule, {{"tensor_regex", "("}}), HasSubstr("tensor_regex"));
}

}  // namespace
}  // namespace smdebug::rules::first_non_finite_test
