#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "rules/evaluating.h"

namespace smdebug::rules::exploding_tensor_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char *kRule = "ExplodingTensor";
constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

TEST(ExplodingTensorTest, MasksAreNoFaultInCalibrated) {
  FakeSource source;
  for (int64_t step = 0; step < 3; ++step) {
    source.Step(step)
        .Save("scores_output_0", {1, -INFINITY, 2})
        .Save("mask_input_0", {-INFINITY, 0});
  }
  EXPECT_THAT(Evaluate(kRule, {}, source, Profile::kCalibrated).Steps(), IsEmpty());
  EXPECT_THAT(Evaluate(kRule, {}, source).Steps(), ElementsAre(0, 1, 2));
  source.Step(3).Save("scores_output_0", {1, -INFINITY, 2}).Save("w", {NAN});
  EXPECT_THAT(Evaluate(kRule, {}, source, Profile::kCalibrated).Tensors(), ElementsAre("w"));
}

TEST(ExplodingTensorTest, TheFirstTensorThatIsBrokenIsNamed) {
  FakeSource source;
  source.Step(0).Save("a", {1, 2});
  source.Step(1).Save("a", {1, 2}).Save("b", {kInf, 0, kNan, -kInf}).Save("c", {kNan, kNan, kNan});
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  ASSERT_THAT(evaluated.Tensors(), ElementsAre("b"));
  EXPECT_THAT(evaluated.Steps(), ElementsAre(1));
  EXPECT_THAT(evaluated.Checks(), ElementsAre("nan"));
  EXPECT_EQ(evaluated.findings[0].value, 3);
  EXPECT_EQ(evaluated.findings[0].limit, 0);
  EXPECT_EQ(evaluated.findings[0].message,
            "1 of the 4 elements of 'b' are not a number, 2 are infinite");
}

TEST(ExplodingTensorTest, EmptyCellsOfTreesAreNoFault) {
  FakeSource source;
  source.Include("trees", "^trees/");
  source.Step(0).Save("trees/Split", {0.5, kNan}).Save("w", {1});
  EXPECT_THAT(Evaluate(kRule, {}, source).Steps(), IsEmpty());
  EXPECT_THAT(Evaluate(kRule, {{"tensor_regex", "^trees/"}}, source).Tensors(),
              ElementsAre("trees/Split"));
}

TEST(ExplodingTensorTest, GradientsMayOverflowIfTheStepIsSkipped) {
  FakeSource source;
  source.Step(0).Save("w", {1}).Save("gradient/w", {kInf});
  source.Step(1).Save("w", {1}).Save("gradient/w", {kNan});
  source.Step(2).Save("w", {1}).Save("gradient/w", {1});
  source.Step(3).Save("w", {2}).Save("gradient/w", {kNan});
  EXPECT_THAT(Evaluate(kRule, {}, source, Profile::kCalibrated).findings, IsEmpty());
  EXPECT_THAT(Evaluate(kRule, {}, source).Steps(), ElementsAre(0, 1, 3));
  source.Step(4).Save("w", {kNan}).Save("gradient/w", {kNan});
  const Evaluated evaluated = Evaluate(kRule, {}, source, Profile::kCalibrated);
  ASSERT_THAT(evaluated.Steps(), ElementsAre(4));
  EXPECT_EQ(evaluated.findings[0].tensor, "gradient/w");
  EXPECT_THAT(evaluated.findings[0].message, HasSubstr(", from step 3 on; 'w' followed at step 4"));
}

TEST(ExplodingTensorTest, EachWorkerHasAFirstOne) {
  FakeSource source;
  source.Step(0).By("a").Save("x", {1}).Save("y", {kInf});
  source.By("b").Save("x", {kNan}).Save("y", {kNan});
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  EXPECT_THAT(evaluated.Tensors(), ElementsAre("y", "x"));
  EXPECT_THAT(evaluated.Checks(), ElementsAre("inf", "nan"));
  EXPECT_EQ(evaluated.findings[0].worker, "a");
  EXPECT_EQ(evaluated.findings[1].worker, "b");
}

TEST(ExplodingTensorTest, InfinityMayBeNoFault) {
  FakeSource source;
  source.Step(0).Save("x", {kInf, 1});
  source.Step(1).Save("x", {kInf, kNan});
  EXPECT_THAT(Evaluate(kRule, {{"only_nan", "True"}}, source).Steps(), ElementsAre(1));
  EXPECT_THAT(Evaluate(kRule, {{"only_nan", "false"}}, source).Steps(), ElementsAre(0, 1));
}

