#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "rules/evaluating.h"

namespace smdebug::rules::dead_relu_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char *kRule = "DeadRelu";

// `samples` outputs of `neurons` neurons, the first `dead` of which are zero.
std::vector<double> Outputs(size_t samples, size_t neurons, size_t dead) {
  std::vector<double> outputs(samples * neurons, 1);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (i % neurons < dead) outputs[i] = 0;
  }
  return outputs;
}

TEST(DeadReluTest, ALayerOfZeroWeightsIsDead) {
  FakeSource source;
  source.Step(0).Save("dense0_relu_output_0", Outputs(32, 10, 10), {32, 10});
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  ASSERT_THAT(evaluated.Tensors(), ElementsAre("dense0_relu_output_0"));
  EXPECT_EQ(evaluated.findings[0].value, 100);
  EXPECT_EQ(evaluated.findings[0].limit, 50);
  EXPECT_EQ(evaluated.findings[0].message,
            "100 % of the neurons of 'dense0_relu_output_0' are dead: positive in less than 1 % "
            "of the samples");
}

TEST(DeadReluTest, ALayerOfWhichHalfTheNeuronsWorkIsNot) {
  FakeSource source;
  source.Step(0).Save("relu_output", Outputs(4, 10, 5), {4, 10});
  source.Step(1).Save("relu_output", Outputs(4, 10, 6), {4, 10});
  EXPECT_THAT(Evaluate(kRule, {}, source).Steps(), ElementsAre(1)) << "at 50 % it is still alive";
  EXPECT_THAT(Evaluate(kRule, {{"threshold_layer", "60"}}, source).findings, IsEmpty());
}

TEST(DeadReluTest, ATenthOfALayerMayBeEnough) {
  FakeSource source;
  source.Step(0).Save("relu_output", Outputs(100, 40, 35), {100, 40});
  source.Step(1).Save("relu_output", Outputs(100, 40, 38), {100, 40});
  const Evaluated evaluated = Evaluate(kRule, {}, source, Profile::kCalibrated);
  ASSERT_THAT(evaluated.Steps(), ElementsAre(0, 1));
  EXPECT_EQ(evaluated.findings[0].level, Level::kWorthALook);
  EXPECT_EQ(evaluated.findings[1].level, Level::kFinding);
}

// The sample of a tensor shows few of its neurons.
TEST(DeadReluTest, NeighboursMayDifferFromTheOthers) {
  constexpr size_t kNeurons = 1024;
  constexpr size_t kSamples = 200;
  for (const size_t dead : {size_t{48}, size_t{1000}}) {
    for (size_t first = 0; first + dead <= kNeurons; first += 97) {
      std::vector<double> outputs(kSamples * kNeurons, 1);
      for (size_t i = 0; i < outputs.size(); ++i) {
        if (i % kNeurons - first < dead) outputs[i] = 0;
      }
      FakeSource source;
      source.Step(0).Save("relu_output", outputs, {kSamples, kNeurons});
      EXPECT_EQ(Evaluate(kRule, {}, source, Profile::kCalibrated).findings.size(), dead / 1000)
          << first;
    }
  }
}

TEST(DeadReluTest, ANeuronIsActiveAtTheThresholdExactly) {
  FakeSource source;
  std::vector<double> outputs(100, -1);
  outputs[7] = 0.5;
  source.Step(0).Save("relu_output", outputs, {100, 1});
  EXPECT_THAT(Evaluate(kRule, {}, source).findings, IsEmpty());
  EXPECT_THAT(Evaluate(kRule, {{"threshold_inactivity", "1.5"}}, source).Steps(), ElementsAre(0));
}

TEST(DeadReluTest, WhatIsNoNumberIsNotDead) {
  FakeSource source;
  source.Step(0).Save("relu_output", {std::nan(""), INFINITY, 0}, {1, 3});
  EXPECT_THAT(Evaluate(kRule, {}, source).findings, IsEmpty());
}

