#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "rules/evaluating.h"

namespace smdebug::rules::poor_weight_initialization_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char *kRule = "PoorWeightInitialization";

TEST(PoorWeightInitializationTest, LayersWhoseVariancesDifferAreFound) {
  FakeSource source;
  source.Step(0)
      .Save("relu0_relu_input_0", {0, 2})
      .Save("relu1_relu_input_0", {0, 8})
      .Save("relu2_relu_input_0", {0, 4});
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  ASSERT_THAT(evaluated.Tensors(), ElementsAre("relu0_relu_input_0"));
  EXPECT_THAT(evaluated.Checks(), ElementsAre("variance"));
  EXPECT_EQ(evaluated.findings[0].value, 16);
  EXPECT_EQ(evaluated.findings[0].limit, 10);
  EXPECT_EQ(evaluated.findings[0].message,
            "the variance of 'relu1_relu_input_0' is 16 times that of 'relu0_relu_input_0'; the "
            "limit is 10");
  EXPECT_THAT(Evaluate(kRule, {{"threshold", "16"}}, source).findings, IsEmpty());
}

TEST(PoorWeightInitializationTest, OneLayerIsNotCompared) {
  FakeSource source;
  source.Step(0).Save("relu_input", {0, 1e6});
  EXPECT_EQ(Evaluate(kRule, {}, source).result.status, RuleStatus::kNotEnoughData);
}

TEST(PoorWeightInitializationTest, ALayerWithoutVarianceIsInfinitelyFarFromOthers) {
  FakeSource source;
  source.Step(0).Save("relu1_input", {1, 1}).Save("relu2_input", {0, 1});
  source.Step(1).Save("relu1_input", {1, 1}).Save("relu2_input", {2, 2});
  source.Step(2).Save("relu1_input", {1, std::nan("")}).Save("relu2_input", {0, 1});
  EXPECT_THAT(Evaluate(kRule, {}, source).Steps(), ElementsAre(0)) << "two flat layers are alike";
}

TEST(PoorWeightInitializationTest, AGradientThatIsAllAlikeIsFound) {
  FakeSource source;
  source.Step(0).Save("gradient/a", {0, 1}).Save("gradient/b", {5, 5.0005}).Save("gradient/c", {1});
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  ASSERT_THAT(evaluated.Tensors(), ElementsAre("gradient/b")) << "one number has no distribution";
  EXPECT_THAT(evaluated.Checks(), ElementsAre("gradients"));
  EXPECT_NEAR(evaluated.findings[0].value, 0.00045, 1e-9);
  EXPECT_EQ(evaluated.findings[0].limit, 0.001);
  EXPECT_THAT(Evaluate(kRule, {{"distribution_range", "0.0004"}}, source).findings, IsEmpty());
}

TEST(PoorWeightInitializationTest, ALossThatDoesNotDecreaseIsFound) {
  FakeSource source;
  const double losses[] = {3, 2, 2, 2.5, 4, 2, 3, 1, 1};
  for (int step = 0; step < 9; ++step) source.Step(step).Save("loss", {losses[step]});
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  ASSERT_THAT(evaluated.Steps(), ElementsAre(6));
  EXPECT_THAT(evaluated.Checks(), ElementsAre("loss"));
  EXPECT_EQ(evaluated.findings[0].value, 5);
  EXPECT_EQ(evaluated.findings[0].message, "the loss 'loss' has not decreased for 5 steps");
  EXPECT_THAT(Evaluate(kRule, {{"patience", "4"}}, source).Steps(), ElementsAre(5, 6));
}

TEST(PoorWeightInitializationTest, OnlyTheFirstStepsOfTrainingCount) {
  FakeSource source;
  source.Step(0, Mode::kEval, 0).Save("gradient/a", {0, 0});
  source.Step(1, Mode::kTrain, 9).Save("gradient/a", {0, 0});
  source.Step(2, Mode::kTrain, 10).Save("gradient/a", {0, 0});
  EXPECT_THAT(Evaluate(kRule, {}, source).Steps(), ElementsAre(1));
  EXPECT_THAT(Evaluate(kRule, {{"steps", "11.0"}}, source).Steps(), ElementsAre(1, 2));
  const Evaluated none = Evaluate(kRule, {{"steps", "9"}}, source);
  EXPECT_EQ(none.result.status, RuleStatus::kNotEnoughData);
  EXPECT_THAT(none.result.message, HasSubstr("first 9 steps"));
}