TEST(ExplodingTensorTest, LooksAtWhatIsNamedIfAnythingIs) {
  FakeSource source;
  source.Step(0).Save("weight", {kNan}).Save("loss", {kNan}).Save("other", {kNan});
  EXPECT_THAT(Evaluate(kRule, {}, source).Tensors(), ElementsAre("weight"));
  EXPECT_THAT(Evaluate(kRule, {{"collection_names", "losses"}}, source).Tensors(),
              ElementsAre("loss"));
  EXPECT_THAT(Evaluate(kRule, {{"tensor_regex", "^oth,^zzz"}}, source).Tensors(),
              ElementsAre("other"));
  EXPECT_EQ(Evaluate(kRule, {{"tensor_regex", "zzz"}}, source).result.status,
            RuleStatus::kNoTensors);
}

TEST(ExplodingTensorTest, HugeNumbersAreNoFaultUnlessLimited) {
  FakeSource source;
  source.Step(0).Save("loss", {1e30});
  source.Step(1).Save("loss", {-5}).Save("x", {7});
  source.Step(2).Save("loss", {4});
  EXPECT_THAT(Evaluate(kRule, {}, source).findings, IsEmpty());
  const Evaluated evaluated = Evaluate(kRule, {{"max_abs", "5"}}, source);
  EXPECT_THAT(evaluated.Tensors(), ElementsAre("loss", "x"));
  EXPECT_THAT(evaluated.Checks(), ElementsAre("large", "large"));
  EXPECT_EQ(evaluated.findings[1].value, 7);
  EXPECT_EQ(evaluated.findings[1].limit, 5);
}

TEST(ExplodingTensorTest, ANormFarAboveItsMedianIsGrowth) {
  FakeSource source;
  for (int step = 0; step < 6; ++step) source.Step(step).Save("g", {3, 4}).Save("n", {1});
  source.Step(6).Save("g", {300, 400.1}).Save("n", {100});
  source.Step(7).Save("g", {3, 4}).Save("n", {100.1});
  const Evaluated evaluated = Evaluate(kRule, {}, source, Profile::kCalibrated);
  EXPECT_THAT(evaluated.Tensors(), ElementsAre("g", "n"));
  EXPECT_THAT(evaluated.Checks(), ElementsAre("growth", "growth"));
  EXPECT_NEAR(evaluated.findings[0].value, 100, 0.1);
  EXPECT_EQ(evaluated.findings[0].limit, 100);
  EXPECT_THAT(Evaluate(kRule, {}, source).findings, IsEmpty()) << "the service knows no growth";
}