TEST(DeadReluTest, TheWorstLayerOfEachWorkerIsNamed) {
  FakeSource source;
  source.Step(0);
  for (const char *worker : {"a", "b"}) {
    source.By(worker)
        .Save("relu1_output_0", Outputs(4, 10, 6), {4, 10})
        .Save("relu2_output_0", Outputs(4, 10, 9), {4, 10})
        .Save("relu3_output_0", Outputs(4, 10, 8), {4, 10});
  }
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  EXPECT_THAT(evaluated.Tensors(), ElementsAre("relu2_output_0", "relu2_output_0"));
  EXPECT_EQ(evaluated.findings[1].worker, "b");
  EXPECT_NEAR(evaluated.findings[1].value, 90, 1e-9);
}

TEST(DeadReluTest, FrameworksNamesAreKnown) {
  for (const char *name :
       {"relu0_relu_output_0", "relu1_output_0", "ReLU_output_0", "layers.relu_output_0",
        "re_lu/outputs", "re_lu_1/outputs", "activation_relu/outputs", "relu6_output_1",
        "mlp_relu_output_0", "layer_relu/outputs", "block/relu/outputs_1"}) {
    FakeSource source;
    source.Step(0).Save(name, {0, 0}, {2, 1});
    EXPECT_THAT(Evaluate(kRule, {}, source).Tensors(), ElementsAre(name));
  }
  for (const char *name :
       {"leaky_relu_output_0", "LeakyReLU_output_0", "leaky_re_lu/outputs", "PReLU_output_0",
        "p_re_lu/outputs", "layers.prelu_output_0", "gelu_output_0", "relu_input_0",
        "relu_block.conv_output_0", "conv_output_0"}) {
    FakeSource source;
    source.Step(0).Save(name, {0, 0}, {2, 1});
    EXPECT_EQ(Evaluate(kRule, {}, source).result.status, RuleStatus::kNoTensors) << name;
  }
}

TEST(DeadReluTest, AHooksCollectionIsLookedAtToo) {
  FakeSource source;
  source.Include("relu_output", "^1_output");
  source.Step(0).Save("1_output_0", {0, 0}, {2, 1});
  EXPECT_THAT(Evaluate(kRule, {}, source).Steps(), ElementsAre(0));
  EXPECT_EQ(Evaluate(kRule, {{"tensor_regex", "other"}}, source).result.status,
            RuleStatus::kNoTensors);
}

TEST(DeadReluTest, NeuronsArePositionsOrChannels) {
  // Two samples, two channels of three positions: the second channel lets one through.
  const std::vector<double> outputs = {0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0};
  FakeSource source;
  source.Step(0).Save("relu_output", outputs, {2, 2, 3});
  EXPECT_NEAR(Evaluate(kRule, {}, source).findings[0].value, 500.0 / 6, 1e-9);
  EXPECT_THAT(Evaluate(kRule, {{"unit", "channel"}}, source).findings, IsEmpty()) << "50 %";
  const Evaluated last = Evaluate(kRule, {{"unit", "channel"}, {"channel", "-1"}}, source);
  ASSERT_THAT(last.Steps(), ElementsAre(0));
  EXPECT_NEAR(last.findings[0].value, 200.0 / 3, 1e-9);
  EXPECT_EQ(Evaluate(kRule, {{"unit", "channel"}, {"channel", "3"}}, source).result.status,
            RuleStatus::kNotEnoughData);
}

TEST(DeadReluTest, SamplesOfSeveralStepsAreTakenTogether) {
  FakeSource source;
  for (int step = 0; step < 6; ++step) {
    // Each neuron is positive at one step of three.
    std::vector<double> outputs(3);
    outputs[static_cast<size_t>(step) % 3] = 1;
    source.Step(step).Save("relu_output", outputs, {1, 3});
  }
  EXPECT_EQ(Evaluate(kRule, {}, source).findings.size(), 6);
  EXPECT_THAT(Evaluate(kRule, {{"window", "3"}, {"least_samples", "3"}}, source).findings,
              IsEmpty());
  EXPECT_THAT(Evaluate(kRule, {}, source, Profile::kCalibrated).findings, IsEmpty());
}

