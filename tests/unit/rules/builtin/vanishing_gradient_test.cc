#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "rules/evaluating.h"

namespace smdebug::rules::vanishing_gradient_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char *kRule = "VanishingGradient";

TEST(VanishingGradientTest, EmbeddingsAndAdaptersAreNoFirstLayers) {
  const auto with = [](const std::string &first) {
    FakeSource source;
    for (int64_t step = 0; step < 8; ++step) {
      source.Step(step).Save(first, {1, 2, 3, 4}, {2, 2}).Save("b.weight", {1, 2, 3, 4}, {2, 2});
      source.Save("c.weight", {1, 2, 3, 4}, {2, 2});
      source.Save("gradient/" + first, {1e-6, 1e-6, 1e-6, 1e-6}, {2, 2});
      source.Save("gradient/b.weight", {1, 1, 1, 1}, {2, 2});
      source.Save("gradient/c.weight", {1, 1, 1, 1}, {2, 2});
    }
    return Evaluate(kRule, {}, source, Profile::kCalibrated).Checks();
  };
  EXPECT_THAT(with("a.weight"), testing::Contains("ratio"));
  EXPECT_THAT(with("Net_emb.weight"), IsEmpty());
  EXPECT_THAT(with("Net_embedding.weight"), IsEmpty());
  EXPECT_THAT(with("Net_q.lora_A.default.weight"), IsEmpty());
  EXPECT_THAT(with("Net_member.weight"), testing::Contains("ratio"));
}

TEST(VanishingGradientTest, TheSmallestGradientBelowTheThresholdIsNamed) {
  FakeSource source;
  source.Step(0).Save("gradient/a", {1e-3}).Save("gradient/b", {1e-8}).Save("gradient/c", {-1e-9});
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  ASSERT_THAT(evaluated.Tensors(), ElementsAre("gradient/c"));
  EXPECT_EQ(evaluated.findings[0].value, 1e-9);
  EXPECT_EQ(evaluated.findings[0].limit, 1e-7);
  EXPECT_EQ(evaluated.findings[0].worker, "worker_0");
  EXPECT_EQ(evaluated.findings[0].message,
            "the gradient 'gradient/c' has a mean absolute value of 1e-09, below the limit of "
            "1e-07");
  EXPECT_EQ(evaluated.result.status, RuleStatus::kHasFindings);
}

TEST(VanishingGradientTest, IsNotFoundAtTheThresholdOrAbove) {
  FakeSource source;
  source.Step(0).Save("gradient/a", {1e-7}).Save("gradient/b", {2, -2});
  EXPECT_THAT(Evaluate(kRule, {}, source).findings, IsEmpty());
}

TEST(VanishingGradientTest, TheThresholdIsTheUsers) {
  FakeSource source;
  source.Step(0).Save("gradient/a", {0.5});
  EXPECT_THAT(Evaluate(kRule, {{"threshold", "0.6"}}, source).Steps(), ElementsAre(0));
  for (const char *bad : {"0", "-1", "nan", "x", ""}) {
    EXPECT_THAT(Refusal(kRule, {{"threshold", bad}}), HasSubstr("threshold")) << bad;
  }
}

TEST(VanishingGradientTest, ZeroIsBelowAndNotANumberIsNot) {
  FakeSource source;
  source.Step(0).Save("gradient/a", {0});
  source.Step(1).Save("gradient/a", {std::nan("")});
  EXPECT_THAT(Evaluate(kRule, {}, source).Steps(), ElementsAre(0));
}

TEST(VanishingGradientTest, ASavedReductionIsEnough) {
  FakeSource source;
  source.Step(0).SaveReductions("gradient/a", {{{tensor::ReductionKind::kMean, true}, 1e-9}});
  EXPECT_THAT(Evaluate(kRule, {}, source).Steps(), ElementsAre(0));
}

TEST(VanishingGradientTest, OtherReductionsAreNotEnough) {
  FakeSource source;
  source.Step(0).SaveReductions("gradient/a", {{{tensor::ReductionKind::kMax, false}, 1e-9}});
  EXPECT_EQ(Evaluate(kRule, {}, source).result.status, RuleStatus::kNotEnoughData);
}