// A model returns its loss first in training, and scores in evaluation.
TEST(ExplodingTensorTest, ATensorOfMoreElementsHasNotGrown) {
  FakeSource source;
  for (int step = 0; step < 10; ++step) source.Step(step).Save("output_0", {0.4});
  source.Step(10).Save("output_0", std::vector<double>(20'000, 3));
  EXPECT_THAT(Evaluate(kRule, {}, source, Profile::kCalibrated).findings, IsEmpty());
  source.Step(11).Save("output_0", std::vector<double>(20'000, 50));
  const Evaluated evaluated = Evaluate(kRule, {}, source, Profile::kCalibrated);
  ASSERT_THAT(evaluated.Checks(), ElementsAre("growth"));
  EXPECT_NEAR(evaluated.findings[0].value, 125, 1e-9);
  EXPECT_THAT(evaluated.findings[0].message, HasSubstr("7.07e+03, 125 times its usual 56.6"));
}

TEST(ExplodingTensorTest, ASingleLargeGradientIsNoGrowth) {
  FakeSource source;
  for (int step = 0; step < 30; ++step) source.Step(step).Save("gradient/w", {1e-3});
  for (int step = 30; step < 32; ++step) source.Step(step).Save("gradient/w", {5});
  source.Step(32).Save("gradient/w", {1e-3});
  EXPECT_THAT(Evaluate(kRule, {}, source, Profile::kCalibrated).findings, IsEmpty());
  for (int step = 33; step < 36; ++step) source.Step(step).Save("gradient/w", {50});
  EXPECT_THAT(Evaluate(kRule, {}, source, Profile::kCalibrated).Steps(), ElementsAre(35));
}

// Adagrad sums squares: one gradient that is 30 times as large stays in the sum.
TEST(ExplodingTensorTest, SquaresOfGradientsGrowByTheSquare) {
  FakeSource source;
  const std::string sum = "optimizer_state/w/sum";
  const std::string mean = "optimizer_state/w/exp_avg";
  for (int step = 0; step < 10; ++step) source.Step(step).Save(sum, {1, 2}).Save(mean, {-1, 2});
  source.Step(10).Save(sum, {900, 1800}).Save(mean, {-1, 2});
  EXPECT_THAT(Evaluate(kRule, {}, source, Profile::kCalibrated).findings, IsEmpty());
  source.Step(11).Save(sum, {900, 1800}).Save(mean, {-101, 202});
  EXPECT_THAT(Evaluate(kRule, {}, source, Profile::kCalibrated).Tensors(), ElementsAre(mean));
  source.Step(12).Save(sum, {10'001, 20'002}).Save(mean, {-1, 2});
  EXPECT_THAT(Evaluate(kRule, {}, source, Profile::kCalibrated).Tensors(), ElementsAre(mean, sum));
}

TEST(ExplodingTensorTest, WhatHasConvergedMayMeetAHardBatch) {
  FakeSource source;
  for (int step = 0; step < 5; ++step) source.Step(step).Save("loss", {8}).Save("small", {1e-9});
  for (int step = 5; step < 40; ++step) {
    source.Step(step).Save("loss", {1e-3}).Save("small", {1e-9});
  }
  source.Step(40).Save("loss", {79}).Save("small", {0.9});
  EXPECT_THAT(Evaluate(kRule, {}, source, Profile::kCalibrated).findings, IsEmpty());
  source.Step(41).Save("loss", {81}).Save("small", {0.9});
  EXPECT_THAT(Evaluate(kRule, {}, source, Profile::kCalibrated).Tensors(), ElementsAre("loss"));
}

TEST(ExplodingTensorTest, GrowthNeedsAPastThatIsNotZero) {
  FakeSource source;
  source.Step(0).Save("young", {1}).Save("zero", {0});
  for (int step = 1; step < 5; ++step) source.Step(step).Save("zero", {0});
  source.Step(5).Save("young", {1e9}).Save("zero", {1});
  EXPECT_THAT(Evaluate(kRule, {}, source, Profile::kCalibrated).findings, IsEmpty());
}

TEST(ExplodingTensorTest, OfAnyTypeAndShape) {
  FakeSource source;
  source.Step(0)
      .Save("text", tensor::Value())
      .Save("int", tensor::TensorOfNumbers(tensor::DType::kInt32, {1, 2}))
      .Save("bool", tensor::TensorOfNumbers(tensor::DType::kBool, {1, 0}))
      .Save("half", tensor::TensorOfNumbers(tensor::DType::kFloat16, {kInf}))
      .Save("scalar", tensor::TensorOf(tensor::DType::kFloat64, std::vector<double>{1}, {}));
  EXPECT_THAT(Evaluate(kRule, {}, source).Tensors(), ElementsAre("half"));
}

TEST(ExplodingTensorTest, NoElementsAreNotEnough) {
  FakeSource source;
  source.Step(0).Save("x", std::vector<double>());
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  EXPECT_EQ(evaluated.result.status, RuleStatus::kNotEnoughData);
  EXPECT_THAT(evaluated.result.message, HasSubstr("tensors with elements"));
}

TEST(ExplodingTensorTest, SavedReductionsTellToo) {
  using tensor::ReductionKind;
  FakeSource source;
  source.Step(0).SaveReductions("x", {{{ReductionKind::kMax}, 1}, {{ReductionKind::kL2}, kInf}});
  source.Step(1).SaveReductions("x", {{{ReductionKind::kMean, true}, kNan}});
  source.Step(2).SaveReductions("x", {{{ReductionKind::kMax}, kInf}});
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  EXPECT_THAT(evaluated.Steps(), ElementsAre(1, 2)) << "a norm may overflow by itself";
  EXPECT_THAT(evaluated.Checks(), ElementsAre("nan", "inf"));
  EXPECT_EQ(evaluated.findings[0].message, "the abs_mean of 'x' is nan");
  EXPECT_THAT(Evaluate(kRule, {{"only_nan", "true"}}, source).Steps(), ElementsAre(1));
}

TEST(ExplodingTensorTest, RefusesWhatMakesNoSense) {
  EXPECT_THAT(Refusal(kRule, {{"only_nan", "maybe"}}), HasSubstr("only_nan"));
  EXPECT_THAT(Refusal(kRule, {{"max_abs", "-1"}}), HasSubstr("max_abs"));
  EXPECT_THAT(Refusal(kRule, {{"growth", "1"}}), HasSubstr("growth"));
  EXPECT_THAT(Refusal(kRule, {{"tensor_regex", "("}}), HasSubstr("tensor_regex"));
  EXPECT_THAT(Refusal(kRule, {{"threshold", "1"}}), HasSubstr("no parameter 'threshold'"));
}

}  // namespace
}  // namespace smdebug::rules::exploding_tensor_test