TEST(PoorWeightInitializationTest, WantsNothingAfterTheFirstSteps) {
  FakeSource source;
  source.Step(0, Mode::kTrain, 9).Save("gradient/a", {0, 0});
  source.Step(1, Mode::kTrain, 10).Save("gradient/a", {0, 0});
  const auto set = std::make_shared<RuleSet>();
  EXPECT_TRUE(set->Add(*BuiltinRule(kRule, {}, Profile::kCalibrated)).IsOk());
  Evaluation evaluation = *Evaluation::Begin(set, {});
  const auto ignore = [](const Finding &) {};
  EXPECT_TRUE(evaluation.Run(source, {.first = 0, .end = 1}, ignore).IsOk());
  EXPECT_TRUE(evaluation.Wants("gradient/a", source.Collections()));
  EXPECT_TRUE(evaluation.Run(source, {.first = 1, .end = {}}, ignore).IsOk());
  EXPECT_FALSE(evaluation.Wants("gradient/a", source.Collections()));
}

TEST(PoorWeightInitializationTest, EachWorkerAndCheckHasItsFinding) {
  FakeSource source;
  source.Step(0)
      .By("b")
      .Save("gradient/a", {0, 0})
      .Save("relu1_input", {0, 1})
      .Save("relu2_input", {0, 9});
  source.By("a").Save("gradient/a", {0, 0}).Save("relu1_input", {0, 1});
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  EXPECT_THAT(evaluated.Checks(), ElementsAre("gradients", "variance", "gradients"));
  EXPECT_EQ(evaluated.findings[0].worker, "a");
  EXPECT_EQ(evaluated.findings[2].worker, "b");
}

TEST(PoorWeightInitializationTest, CalibratedWantsTwoChecksToAgree) {
  FakeSource source;
  source.Step(0).Save("relu1_input", {0, 1}).Save("relu2_input", {0, 90}).Save("loss", {1});
  for (int step = 1; step < 8; ++step) source.Step(step).Save("loss", {1});
  const Evaluated evaluated = Evaluate(kRule, {}, source, Profile::kCalibrated);
  EXPECT_THAT(evaluated.Steps(), ElementsAre(5, 6, 7));
  EXPECT_EQ(evaluated.findings[0].tensor, "relu1_input");
  EXPECT_EQ(evaluated.findings[0].check, "variance+loss");
  EXPECT_THAT(evaluated.findings[0].message, HasSubstr("; the loss 'loss' has not decreased"));
  FakeSource tiny;
  for (int step = 0; step < 3; ++step) tiny.Step(step).Save("gradient/a", {1e-6, 1e-5});
  EXPECT_THAT(Evaluate(kRule, {}, tiny, Profile::kCalibrated).findings, IsEmpty());
}

TEST(PoorWeightInitializationTest, CalibratedPassesOverBiases) {
  FakeSource source;
  for (int step = 0; step < 8; ++step) {
    source.Step(step).Save("loss", {1}).Save("gradient/conv.bias", {1e-12, 0});
    source.Save("gradient/conv.weight", {1, 2}, {1, 2});
  }
  EXPECT_THAT(Evaluate(kRule, {}, source, Profile::kCalibrated).findings, IsEmpty());
  EXPECT_THAT(Evaluate(kRule, {{"layers_only", "False"}}, source, Profile::kCalibrated).Checks(),
              ElementsAre("gradients+loss", "gradients+loss", "gradients+loss"));
}

TEST(PoorWeightInitializationTest, StepsThatLossScalingSkipsDoNotCount) {
  FakeSource source;
  for (int step = 0; step < 8; ++step) {
    const double element = step < 6 ? std::nan("") : 1;
    source.Step(step).Save("loss", {step < 6 ? 1 : .5});
    source.Save("gradient/embedding.weight", {0, 0, 0, element}, {2, 2});
  }
  EXPECT_THAT(Evaluate(kRule, {}, source, Profile::kCalibrated).findings, IsEmpty());
  EXPECT_FALSE(
      Evaluate(kRule, {{"loss_scaling", "False"}}, source, Profile::kCalibrated).findings.empty());
}