TEST(VanishingGradientTest, WithoutGradientsNothingIsJudged) {
  FakeSource source;
  source.Step(0).Save("weight", {1});
  EXPECT_EQ(Evaluate(kRule, {}, source).result.status, RuleStatus::kNoTensors);
}

TEST(VanishingGradientTest, AGradientThatNeverWasThereIsUnused) {
  FakeSource source;
  source.Step(0).Save("gradient/a", {0, 0}).Save("gradient/b", {1});
  source.Step(1).Save("gradient/a", {0, 0}).Save("gradient/b", {0});
  source.Step(2).Save("gradient/a", {1, 0}).Save("gradient/b", {1});
  source.Step(3).Save("gradient/a", {0, 0}).Save("gradient/b", {1});
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  EXPECT_THAT(evaluated.Steps(), ElementsAre(0, 1, 1, 3));
  EXPECT_THAT(evaluated.Checks(), ElementsAre("unused", "unused", "small", "small"));
  EXPECT_THAT(evaluated.Tensors(),
              ElementsAre("gradient/a", "gradient/a", "gradient/b", "gradient/a"));
  EXPECT_THAT(evaluated.findings[0].message, HasSubstr("zero at every step"));
}

TEST(VanishingGradientTest, ABiasOfRowsMayBeCancelled) {
  const auto level_of = [](std::vector<int64_t> shape) {
    FakeSource source;
    for (int64_t step = 0; step < 20; ++step) {
      source.Step(step).Save("gradient/a.weight", std::vector<double>(6), shape);
      source.Save("gradient/b.weight", std::vector<double>(6, 0.1), {3, 2});
    }
    const Evaluated evaluated = Evaluate(kRule, {}, source, Profile::kCalibrated);
    EXPECT_THAT(evaluated.Checks(), Contains("unused"));
    return evaluated.findings.at(0).level;
  };
  EXPECT_EQ(level_of({6, 1}), Level::kWorthALook);
  EXPECT_EQ(level_of({1, 6}), Level::kFinding);
  EXPECT_EQ(level_of({3, 2}), Level::kFinding);
}

TEST(VanishingGradientTest, AnExpertMayGetNoTokens) {
  const auto with = [](const std::string &gradient, double first) {
    FakeSource source;
    for (int64_t step = 0; step < 12; ++step) {
      const double value = step == 0 ? first : 0;
      source.Step(step).Save(gradient, {value, value}, {1, 2});
      source.Save("gradient/Net_router.weight", {1, 1}, {1, 2});
    }
    return Evaluate(kRule, {}, source, Profile::kCalibrated).Checks();
  };
  for (const char *name :
       {"gradient/MoE_experts.3.0.weight", "gradient/Switch_mlp.experts.expert_0.wi.weight",
        "gradient/moe/Expert_2.weight"}) {
    EXPECT_THAT(with(name, 1), IsEmpty()) << name;
    EXPECT_THAT(with(name, 0), testing::Each("unused")) << name;
    EXPECT_THAT(with(name, 0), Not(IsEmpty())) << name;
  }
  EXPECT_THAT(with("gradient/Net_expertise.weight", 1), testing::Contains("small"));
}

TEST(VanishingGradientTest, GradientsOfIntegersArePassedOver) {
  FakeSource source;
  source.Step(0).Save("gradient/a", tensor::TensorOfNumbers(tensor::DType::kInt32, {0}));
  source.Step(1).Save("gradient/a", tensor::TensorOfNumbers(tensor::DType::kBool, {0}));
  source.Step(2).Save("gradient/a", std::vector<double>());
  EXPECT_EQ(Evaluate(kRule, {}, source).result.status, RuleStatus::kNotEnoughData);
}

TEST(VanishingGradientTest, EachWorkerHasItsWorst) {
  FakeSource source;
  source.Step(0).By("a").Save("gradient/a", {1e-8}).Save("gradient/b", {1e-9});
  source.By("b").Save("gradient/a", {1e-9}).Save("gradient/b", {1e-8});
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  ASSERT_THAT(evaluated.Tensors(), ElementsAre("gradient/b", "gradient/a"));
  EXPECT_EQ(evaluated.findings[1].worker, "b");
}

