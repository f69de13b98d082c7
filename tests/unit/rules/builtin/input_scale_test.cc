#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/strings.h"
#include "rules/evaluating.h"

namespace smdebug::rules::input_scale_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char *kRule = "InputScale";
constexpr const char *kInput = "Sequential_input_0";

// Eight samples of four features at each step.
Evaluated OfInputs(double scale, double mean, const std::vector<int64_t> &shape = {8, 4},
                   const char *name = kInput, Mode mode = Mode::kTrain) {
  FakeSource source;
  for (int64_t step = 0; step < 7; ++step) {
    std::vector<double> inputs(32);
    for (size_t i = 0; i < inputs.size(); ++i) {
      inputs[i] = mean + scale * std::sin(static_cast<double>(i) + static_cast<double>(step));
    }
    source.Step(step, mode, step).Save(name, inputs, shape);
  }
  return Evaluate(kRule, {}, source, Profile::kCalibrated);
}

TEST(InputScaleTest, InputsThatAreNotNormalisedAreWorthALook) {
  const Evaluated evaluated = OfInputs(8, 128);
  EXPECT_THAT(evaluated.Steps(), ElementsAre(4, 5, 6));
  EXPECT_EQ(evaluated.findings[0].level, Level::kWorthALook);
  EXPECT_EQ(evaluated.findings[0].tensor, kInput);
  EXPECT_THAT(evaluated.findings[0].message, HasSubstr("100 % of the input"));
  EXPECT_EQ(evaluated.result.status, RuleStatus::kWorthALook);
  EXPECT_EQ(OfInputs(100, 0).result.status, RuleStatus::kWorthALook);
}

TEST(InputScaleTest, LargeTargetsAreAClue) {
  EXPECT_THAT(OfInputs(8, 60, {32}, "loss/MSELoss_input_1").Clues(), IsEmpty());
  const Evaluated evaluated = OfInputs(8, 2000, {32}, "loss/MSELoss_input_1");
  EXPECT_THAT(evaluated.findings, IsEmpty());
  ASSERT_THAT(evaluated.Clues(), ElementsAre("large_targets"));
  EXPECT_THAT(evaluated.clues[0].first.message, HasSubstr("100 % of the targets"));
}

TEST(InputScaleTest, InputsThatALayerNormalisesArePassedOver) {
  FakeSource source;
  source.Include("normalised_inputs", "^inputs_");
  for (int64_t step = 0; step < 7; ++step) {
    source.Step(step).Save("inputs_0", std::vector<double>(32, 100), {8, 4});
  }
  EXPECT_EQ(Evaluate(kRule, {}, source, Profile::kCalibrated).result.status,
            RuleStatus::kNoTensors);
}

TEST(InputScaleTest, NormalisedInputsAreFine) {
  EXPECT_EQ(OfInputs(1.5, 0).result.status, RuleStatus::kPassed);
  EXPECT_EQ(OfInputs(0.5, 0.5).result.status, RuleStatus::kPassed);
}

TEST(InputScaleTest, AFewLargeElementsAreAnotherMatter) {
  FakeSource source;
  for (int64_t step = 0; step < 9; ++step) {
    std::vector<double> inputs(32, 0.5);
    inputs[static_cast<size_t>(step)] = 1e6;
    source.Step(step).Save(kInput, inputs, {8, 4});
  }
  EXPECT_THAT(Evaluate(kRule, {}, source, Profile::kCalibrated).findings, IsEmpty());
}

TEST(InputScaleTest, AnElementFarBeyondAllBeforeIsAClue) {
  FakeSource source;
  for (int64_t step = 0; step < 9; ++step) {
    std::vector<double> inputs(32, 0.5);
    if (step == 7) inputs[3] = -1e6;
    source.Step(step).Save(kInput, inputs, {8, 4});
  }
  const Evaluated evaluated = Evaluate(kRule, {}, source, Profile::kCalibrated);
  EXPECT_THAT(evaluated.findings, IsEmpty());
  ASSERT_THAT(evaluated.Clues(), ElementsAre("jump"));
  EXPECT_EQ(evaluated.clues[0].first.place.step, 7);
  EXPECT_EQ(evaluated.clues[0].first.message,
            StrCat("an element of the input '", kInput, "' is 1e+06; none before was beyond 0.5"));
  EXPECT_EQ(evaluated.result.status, RuleStatus::kPassed);
}

TEST(InputScaleTest, OnlyFeaturesOfTheModelInTrainingCount) {
  EXPECT_EQ(OfInputs(8, 128, {8, 4}, "fc2_input_0").result.status, RuleStatus::kNoTensors);
  EXPECT_EQ(OfInputs(8, 128, {8, 4}, kInput, Mode::kEval).result.status,
            RuleStatus::kNotEnoughData);
  EXPECT_EQ(OfInputs(8, 128, {2, 1, 4, 4}).result.status, RuleStatus::kNotEnoughData);
}

TEST(InputScaleTest, ItsParametersAreChecked) {
  for (const char *key : {"share", "patience", "most"}) {
    EXPECT_THAT(Refusal(kRule, {{key, "-1"}}), HasSubstr(key));
  }
  EXPECT_THAT(Refusal(kRule, {{"tensor_regex", "("}}), HasSubstr("("));
}

}  // namespace
}  // namespace smdebug::rules::input_scale_test