// Few rows of an embedding have one, or few weights that pruning has left.
TEST(PoorWeightInitializationTest, AGradientMayBeSparse) {
  const auto checks_of = [](double rest) {
    FakeSource source;
    for (int64_t step = 0; step < 12; ++step) {
      std::vector<double> gradient(100, 0);
      gradient[50] = rest;
      source.Step(step, Mode::kTrain, step)
          .Save("gradient/w", gradient, {10, 10})
          .Save("loss", {2});
    }
    return Evaluate(kRule, {}, source, Profile::kCalibrated).Checks();
  };
  EXPECT_THAT(checks_of(0.5), IsEmpty());
  EXPECT_THAT(checks_of(0), testing::Not(IsEmpty()));
}

TEST(PoorWeightInitializationTest, OnlyTheFirstGradientsOfAnAdapterMayBeZero) {
  const auto with_gradients = [](double first, double later) {
    FakeSource source;
    for (int step = 0; step < 9; ++step) {
      source.Step(step).Save("loss", {step == 2 ? 1 : 1.5});  // noise
      source.Save("gradient/adapter.A", {0, step == 0 ? first : later}, {1, 2});
    }
    return Evaluate(kRule, {}, source, Profile::kCalibrated).findings.empty();
  };
  EXPECT_TRUE(with_gradients(0, 0.01));
  EXPECT_FALSE(with_gradients(0, 0));
  EXPECT_FALSE(with_gradients(1e-12, 0.01));
}

TEST(PoorWeightInitializationTest, AResumedTrainingMayHaveNothingLeftToLearn) {
  const auto with_loss = [](double loss) {
    FakeSource source;
    for (int step = 0; step < 8; ++step) {
      source.Step(step).Save("CrossEntropyLoss_output_0", {loss});
      source.Save("CrossEntropyLoss_input_1",
                  tensor::TensorOf<int64_t>(tensor::DType::kInt64, std::vector<int64_t>(32, 1)));
      source.Save("gradient/w.weight", {0, 1e-12}, {1, 2});
    }
    return Evaluate(kRule, {}, source, Profile::kCalibrated).findings.empty();
  };
  EXPECT_TRUE(with_loss(1e-5));
  EXPECT_FALSE(with_loss(1.4));
}

TEST(PoorWeightInitializationTest, AFirstLossFarAboveThatOfAGuess) {
  const auto begins_at = [](double loss) {
    FakeSource source;
    std::vector<int64_t> classes(32);
    for (size_t i = 0; i < classes.size(); ++i) classes[i] = static_cast<int64_t>(i % 8);
    for (int step = 0; step < 12; ++step) {
      source.Step(step).Save("CrossEntropyLoss_output_0", {loss - 0.1 * step});
      source.Save("CrossEntropyLoss_input_1",
                  tensor::TensorOf<int64_t>(tensor::DType::kInt64, classes));
    }
    return Evaluate(kRule, {}, source, Profile::kCalibrated);
  };
  const Evaluated evaluated = begins_at(9);
  EXPECT_THAT(evaluated.findings, IsEmpty());
  ASSERT_THAT(evaluated.Clues(), ElementsAre("large_first_loss"));
  EXPECT_EQ(
      evaluated.clues[0].first.message,
      "the loss 'CrossEntropyLoss_output_0' begins at 9, above the limit of 6.24; usual is at "
      "most about 2.08");
  EXPECT_THAT(begins_at(2.1).Clues(), IsEmpty());
  // The sum over the batch.
  EXPECT_THAT(begins_at(32 * 2.1).Clues(), IsEmpty());
  EXPECT_THAT(begins_at(32 * 2.1).findings, IsEmpty());
  EXPECT_THAT(begins_at(30).Checks(), ElementsAre("first_loss"));
  EXPECT_THAT(begins_at(30).Steps(), ElementsAre(10));
}