// Steps of a model of three layers, whose gradients are of these sizes.
FakeSource Layers(double first, double last, int steps = 6) {
  FakeSource source;
  for (int step = 0; step < steps; ++step) {
    source.Step(step);
    for (const char *name : {"l1.weight", "l2.weight", "l3.weight"})
      source.Save(name, {1, 1}, {1, 2});
    // In the order in which they are computed.
    source.Save("gradient/l3.weight", {last, -last}, {1, 2});
    source.Save("gradient/l2.weight", {1, 1}, {1, 2});
    source.Save("gradient/l1.weight", {0, first}, {1, 2});
    source.Save("gradient/l1.bias", {1e-8});
  }
  return source;
}

TEST(VanishingGradientTest, CalibratedComparesTheFirstLayerWithTheLast) {
  FakeSource source = Layers(1e-6, 1e-2);
  const Evaluated evaluated = Evaluate(kRule, {}, source, Profile::kCalibrated);
  ASSERT_THAT(evaluated.Steps(), ElementsAre(4, 5)) << "after five in a row";
  EXPECT_THAT(evaluated.Checks(), ElementsAre("ratio", "ratio"));
  EXPECT_EQ(evaluated.findings[0].tensor, "gradient/l1.weight");
  EXPECT_NEAR(evaluated.findings[0].value, 1e-4, 1e-12);
  EXPECT_EQ(evaluated.findings[0].limit, 1e-3);
  EXPECT_EQ(evaluated.findings[0].message,
            "the gradient 'gradient/l1.weight' of the first layer is 0.0001 times as large as "
            "'gradient/l3.weight' of the last layer, below the limit of 0.001");
  EXPECT_THAT(Evaluate(kRule, {{"ratio", "None"}}, source, Profile::kCalibrated).findings,
              IsEmpty());
  EXPECT_THAT(Evaluate(kRule, {{"ratio", "1e-3"}, {"threshold", "1e-9"}}, source).Steps(),
              ElementsAre(0, 1, 2, 3, 4, 5));
}

// A model's layers, with their gradients, in the order of layers.
struct OfLayer {
  const char *weight;
  std::vector<int64_t> shape;
  double gradient;
};

std::vector<int64_t> StepsOf(const std::vector<OfLayer> &layers, double growth = 1,
                             bool is_of_keras = false) {
  FakeSource source;
  source.Include("gradients", "^gradient");
  source.Include("weights", "^(?!gradient).*(weight|kernel)");
  for (int step = 0; step < 20; ++step) {
    source.Step(step);
    for (const OfLayer &each : layers) {
      const auto count = static_cast<size_t>(each.shape[0] * each.shape[1]);
      const bool is_last = each.weight == layers.back().weight;
      const double size = each.gradient * (is_last ? 1 : std::pow(growth, step));
      const std::string name = each.weight;
      const std::string weight = is_of_keras ? "layer/weights/" + name + ":0" : name;
      const std::string gradient = is_of_keras ? "gradients/" + name + "Grad" : "gradient/" + name;
      source.Save(weight, std::vector<double>(count, 1), each.shape);
      source.Save(gradient, std::vector<double>(count, size), each.shape);
    }
  }
  return Evaluate(kRule, {}, source, Profile::kCalibrated).Steps();
}

TEST(VanishingGradientTest, AnActorsLayersAreNotComparedWithACritics) {
  const OfLayer actor[] = {{"actor.0.weight", {8, 4}, 1e-5}, {"actor.2.weight", {2, 8}, 1e-3}};
  const OfLayer critic[] = {{"critic.0.weight", {8, 4}, 1}, {"critic.2.weight", {1, 8}, 1}};
  EXPECT_THAT(StepsOf({actor[0], actor[1], critic[0], critic[1]}), IsEmpty());
  EXPECT_THAT(StepsOf({actor[0], {"critic.2.weight", {1, 8}, 1}}), Not(IsEmpty()));
}

