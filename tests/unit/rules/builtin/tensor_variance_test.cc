#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "rules/evaluating.h"

namespace smdebug::rules::tensor_variance_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char *kRule = "TensorVariance";

Parameters::Given Limits(const std::string &least, const std::string &most) {
  return {{"tensor_regex", ".*"}, {"min_threshold", least}, {"max_threshold", most}};
}

TEST(TensorVarianceTest, TheWorstOfEachSideIsNamed) {
  FakeSource source;
  source.Step(0)
      .Save("wide", {0, 10})
      .Save("wider", {0, 20})
      .Save("fine", {0, 2})
      .Save("narrow", {0, 0.1})
      .Save("flat", {1, 1});
  const Evaluated evaluated = Evaluate(kRule, Limits("0.5", "10"), source);
  ASSERT_THAT(evaluated.Tensors(), ElementsAre("wider", "flat"));
  EXPECT_THAT(evaluated.Checks(), ElementsAre("above", "below"));
  EXPECT_EQ(evaluated.findings[0].value, 100);
  EXPECT_EQ(evaluated.findings[0].limit, 10);
  EXPECT_EQ(evaluated.findings[1].value, 0);
  EXPECT_EQ(evaluated.findings[0].message, "the variance of 'wider' is 100, above the limit of 10");
}

TEST(TensorVarianceTest, AThresholdItselfIsFineAndASideMayBeOff) {
  FakeSource source;
  source.Step(0).Save("x", {0, 2});
  source.Step(1).Save("x", {0, 4});
  EXPECT_THAT(Evaluate(kRule, Limits("1", "4"), source).findings, IsEmpty());
  EXPECT_THAT(Evaluate(kRule, Limits("None", "1"), source).Steps(), ElementsAre(1));
  EXPECT_THAT(Evaluate(kRule, Limits("2", "None"), source).Steps(), ElementsAre(0));
}

TEST(TensorVarianceTest, TheCountMayBeTakenOneOff) {
  FakeSource source;
  source.Step(0).Save("x", {0, 2});
  Parameters::Given parameters = Limits("", "1");
  EXPECT_THAT(Evaluate(kRule, parameters, source).findings, IsEmpty());
  parameters["ddof"] = "1";
  const Evaluated evaluated = Evaluate(kRule, parameters, source);
  ASSERT_THAT(evaluated.Steps(), ElementsAre(0));
  EXPECT_EQ(evaluated.findings[0].value, 2);
}

TEST(TensorVarianceTest, SingleNumbersAndNoneArePassedOver) {
  FakeSource source;
  source.Step(0)
      .Save("scalar", tensor::TensorOf(tensor::DType::kFloat64, std::vector<double>{1}, {}))
      .Save("one", {1})
      .Save("none", std::vector<double>());
  const Evaluated evaluated = Evaluate(kRule, Limits("1", ""), source);
  EXPECT_THAT(evaluated.findings, IsEmpty());
  EXPECT_EQ(evaluated.result.status, RuleStatus::kNotEnoughData);
}

TEST(TensorVarianceTest, NotANumberIsNeitherAboveNorBelow) {
  FakeSource source;
  source.Step(0)
      .Save("x", {std::nan(""), 1})
      .Save("ints", tensor::TensorOfNumbers(tensor::DType::kInt16, {0, 2}));
  EXPECT_THAT(Evaluate(kRule, Limits("0.5", "2"), source).findings, IsEmpty());
}

TEST(TensorVarianceTest, ASavedVarianceOrDeviationIsEnough) {
  using tensor::ReductionKind;
  FakeSource source;
  source.Step(0).SaveReductions("x", {{{ReductionKind::kVariance}, 5}});
  source.Step(1).SaveReductions("x", {{{ReductionKind::kStd}, 3}});
  const Evaluated evaluated = Evaluate(kRule, Limits("", "6"), source);
  ASSERT_THAT(evaluated.Steps(), ElementsAre(1));
  EXPECT_EQ(evaluated.findings[0].value, 9);
}

TEST(TensorVarianceTest, CalibratedFindsMatricesThatStayConstant) {
  FakeSource source;
  for (int step = 0; step < 6; ++step) {
    source.Step(step)
        .Save("norm/weight", {1, 1})
        .Save("gate/weight", step == 0 ? std::vector<double>{0, 0} : std::vector<double>{0, 1},
              {1, 2})
        .Save("flat/weight", {1, 1}, {1, 2});
  }
  const Evaluated evaluated = Evaluate(kRule, {}, source, Profile::kCalibrated);
  EXPECT_THAT(evaluated.Steps(), ElementsAre(4, 5));
  EXPECT_THAT(evaluated.Tensors(), ElementsAre("flat/weight", "flat/weight"));
}

TEST(TensorVarianceTest, WantsLimitsAndTensors) {
  EXPECT_THAT(Refusal(kRule, {{"tensor_regex", "x"}}), HasSubstr("max_threshold"));
  EXPECT_THAT(Refusal(kRule, {{"max_threshold", "1"}}), HasSubstr("collection_names"));
  EXPECT_THAT(Refusal(kRule, Limits("x", "")), HasSubstr("min_threshold"));
  Parameters::Given parameters = Limits("", "1");
  parameters["ddof"] = "2";
  EXPECT_THAT(Refusal(kRule, parameters), HasSubstr("ddof"));
}

TEST(TensorVarianceTest, WithoutSuchATensorNothingIsJudged) {
  FakeSource source;
  source.Step(0).Save("x", {1, 2});
  EXPECT_EQ(Evaluate(kRule, {{"collection_names", "weights"}, {"max_threshold", "1"}}, source)
                .result.status,
            RuleStatus::kNoTensors);
}

TEST(TensorVarianceTest, UnitsThatBeginAlikeAreFound) {
  const auto found = [](const std::vector<std::vector<double>> &tensors,
                        std::vector<int64_t> shape = {2, 2}) {
    FakeSource source;
    source.Include("weights", "weight");
    source.Step(0, Mode::kTrain, 0);
    for (size_t i = 0; i < tensors.size(); ++i) {
      source.Save("weight" + std::to_string(i), tensors[i], shape);
    }
    source.Step(1, Mode::kTrain, 1).Save("weight0", {1, 2, 3, 4}, {2, 2});
    return Evaluate(kRule, {}, source, Profile::kCalibrated);
  };
  const std::vector<double> equal(4, 0.5);
  const std::vector<double> usual = {1, 2, 3, 4};
  const Evaluated evaluated = found({equal, equal, usual});
  ASSERT_THAT(evaluated.Tensors(), ElementsAre("weight0"));
  EXPECT_THAT(evaluated.Steps(), ElementsAre(0));
  EXPECT_EQ(evaluated.findings[0].message,
            "all elements of 'weight0' begin as 0.5: the units of such layers compute the same");
  EXPECT_THAT(found({equal, usual, usual}).findings, IsEmpty());
  EXPECT_THAT(found({equal, equal, usual, usual}).findings, IsEmpty());
  EXPECT_THAT(found({std::vector<double>(4, 0), std::vector<double>(4, 0)}).findings, IsEmpty());
  EXPECT_THAT(found({equal, equal}, {4, 1}).findings, IsEmpty()) << "scales of channels";
}

}  // namespace
}  // namespace smdebug::rules::tensor_variance_test