TEST(PoorWeightInitializationTest, ASumOfSquaredErrorsIsNoLargeLoss) {
  const auto begins_at = [](double loss) {
    FakeSource source;
    for (int step = 0; step < 12; ++step) {
      source.Step(step).Save("loss_output_0", {loss - 0.01 * step});
      std::vector<double> targets(64);
      for (size_t i = 0; i < targets.size(); ++i) targets[i] = i % 2 == 0 ? -1 : 1;
      source.Save("loss/MSELoss_input_1", targets);
    }
    return Evaluate(kRule, {}, source, Profile::kCalibrated).Checks();
  };
  EXPECT_THAT(begins_at(64 * 1.1), IsEmpty());
  EXPECT_THAT(begins_at(64 * 4), ElementsAre("first_loss"));
}

TEST(PoorWeightInitializationTest, OutputsMayBeginFarFromSmallTargets) {
  const auto begins_at = [](double loss) {
    FakeSource source;
    for (int step = 0; step < 12; ++step) {
      source.Step(step).Save("MSELoss_output_0", {loss - 0.01 * step});
      source.Save("MSELoss_input_1", std::vector<double>(32, 0.01));
    }
    return Evaluate(kRule, {}, source, Profile::kCalibrated).Checks();
  };
  EXPECT_THAT(begins_at(0.5), IsEmpty());
  EXPECT_THAT(begins_at(11), ElementsAre("first_loss"));
}

TEST(PoorWeightInitializationTest, FrameworksNamesAreKnown) {
  for (const auto &[a, b] : {std::pair{"relu1_input_0", "relu2_input_0"},
                             {"ReLU_input_0", "layers.relu_input_0"},
                             {"re_lu/inputs", "activation_relu/inputs"}}) {
    FakeSource source;
    source.Step(0).Save(a, {0, 1}).Save(b, {0, 9});
    EXPECT_THAT(Evaluate(kRule, {}, source).Tensors(), ElementsAre(a));
  }
  FakeSource other;
  other.Step(0).Save("tanh_input_0", {0, 1}).Save("GELU_input_0", {0, 90});
  EXPECT_EQ(Evaluate(kRule, {}, other).result.status, RuleStatus::kNoTensors);
  EXPECT_THAT(Evaluate(kRule, {{"least_checks", "1"}}, other, Profile::kCalibrated).Tensors(),
              ElementsAre("tanh_input_0"));
  other.Include("relu_input", "input_0$");
  EXPECT_THAT(Evaluate(kRule, {}, other).Steps(), ElementsAre(0));
  EXPECT_THAT(Evaluate(kRule, {{"activation_inputs_regex", "tanh,GELU"}}, other).Steps(),
              ElementsAre(0));
}

TEST(PoorWeightInitializationTest, SavedVariancesAreEnough) {
  FakeSource source;
  source.Step(0)
      .SaveReductions("relu1_input", {{{tensor::ReductionKind::kVariance}, 1}})
      .SaveReductions("relu2_input", {{{tensor::ReductionKind::kVariance}, 11}});
  EXPECT_THAT(Evaluate(kRule, {}, source).Steps(), ElementsAre(0));
}

TEST(PoorWeightInitializationTest, RefusesWhatMakesNoSense) {
  EXPECT_THAT(Refusal(kRule, {{"threshold", "0"}}), HasSubstr("threshold"));
  EXPECT_THAT(Refusal(kRule, {{"distribution_range", "x"}}), HasSubstr("distribution_range"));
  EXPECT_THAT(Refusal(kRule, {{"patience", "0"}}), HasSubstr("patience"));
  EXPECT_THAT(Refusal(kRule, {{"steps", "2.5"}}), HasSubstr("steps"));
  EXPECT_THAT(Refusal(kRule, {{"least_checks", "4"}}), HasSubstr("least_checks"));
  EXPECT_THAT(Refusal(kRule, {{"activation_inputs_regex", "("}}),
              HasSubstr("activation_inputs_regex"));
}

}  // namespace
}  // namespace smdebug::rules::poor_weight_initialization_test