TEST(DeadReluTest, CalibratedJudgesOnceThereAreEnoughSamples) {
  FakeSource source;
  for (int step = 0; step < 6; ++step) {
    source.Step(step).Save("relu_output", Outputs(40, 4, 4), {40, 4});
  }
  EXPECT_THAT(Evaluate(kRule, {}, source, Profile::kCalibrated).Steps(), ElementsAre(2, 5));
}

TEST(DeadReluTest, ASampleOfALargeLayerIsEnough) {
  FakeSource source;
  source.Step(0).Save("relu_output", Outputs(8, 20'000, 16'000), {8, 20'000});
  source.Step(1).Save("relu_output", Outputs(8, 20'000, 4'000), {8, 20'000});
  const Evaluated evaluated = Evaluate(kRule, {{"sample", "16384"}}, source);
  ASSERT_THAT(evaluated.Steps(), ElementsAre(0));
  EXPECT_NEAR(evaluated.findings[0].value, 80, 5);
}

TEST(DeadReluTest, ASampleIsSpreadOverRowsAndChannels) {
  FakeSource source;
  std::vector<double> outputs(64 * 3 * 1'000);
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i] = i / 1'000 % 3 == 1 ? 1 : 0;
  source.Step(0).Save("relu_output", outputs, {64, 3, 1'000});
  for (const char *sample : {"0", "100", "1000", "10000", "100000"}) {
    const Evaluated evaluated = Evaluate(kRule, {{"unit", "channel"}, {"sample", sample}}, source);
    ASSERT_THAT(evaluated.Steps(), ElementsAre(0)) << sample;
    EXPECT_NEAR(evaluated.findings[0].value, 200.0 / 3, 1e-9) << sample;
  }
}

TEST(DeadReluTest, OfEveryTypeAndShape) {
  for (const tensor::DType dtype : tensor::kRealTypes) {
    FakeSource source;
    source.Step(0).Save("relu_output", tensor::TensorOfNumbers(dtype, {0, 0}));
    source.Step(1).Save("relu_output", tensor::TensorOfNumbers(dtype, {0, 1}));
    EXPECT_THAT(Evaluate(kRule, {}, source).Steps(), ElementsAre(0)) << DTypeName(dtype);
  }
  FakeSource source;
  source.Step(0)
      .Save("relu_output", std::vector<double>(), {0, 5})
      .Save("relu_output_1", tensor::TensorOf(tensor::DType::kFloat64, std::vector<double>{0}, {}));
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  EXPECT_EQ(evaluated.result.status, RuleStatus::kNotEnoughData);
  EXPECT_THAT(evaluated.result.message, HasSubstr("outputs of rectified units"));
}

TEST(DeadReluTest, RefusesWhatMakesNoSense) {
  EXPECT_THAT(Refusal(kRule, {{"threshold_inactivity", "101"}}), HasSubstr("threshold_inactivity"));
  EXPECT_THAT(Refusal(kRule, {{"threshold_layer", "x"}}), HasSubstr("threshold_layer"));
  EXPECT_THAT(Refusal(kRule, {{"unit", "row"}}), HasSubstr("unit"));
  EXPECT_THAT(Refusal(kRule, {{"window", "0"}}), HasSubstr("window"));
  EXPECT_THAT(Refusal(kRule, {{"tensor_regex", "["}}), HasSubstr("tensor_regex"));
  EXPECT_THAT(Refusal(kRule, {{"tensor_regex", "None"}}), HasSubstr("tensor_regex is empty"));
}

}  // namespace
}  // namespace smdebug::rules::dead_relu_test
