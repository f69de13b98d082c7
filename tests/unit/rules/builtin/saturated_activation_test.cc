#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "rules/evaluating.h"

namespace smdebug::rules::saturated_activation_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char *kRule = "SaturatedActivation";

FakeSource Inputs(const std::string &tensor, std::vector<double> numbers) {
  FakeSource source;
  const auto count = static_cast<int64_t>(numbers.size());
  source.Step(0).Save(tensor, numbers, {1, count});
  return source;
}

TEST(SaturatedActivationTest, InputsBeyondTheBoundsAreSaturated) {
  FakeSource source = Inputs("tanh_input_0", {9.5, -9.5, 1});
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  ASSERT_THAT(evaluated.Tensors(), ElementsAre("tanh_input_0"));
  EXPECT_THAT(evaluated.Checks(), ElementsAre("tanh"));
  EXPECT_NEAR(evaluated.findings[0].value, 200.0 / 3, 1e-9);
  EXPECT_EQ(evaluated.findings[0].limit, 50);
  EXPECT_EQ(evaluated.findings[0].message,
            "66.7 % of the neurons of 'tanh_input_0' are saturated: between -9.5 and 9.5 in less "
            "than 1 % of the samples");
}

TEST(SaturatedActivationTest, EachFunctionHasItsBounds) {
  const auto finds = [](const char *tensor, double input) {
    FakeSource source = Inputs(tensor, {input});
    return !Evaluate(kRule, {}, source).findings.empty();
  };
  EXPECT_TRUE(finds("tanh_input", 9.4999)) << "a bound itself is outside";
  EXPECT_FALSE(finds("tanh_input", 9.4998));
  EXPECT_TRUE(finds("tanh_input", -9.4999));
  EXPECT_FALSE(finds("sigmoid_input", -22.9));
  EXPECT_TRUE(finds("sigmoid_input", -23));
  EXPECT_TRUE(finds("Sigmoid_input", 17));
  EXPECT_FALSE(finds("sigmoid_input", 16.9));
}

TEST(SaturatedActivationTest, TheTwoFunctionsAreTwoChecks) {
  FakeSource source;
  source.Step(0)
      .Save("sigmoid_input", {50, 50}, {1, 2})
      .Save("tanh1_input", {50, 1, 50}, {1, 3})
      .Save("tanh2_input", {50, 50}, {1, 2});
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  EXPECT_THAT(evaluated.Tensors(), ElementsAre("sigmoid_input", "tanh2_input"));
  EXPECT_THAT(evaluated.Checks(), ElementsAre("sigmoid", "tanh"));
}

TEST(SaturatedActivationTest, HalfALayerMayBeSaturated) {
  FakeSource source = Inputs("tanh_input", {50, 1});
  EXPECT_THAT(Evaluate(kRule, {}, source).findings, IsEmpty());
  EXPECT_THAT(Evaluate(kRule, {{"threshold_layer", "49"}}, source).Steps(), ElementsAre(0));
}

TEST(SaturatedActivationTest, NotANumberIsNotSaturated) {
  FakeSource source = Inputs("tanh_input", {std::nan(""), 50});
  EXPECT_THAT(Evaluate(kRule, {}, source).findings, IsEmpty());
  FakeSource infinite = Inputs("tanh_input", {INFINITY, -INFINITY});
  EXPECT_THAT(Evaluate(kRule, {}, infinite).Steps(), ElementsAre(0));
}

TEST(SaturatedActivationTest, CalibratedBoundsFollowFromTheSlope) {
  const auto finds = [](const char *tensor, double input, const char *slope) {
    FakeSource source;
    source.Step(0).Save(tensor, std::vector<double>(100, input), {100, 1});
    Parameters::Given given;
    if (slope != nullptr) given["grad_threshold"] = slope;
    return !Evaluate(kRule, given, source, Profile::kCalibrated).findings.empty();
  };
  EXPECT_TRUE(finds("tanh_input", 4.147, nullptr));
  EXPECT_FALSE(finds("tanh_input", 4.146, nullptr));
  EXPECT_TRUE(finds("sigmoid_input", -6.906, nullptr));
  EXPECT_FALSE(finds("sigmoid_input", -6.905, nullptr));
  EXPECT_FALSE(finds("tanh_input", 4.147, "1e-7"));
  EXPECT_TRUE(finds("tanh_input", 8.753, "1e-7"));
  EXPECT_TRUE(finds("sigmoid_input", 16.119, "1e-7"));
  EXPECT_FALSE(finds("sigmoid_input", 16.117, "1e-7"));
}