TEST(VanishingGradientTest, QueriesAndKeysAreSmallByNature) {
  for (const char *name : {"attention.self.query.weight", "attn.k_proj.weight", "mha/key/kernel"}) {
    EXPECT_THAT(
        StepsOf({{name, {4, 4}, 1e-6}, {"value.weight", {4, 4}, 1}, {"out.weight", {4, 4}, 1}}),
        IsEmpty())
        << name;
  }
}

// Behind a last layer that begins with zeros.
TEST(VanishingGradientTest, ARatioThatGrowsIsLeftAlone) {
  const std::vector<OfLayer> layers = {{"in.weight", {4, 4}, 1e-8}, {"out.weight", {4, 4}, 1}};
  EXPECT_THAT(StepsOf(layers, 1.3), IsEmpty());
  EXPECT_THAT(StepsOf(layers, 1.01), Not(IsEmpty()));
}

TEST(VanishingGradientTest, ARatioCloseToItsLimitMayBeThatOfABeginning) {
  const std::vector<OfLayer> layers = {{"in.weight", {4, 4}, 5e-4}, {"out.weight", {4, 4}, 1}};
  EXPECT_THAT(StepsOf(layers), testing::ElementsAre(19));
  EXPECT_THAT(StepsOf(layers, 1.05), IsEmpty());
}

TEST(VanishingGradientTest, KerasNamesWeightsOtherwiseThanGradients) {
  EXPECT_THAT(StepsOf({{"dense/kernel", {4, 4}, 1e-6}, {"dense_1/kernel", {4, 4}, 1}}, 1, true),
              Not(IsEmpty()));
  EXPECT_THAT(StepsOf({{"dense/kernel", {4, 4}, 1}, {"dense_1/kernel", {4, 4}, 1e-6}}, 1, true),
              IsEmpty());
}

TEST(VanishingGradientTest, CalibratedLeavesOtherRatiosAlone) {
  for (const auto &[first, last] : {std::pair{1.0, 1.0}, {1e-2, 1.0}, {1.0, 1e-6}, {1e-6, 1e-4}}) {
    FakeSource source = Layers(first, last);
    EXPECT_THAT(Evaluate(kRule, {}, source, Profile::kCalibrated).findings, IsEmpty())
        << first << " " << last;
  }
}

TEST(VanishingGradientTest, CalibratedPassesOverBiases) {
  FakeSource source;
  for (int step = 0; step < 6; ++step) {
    source.Step(step).Save("gradient/conv.bias", {1e-12, 0});
    source.Save("gradient/conv.weight", {1, 1}, {1, 2});
  }
  EXPECT_THAT(Evaluate(kRule, {}, source, Profile::kCalibrated).findings, IsEmpty());
  EXPECT_THAT(Evaluate(kRule, {{"layers_only", "False"}}, source, Profile::kCalibrated).Steps(),
              ElementsAre(4, 5));
}

TEST(VanishingGradientTest, WithoutWeightsEitherEndMayBeTheFirst) {
  for (const bool is_reversed : {false, true}) {
    FakeSource source;
    for (int step = 0; step < 5; ++step) {
      source.Step(step);
      source.Save(is_reversed ? "gradient/last" : "gradient/first", {is_reversed ? 1 : 1e-5},
                  {1, 1});
      source.Save(is_reversed ? "gradient/first" : "gradient/last", {is_reversed ? 1e-5 : 1},
                  {1, 1});
    }
    EXPECT_THAT(Evaluate(kRule, {}, source, Profile::kCalibrated).Tensors(),
                ElementsAre("gradient/first"));
  }
}

TEST(VanishingGradientTest, RefusesWhatMakesNoSense) {
  EXPECT_THAT(Refusal(kRule, {{"ratio", "0"}}), HasSubstr("ratio"));
  EXPECT_THAT(Refusal(kRule, {{"patience", "0"}}), HasSubstr("patience"));
}

