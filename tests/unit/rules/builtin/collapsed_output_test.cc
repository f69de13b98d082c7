#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "rules/evaluating.h"

namespace smdebug::rules::collapsed_output_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char *kRule = "CollapsedOutput";
constexpr int64_t kSamples = 16;
constexpr int64_t kUnits = 4;

// Outputs of which those of two samples differ by about `size`.
std::vector<double> Outputs(double size, int64_t step, int64_t samples = kSamples) {
  std::vector<double> outputs;
  for (int64_t i = 0; i < samples * kUnits; ++i) {
    outputs.push_back(1 + size * std::sin(static_cast<double>(i * i + step)));
  }
  return outputs;
}

using SizeAt = std::function<double(int64_t)>;

FakeSource Steps(const SizeAt &size, int64_t steps = 60, const char *tensor = "enc.2_output_0") {
  FakeSource source;
  for (int64_t step = 0; step < steps; ++step) {
    source.Step(step).Save(tensor, Outputs(size(step), step), {kSamples, kUnits});
  }
  return source;
}

double Collapsing(int64_t step) { return step < 8 ? 0.5 : 0.01; }

TEST(CollapsedOutputTest, SamplesThatAreNoLongerToldApart) {
  FakeSource source = Steps(Collapsing);
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  // Eight measurements, four steps apart, from step 8 on.
  ASSERT_THAT(evaluated.Steps(), testing::ElementsAre(36, 40, 44, 48, 52, 56));
  EXPECT_EQ(evaluated.findings[0].tensor, "enc.2_output_0");
  EXPECT_THAT(evaluated.findings[0].message, HasSubstr("no longer tells samples apart"));
  EXPECT_EQ(evaluated.findings[0].limit, 0.1);
  EXPECT_THAT(Evaluate(kRule, {{"least", "0.01"}}, source).findings, IsEmpty());
  EXPECT_THAT(Evaluate(kRule, {{"patience", "13"}}, source).findings, SizeIs(1));
}

TEST(CollapsedOutputTest, WhatStaysOrGrowsOrDiesOrBlowsUpIsNoCollapse) {
  const SizeAt others[] = {
      [](int64_t) { return 0.5; },
      [](int64_t step) { return 0.1 + static_cast<double>(step); },
      [](int64_t step) { return step % 16 == 0 ? 0.5 : 0.01; },
      [](int64_t step) { return step < 8 ? 0.5 : 0.0; },
      [](int64_t step) { return step == 12 ? 1e9 : Collapsing(step); },
      [](int64_t step) { return step == 9 ? NAN : 0.5; },
      [](int64_t step) { return step < 8 ? 30 : 1.0; },
  };
  for (const SizeAt &size : others) {
    FakeSource source = Steps(size);
    EXPECT_THAT(Evaluate(kRule, {}, source).findings, IsEmpty());
  }
}

TEST(CollapsedOutputTest, AModuleCalledOftenInAStepMayGetTheSame) {
  FakeSource source = Steps(Collapsing, 60, "policy.0_output_12");
  EXPECT_THAT(Evaluate(kRule, {}, source).findings, IsEmpty());
}

TEST(CollapsedOutputTest, PredictionsMayDifferLittle) {
  // As targets may.
  FakeSource of_model = Steps(Collapsing, 60, "Net_output_0");
  EXPECT_THAT(Evaluate(kRule, {}, of_model).findings, IsEmpty());
  for (const char *loss : {"MSELoss_input_0", "loss/MSELoss_input_0"}) {
    FakeSource source;
    for (int64_t step = 0; step < 60; ++step) {
      const std::vector<double> outputs = Outputs(Collapsing(step), step);
      source.Step(step).Save("head_output_0", outputs, {kSamples, kUnits}).Save(loss, outputs);
    }
    EXPECT_THAT(Evaluate(kRule, {}, source).findings, IsEmpty()) << loss;
  }
}

TEST(CollapsedOutputTest, OnlyTrainingStepsOfSeveralSamplesCount) {
  FakeSource few;
  FakeSource evaluations;
  FakeSource images;
  for (int64_t step = 0; step < 60; ++step) {
    few.Step(step).Save("a_output_0", Outputs(Collapsing(step), step, 7), {7, kUnits});
    evaluations.Step(step, Mode::kEval, step)
        .Save("a_output_0", Outputs(Collapsing(step), step), {kSamples, kUnits});
    images.Step(step).Save("a_output_0", Outputs(Collapsing(step), step), {kSamples, 2, 2});
  }
  for (FakeSource *source : {&few, &evaluations, &images}) {
    const Evaluated evaluated = Evaluate(kRule, {}, *source);
    EXPECT_EQ(evaluated.result.status, RuleStatus::kNotEnoughData);
    EXPECT_THAT(evaluated.result.message, HasSubstr("8 samples"));
  }
}

TEST(CollapsedOutputTest, ItsParametersAreChecked) {
  EXPECT_FALSE(BuiltinRule(kRule, {{"least", "2"}}, Profile::kCalibrated, {}).IsOk());
  EXPECT_FALSE(BuiltinRule(kRule, {{"patience", "0"}}, Profile::kCalibrated, {}).IsOk());
  EXPECT_FALSE(BuiltinRule(kRule, {{"tensor_regex", "("}}, Profile::kCalibrated, {}).IsOk());
}

}  // namespace
}  // namespace smdebug::rules::collapsed_output_test