TEST(SaturatedActivationTest, GivenBoundsGoBeforeTheSlope) {
  FakeSource source = Inputs("tanh_input", {3});
  EXPECT_THAT(Evaluate(kRule, {{"threshold_tanh_max", "2"}}, source).Steps(), ElementsAre(0));
  EXPECT_THAT(Evaluate(kRule, {{"threshold_tanh", "(-2, 2)"}}, source).Steps(), ElementsAre(0));
  EXPECT_THAT(Evaluate(kRule, {{"threshold_tanh", "-2,4"}}, source).findings, IsEmpty());
  EXPECT_THAT(
      Evaluate(kRule, {{"threshold_tanh_max", "2"}, {"grad_threshold", "1e-7"}}, source).Steps(),
      ElementsAre(0));
  FakeSource sigmoid = Inputs("sigmoid_input", {3});
  EXPECT_THAT(Evaluate(kRule, {{"threshold_sigmoid", "(-2,2)"}}, sigmoid).Steps(), ElementsAre(0));
}

TEST(SaturatedActivationTest, FrameworksNamesAreKnown) {
  for (const char *name : {"tanh1_input_0", "Tanh_input_0", "layers.tanh_input_0", "tanh/inputs",
                           "activation_tanh/inputs", "Sigmoid_input_0", "sigmoid_1/inputs"}) {
    FakeSource source = Inputs(name, {50});
    EXPECT_THAT(Evaluate(kRule, {}, source).Tensors(), ElementsAre(name));
  }
  for (const char *name : {"hardtanh_input_0", "LogSigmoid_input_0", "tanh_output_0",
                           "tanh_block.linear_input_0", "hard_sigmoid/inputs"}) {
    FakeSource source = Inputs(name, {50});
    EXPECT_EQ(Evaluate(kRule, {}, source).result.status, RuleStatus::kNoTensors) << name;
  }
}

TEST(SaturatedActivationTest, CollectionsAndExpressionsAreTheUsers) {
  FakeSource source = Inputs("act_input_0", {10});
  source.Include("mine", "act");
  EXPECT_EQ(Evaluate(kRule, {}, source).result.status, RuleStatus::kNoTensors);
  EXPECT_THAT(Evaluate(kRule, {{"collection_names", "mine"}}, source).Checks(),
              ElementsAre("tanh"));
  EXPECT_THAT(Evaluate(kRule, {{"tensor_regex", "^act"}}, source).Steps(), ElementsAre(0));
  source.Include("sigmoid_input", "act");
  EXPECT_THAT(Evaluate(kRule, {}, source).Steps(), ElementsAre(0));
}

TEST(SaturatedActivationTest, RefusesWhatMakesNoSense) {
  EXPECT_THAT(Refusal(kRule, {{"threshold_tanh_min", "10"}}), HasSubstr("threshold_tanh_min"));
  EXPECT_THAT(Refusal(kRule, {{"threshold_tanh", "1"}}), HasSubstr("two numbers"));
  EXPECT_THAT(Refusal(kRule, {{"threshold_sigmoid", "(2,1)"}}), HasSubstr("threshold_sigmoid"));
  EXPECT_THAT(Refusal(kRule, {{"threshold_sigmoid_max", "None"}}), HasSubstr("grad_threshold"));
  EXPECT_THAT(Refusal(kRule, {{"grad_threshold", "0.25"}}), HasSubstr("grad_threshold"));
  EXPECT_THAT(Refusal(kRule, {{"threshold_layer", "-1"}}), HasSubstr("threshold_layer"));
}

TEST(SaturatedActivationTest, ReductionsAreNotEnough) {
  FakeSource source;
  source.Step(0).SaveReductions("tanh_input", {{{tensor::ReductionKind::kMax}, 50}});
  EXPECT_EQ(Evaluate(kRule, {}, source).result.status, RuleStatus::kNotEnoughData);
}

}  // namespace
}  // namespace smdebug::rules::saturated_activation_test