// A training that goes on after everything is learned.
TEST(VanishingGradientTest, AGradientMayVanishWithTheLoss) {
  FakeSource source;
  for (int64_t step = 0; step < 20; ++step) {
    const std::vector<double> gradient(6, 1e-39);
    source.Step(step).Save("loss", {step < 3 ? 1e-3 : 0}).Save("gradient/a", gradient, {3, 2});
  }
  EXPECT_THAT(Evaluate(kRule, {}, source, Profile::kCalibrated).findings, IsEmpty());
  EXPECT_THAT(Evaluate(kRule, {{"floor", "None"}}, source, Profile::kCalibrated).Steps(),
              Not(IsEmpty()));
}

TEST(VanishingGradientTest, AllGradientsMayBeZeroForAWhile) {
  const auto steps = [](double other, const Parameters::Given &given) {
    FakeSource source;
    for (int64_t step = 0; step < 30; ++step) {
      const double now = step < 3 ? 1 : 0;
      source.Step(step).Save("gradient/a", {now, now}, {1, 2});
      source.Save("gradient/b", {now + other, now}, {1, 2});
    }
    return Evaluate(kRule, given, source, Profile::kCalibrated).Steps();
  };
  EXPECT_EQ(steps(0, {}).at(0), 22) << "as where all samples meet a margin";
  EXPECT_EQ(steps(0, {{"floor", "None"}}).at(0), 7);
  EXPECT_EQ(steps(0.1, {}).at(0), 7) << "of one layer alone";
}

TEST(VanishingGradientTest, ZerosOfOneOfTwoNetworksThatTakeTurnsAreFound) {
  FakeSource source;
  for (int64_t step = 0; step < 60; ++step) {
    const std::string name = step % 2 == 0 ? "gradient/critic_" : "gradient/generator_";
    const double now = step % 2 == 0 || step < 10 ? 1 : 0;
    source.Step(step).Save(name + "a", {now, now}, {1, 2}).Save(name + "b", {now, now}, {1, 2});
  }
  const Evaluated evaluated = Evaluate(kRule, {}, source, Profile::kCalibrated);
  ASSERT_THAT(evaluated.findings, Not(IsEmpty()));
  EXPECT_EQ(evaluated.Steps().at(0), 49);
}

TEST(VanishingGradientTest, LayersOfAModelThatHasLearnedAreNotCompared) {
  const auto steps = [](double last_loss, const Parameters::Given &given) {
    FakeSource source;
    for (int64_t step = 0; step < 12; ++step) {
      source.Step(step).Save("loss", {step < 3 ? 1.0 : last_loss});
      source.Save("gradient/first", {1e-6, 1e-6}, {1, 2}).Save("gradient/last", {1, 1}, {1, 2});
      source.Save("first", {1, 1}, {1, 2}).Save("last", {1, 1}, {1, 2});
    }
    return Evaluate(kRule, given, source, Profile::kCalibrated).Steps();
  };
  EXPECT_THAT(steps(0.1, {}), IsEmpty());
  EXPECT_THAT(steps(0.3, {}), Not(IsEmpty()));
  EXPECT_THAT(steps(0.1, {{"floor", "None"}}), Not(IsEmpty()));
}

TEST(VanishingGradientTest, AGradientThatWasNeverThereIsFoundAtALossOfZero) {
  FakeSource source;
  for (int64_t step = 0; step < 20; ++step) {
    source.Step(step).Save("loss", {0}).Save("gradient/a", std::vector<double>(6), {3, 2});
  }
  const Evaluated evaluated = Evaluate(kRule, {}, source, Profile::kCalibrated);
  ASSERT_THAT(evaluated.findings, Not(IsEmpty()));
  EXPECT_EQ(evaluated.findings[0].check, "unused");
}

TEST(VanishingGradientTest, ALossThatIsNoNumberIsNotLow) {
  FakeSource source;
  for (int64_t step = 0; step < 20; ++step) {
    const std::vector<double> gradient(6, 1e-39);
    source.Step(step).Save("loss", {std::nan("")}).Save("gradient/a", gradient, {3, 2});
  }
  EXPECT_THAT(Evaluate(kRule, {}, source, Profile::kCalibrated).findings, Not(IsEmpty()));
}

}  // namespace
}  // namespace smdebug::rules::vanishing_gradient_test
