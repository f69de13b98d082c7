#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "rules/evaluating.h"

namespace smdebug::rules::update_not_applied_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char *kRule = "UpdateNotApplied";

using Series = std::function<double(int64_t step)>;

double Same(int64_t) { return 1; }
double Falling(int64_t step) { return 1 - .01 * static_cast<double>(step); }
double Rising(int64_t step) { return 1 + static_cast<double>(step); }
double Alternating(int64_t step) { return step % 2 == 0 ? 1 : -0.9; }

struct Weight {
  std::string name;
  Series weight;
  Series gradient;  // none: it has no gradient
};

FakeSource Of(const std::vector<Weight> &weights, int64_t steps = 8) {
  FakeSource source;
  for (int64_t step = 0; step < steps; ++step) {
    source.Step(step, Mode::kTrain, step);
    for (const Weight &each : weights) source.Save(each.name, {each.weight(step), 2});
    for (const Weight &each : weights) {
      if (each.gradient) source.Save("gradient/" + each.name, {each.gradient(step), 1});
    }
  }
  return source;
}

TEST(UpdateNotAppliedTest, AWeightThatStaysWhileOthersChange) {
  FakeSource source = Of({{"a.weight", Falling, Alternating}, {"b.weight", Same, Alternating}}, 5);
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  ASSERT_THAT(evaluated.Steps(), ElementsAre(3, 4));
  EXPECT_EQ(evaluated.findings[0].tensor, "b.weight");
  EXPECT_EQ(evaluated.findings[0].check, "not_updated");
  EXPECT_EQ(evaluated.findings[0].value, 3);
  EXPECT_EQ(evaluated.findings[0].limit, 3);
  EXPECT_THAT(evaluated.findings[0].message, HasSubstr("other weights have"));
}

TEST(UpdateNotAppliedTest, AllWeightsThatStay) {
  FakeSource source = Of({{"a.weight", Same, Alternating}, {"b.weight", Same, Alternating}}, 5);
  EXPECT_THAT(Evaluate(kRule, {}, source).Checks(),
              ElementsAre("nothing_updated", "nothing_updated"));
  EXPECT_THAT(Evaluate(kRule, {{"patience_all", "5"}}, source).findings, IsEmpty());
}

TEST(UpdateNotAppliedTest, AHealthyTrainingIsSilent) {
  FakeSource source =
      Of({{"a.weight", Falling, Alternating}, {"b.weight", Falling, Alternating}}, 30);
  for (const Profile profile : {Profile::kAws, Profile::kCalibrated}) {
    const Evaluated evaluated = Evaluate(kRule, {}, source, profile);
    EXPECT_THAT(evaluated.findings, IsEmpty());
    EXPECT_EQ(evaluated.result.status, RuleStatus::kPassed);
  }
}

TEST(UpdateNotAppliedTest, UpdatesEveryFewStepsAreUpdates) {
  const auto every_third = [](int64_t step) { return static_cast<double>(step / 3); };
  FakeSource source =
      Of({{"a.weight", every_third, Alternating}, {"b.weight", every_third, Alternating}}, 20);
  EXPECT_THAT(Evaluate(kRule, {}, source).findings, IsEmpty());
}

TEST(UpdateNotAppliedTest, WithoutAGradientAWeightMayStay) {
  FakeSource source;
  for (int64_t step = 0; step < 6; ++step) {
    source.Step(step).Save("a.weight", {Falling(step)}).Save("b.weight", {1});
    source.Save("gradient/a.weight", {Alternating(step)}).Save("gradient/b.weight", {0});
  }
  EXPECT_THAT(Evaluate(kRule, {}, source).findings, IsEmpty());
}

TEST(UpdateNotAppliedTest, AGradientMayBeTooSmallToMatter) {
  FakeSource source;
  for (int64_t step = 0; step < 6; ++step) {
    source.Step(step).Save("a.weight", {Falling(step)}).Save("b.weight", {1});
    source.Save("gradient/a.weight", {Alternating(step)}).Save("gradient/b.weight", {1e-5});
  }
  EXPECT_THAT(Evaluate(kRule, {}, source).Checks(), Contains("not_updated"));
  EXPECT_THAT(Evaluate(kRule, {{"relevance", "1e-4"}}, source).findings, IsEmpty());
}

TEST(UpdateNotAppliedTest, EvaluationsDoNotCount) {
  FakeSource source;
  for (int64_t step = 0; step < 20; ++step) {
    const bool trains = step % 5 == 0;
    source.Step(step, trains ? Mode::kTrain : Mode::kEval, step);
    source.Save("a.weight", {static_cast<double>(step / 5)});
    if (trains) source.Save("gradient/a.weight", {Alternating(step)});
  }
  EXPECT_THAT(Evaluate(kRule, {}, source).findings, IsEmpty());
}

TEST(UpdateNotAppliedTest, GradientsThatAreNeverReset) {
  FakeSource source = Of({{"a.weight", Falling, Rising},
                          {"b.weight", Falling, Rising},
                          {"c.weight", Falling, Alternating}});
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  ASSERT_THAT(evaluated.Checks(), Contains("growing"));
  EXPECT_EQ(evaluated.findings[0].place.step, 3);
  EXPECT_EQ(evaluated.findings[0].tensor, "gradient/a.weight");
  EXPECT_THAT(evaluated.findings[0].message, HasSubstr("and 1 other with it"));
  const Parameters::Given five = {{"patience_growth", "5"}};
  EXPECT_EQ(Evaluate(kRule, five, source, Profile::kCalibrated).findings[0].place.step, 6);
}

// A weight that goes down a bowl from noisy gradients, which are reset or not.
FakeSource Descent(bool resets, double momentum) {
  constexpr size_t kSize = 20;
  FakeSource source;
  std::vector<double> weight(kSize, 1);
  std::vector<double> sum(kSize);
  std::vector<double> update(kSize);
  uint32_t random = 1;
  for (int64_t step = 0; step < 12; ++step) {
    std::vector<double> gradient = weight;
    for (double &each : gradient) {
      random = random * 1664525 + 1013904223;
      each += static_cast<double>(random) / 4e9;
    }
    source.Step(step, Mode::kTrain, step).Save("a.weight", weight);
    source.Save("gradient/a.weight", gradient);
    for (size_t i = 0; i < kSize; ++i) {
      sum[i] = gradient[i] + (resets ? 0 : sum[i]);
      update[i] = momentum * update[i] - 0.01 * sum[i];
      weight[i] += update[i];
    }
  }
  return source;
}

TEST(UpdateNotAppliedTest, UpdatesTellThatGradientsAreNeverReset) {
  for (const double momentum : {0.0, 0.9}) {
    FakeSource healthy = Descent(true, momentum);
    EXPECT_THAT(Evaluate(kRule, {}, healthy).findings, IsEmpty()) << momentum;
    FakeSource summed = Descent(false, momentum);
    const Evaluated evaluated = Evaluate(kRule, {}, summed);
    ASSERT_THAT(evaluated.Checks(), Contains("accumulating")) << momentum;
    EXPECT_EQ(evaluated.findings[0].tensor, "gradient/a.weight");
  }
}

double NoiseOf(uint32_t *random) {
  *random = *random * 1664525 + 1013904223;
  return static_cast<double>(*random) / 2147483648.0 - 1;
}

enum class Divides : uint8_t { kBySquares, kBySize };

// An optimiser that divides gradients by their size.  They change their direction at half of the
// steps, which their sum shows last.
FakeSource DividedDescent(bool resets, Divides divides, bool repeats = false) {
  constexpr size_t kSize = 40;
  constexpr int64_t kSteps = 120;
  FakeSource source;
  std::vector<double> weight(kSize, 1);
  std::vector<double> sum(kSize);
  std::vector<double> squares(kSize);
  uint32_t random = 1;
  for (int64_t step = 0; step < kSteps; ++step) {
    std::vector<double> gradient(kSize);
    for (size_t i = 0; i < kSize; ++i) {
      gradient[i] = (step < kSteps / 2 ? 0.5 : -0.5) + NoiseOf(&random);
    }
    source.Step(step, Mode::kTrain, step).Save("a.weight", weight);
    source.Save("Net_input_0", {repeats ? 1.0 : static_cast<double>(step)});
    source.Save("gradient/a.weight", gradient);
    for (size_t i = 0; i < kSize; ++i) {
      sum[i] = gradient[i] + (resets ? 0 : sum[i]);
      squares[i] = 0.99 * squares[i] + 0.01 * sum[i] * sum[i];
      const double size =
          divides == Divides::kBySize ? std::fabs(sum[i]) : std::sqrt(squares[i]) + 1e-8;
      weight[i] -= size > 0 ? 0.001 * sum[i] / size : 0;
    }
  }
  return source;
}

TEST(UpdateNotAppliedTest, SignsTellThatGradientsAreNeverReset) {
  for (const Divides divides : {Divides::kBySquares, Divides::kBySize}) {
    FakeSource healthy = DividedDescent(true, divides);
    EXPECT_THAT(Evaluate(kRule, {}, healthy, Profile::kCalibrated).findings, IsEmpty());
    FakeSource summed = DividedDescent(false, divides);
    const Evaluated evaluated = Evaluate(kRule, {}, summed, Profile::kCalibrated);
    ASSERT_THAT(evaluated.Checks(), Contains("accumulating"));
    EXPECT_EQ(evaluated.findings[0].tensor, "gradient/a.weight");
  }
}

TEST(UpdateNotAppliedTest, OfManyWeightsSomeShowIt) {
  constexpr size_t kSize = 16;
  for (const bool resets : {true, false}) {
    FakeSource source;
    std::vector<std::vector<double>> weights(200, std::vector<double>(kSize, 1));
    std::vector<std::vector<double>> sums(200, std::vector<double>(kSize));
    uint32_t random = 1;
    for (int64_t step = 0; step < 40; ++step) {
      source.Step(step, Mode::kTrain, step);
      for (size_t k = 0; k < weights.size(); ++k) {
        const std::string name = "layer" + std::to_string(k / 2) + (k % 2 == 0 ? ".bias" : ".w");
        source.Save(name, weights[k]);
        std::vector<double> gradient(kSize);
        for (size_t i = 0; i < kSize; ++i) {
          gradient[i] = NoiseOf(&random);
          sums[k][i] = gradient[i] + (resets ? 0 : sums[k][i]);
          weights[k][i] -= 0.001 * sums[k][i];
        }
        source.Save("gradient/" + name, gradient);
      }
    }
    const Evaluated evaluated = Evaluate(kRule, {}, source, Profile::kCalibrated);
    if (resets) {
      EXPECT_THAT(evaluated.findings, IsEmpty());
    } else {
      EXPECT_THAT(evaluated.Checks(), Contains("accumulating"));
    }
  }
}

// Weights of eight digits that are updated by 1 to 2 % of their last digit, or, with the last ones,
// by more.
FakeSource RoundedWeights(bool at_random) {
  constexpr size_t kSize = 40;
  FakeSource source;
  std::vector<double> weight(kSize);
  for (size_t i = 0; i < kSize; ++i) {
    weight[i] = i < 30 ? 0.75 + static_cast<double>(i % 3) / 256 : 0.0078125;
  }
  uint32_t random = 1;
  for (int64_t step = 0; step < 70; ++step) {
    source.Step(step, Mode::kTrain, step).Save("a.weight", weight);
    std::vector<double> gradient(kSize);
    for (size_t i = 0; i < kSize; ++i) {
      gradient[i] = 1 + NoiseOf(&random) / 2;
      const double digit = i < 30 ? 1.0 / 256 : 1.0 / 32768;
      const double digits = (weight[i] + 1e-4 * gradient[i]) / digit;
      const double up = at_random ? (NoiseOf(&random) + 1) / 2 : 0.5;
      weight[i] = std::floor(digits + up) * digit;
    }
    source.Save("gradient/a.weight", gradient);
  }
  return source;
}

TEST(UpdateNotAppliedTest, UpdatesThatAreRoundedAwayAreLost) {
  FakeSource lost = RoundedWeights(false);
  const Evaluated evaluated = Evaluate(kRule, {}, lost, Profile::kCalibrated);
  ASSERT_THAT(evaluated.Checks(), Contains("rounded_away"));
  EXPECT_EQ(evaluated.findings[0].tensor, "a.weight");
  EXPECT_EQ(evaluated.findings[0].value, 75);
  EXPECT_THAT(evaluated.findings[0].message, HasSubstr("too small for the digits"));
  FakeSource random = RoundedWeights(true);
  EXPECT_THAT(Evaluate(kRule, {}, random, Profile::kCalibrated).findings, IsEmpty());
  EXPECT_THAT(Evaluate(kRule, {{"rounded", "False"}}, lost, Profile::kCalibrated).findings,
              IsEmpty());
}

TEST(UpdateNotAppliedTest, WeightsOfFewDigitsMayRoundUpdatesAway) {
  FakeSource source;
  for (int64_t step = 0; step < 60; ++step) {
    source.Step(step, Mode::kTrain, step);
    source.Save("a.weight", std::vector<double>(200, 0.75 + 1.0 / 256));
    source.Save("gradient/a.weight", std::vector<double>(200, Alternating(step)));
  }
  const Evaluated evaluated = Evaluate(kRule, {}, source, Profile::kCalibrated);
  EXPECT_THAT(evaluated.Checks(), testing::Each("few_digits"));
  ASSERT_FALSE(evaluated.findings.empty());
  EXPECT_THAT(evaluated.findings[0].message, HasSubstr("have 8 binary digits"));
}

// As a normalisation's, in a training in bfloat16 throughout.
TEST(UpdateNotAppliedTest, WeightsNearOneOfFewDigitsAreLeftToOtherRules) {
  const auto with = [](double first, const Parameters::Given &parameters) {
    FakeSource source;
    for (int64_t step = 0; step < 60; ++step) {
      source.Step(step, Mode::kTrain, step);
      source.Save("norm.weight", std::vector<double>(200, first));
      source.Save("gradient/norm.weight", std::vector<double>(200, Alternating(step)));
      source.Save("fc.weight",
                  std::vector<double>(200, 0.5 + (63 - static_cast<double>(step)) / 256));
      source.Save("gradient/fc.weight", std::vector<double>(200, Alternating(step)));
    }
    return Evaluate(kRule, parameters, source, Profile::kCalibrated).Checks();
  };
  EXPECT_THAT(with(1, {{"rounded", "False"}}), IsEmpty());
  EXPECT_THAT(with(0.25, {{"rounded", "False"}}), Contains("not_updated"));
  EXPECT_THAT(with(1, {}), Contains("few_digits"));
}

TEST(UpdateNotAppliedTest, StepsOfEqualSizeUnderDecayAreNoSums) {
  constexpr size_t kSize = 16;
  FakeSource source;
  std::vector<double> weight(kSize);
  for (size_t i = 0; i < kSize; ++i) weight[i] = 1 + 0.01 * static_cast<double>(i);
  uint32_t random = 1;
  for (int64_t step = 0; step < 40; ++step) {
    std::vector<double> gradient(kSize);
    for (size_t i = 0; i < kSize; ++i) gradient[i] = (i % 3 == 0 ? 2 : -2) + NoiseOf(&random);
    source.Step(step, Mode::kTrain, step).Save("a.weight", weight);
    source.Save("gradient/a.weight", gradient);
    for (size_t i = 0; i < kSize; ++i) {
      weight[i] = weight[i] * 0.9995 - std::copysign(0.005, gradient[i]);
    }
  }
  EXPECT_THAT(Evaluate(kRule, {}, source, Profile::kCalibrated).findings, IsEmpty());
}

TEST(UpdateNotAppliedTest, GradientsOfOneBatchAreNotJudged) {
  FakeSource source = DividedDescent(false, Divides::kBySize, true);
  EXPECT_THAT(Evaluate(kRule, {}, source, Profile::kCalibrated).findings, IsEmpty());
}

// Recorded sums of noisy gradients, which are clipped, or single gradients.
FakeSource Clipped(bool resets) {
  constexpr size_t kSize = 256;
  FakeSource source;
  std::vector<double> sum(kSize);
  uint32_t random = 1;
  for (int64_t step = 0; step < 60; ++step) {
    double squares = 0;
    for (double &each : sum) {
      each = (resets ? 0 : each) + 0.3 + NoiseOf(&random);
      squares += each * each;
    }
    for (double &each : sum) each *= 8 / std::sqrt(squares);
    source.Step(step, Mode::kTrain, step);
    source.Save("gradient/a.weight", sum);
    source.Save("a.weight", std::vector<double>(kSize, 1 - 0.01 * static_cast<double>(step)));
  }
  return source;
}

TEST(UpdateNotAppliedTest, ClippedSumsDoNotGrow) {
  FakeSource healthy = Clipped(true);
  EXPECT_THAT(Evaluate(kRule, {}, healthy, Profile::kCalibrated).findings, IsEmpty());
  FakeSource summed = Clipped(false);
  const Evaluated evaluated = Evaluate(kRule, {}, summed, Profile::kCalibrated);
  ASSERT_THAT(evaluated.Checks(), Contains("accumulating"));
  EXPECT_THAT(evaluated.findings[0].message, HasSubstr("not reset"));
}

TEST(UpdateNotAppliedTest, WhatAHookSawDecidesWhetherGradientsAreSums) {
  for (const double held : {0.0, 0.5}) {
    FakeSource source = Clipped(false);
    source.Step(1, Mode::kTrain, 1).Save("held_gradient/a.weight", {0, held});
    const Evaluated evaluated = Evaluate(kRule, {}, source, Profile::kCalibrated);
    EXPECT_EQ(evaluated.findings.empty(), held == 0) << held;
  }
  FakeSource told = Clipped(false);  // by the trial
  told.Include("reset_gradients", "^gradient/");
  EXPECT_THAT(Evaluate(kRule, {}, told, Profile::kCalibrated).findings, IsEmpty());
}

// A weight that is updated at every `every`-th step, and held a gradient before each step.
FakeSource Holding(double held, int64_t every = 1) {
  FakeSource source;
  for (int64_t step = 0; step < 12; ++step) {
    source.Step(step, Mode::kTrain, step).Save("a.weight", {static_cast<double>(step / every), 1});
    if (step > 0) source.Save("held_gradient/a.weight", {0, held});
    source.Save("gradient/a.weight", {Alternating(step), 1});
  }
  return source;
}

TEST(UpdateNotAppliedTest, AGradientThatOutlastsUpdatesIsNotReset) {
  FakeSource source = Holding(0.5);
  const Evaluated evaluated = Evaluate(kRule, {}, source, Profile::kCalibrated);
  EXPECT_THAT(evaluated.Checks(), testing::Each("accumulating"));
  ASSERT_FALSE(evaluated.findings.empty());
  EXPECT_EQ(evaluated.findings[0].place.step, 3);
  EXPECT_EQ(evaluated.findings[0].tensor, "gradient/a.weight");
  EXPECT_THAT(evaluated.findings[0].message, HasSubstr("after 3 updates in a row"));
  FakeSource zeros = Holding(0);
  EXPECT_THAT(Evaluate(kRule, {}, zeros, Profile::kCalibrated).findings, IsEmpty());
  FakeSource accumulates = Holding(0.5, 12);  // gradients of several steps for one update
  EXPECT_THAT(Evaluate(kRule, {}, accumulates, Profile::kCalibrated).Checks(),
              Not(Contains("accumulating")));
}

TEST(UpdateNotAppliedTest, OneGradientThatGrowsIsNotAll) {
  FakeSource source = Of({{"a.weight", Falling, Rising},
                          {"b.weight", Falling, Alternating},
                          {"c.weight", Falling, Alternating}});
  EXPECT_THAT(Evaluate(kRule, {}, source).findings, IsEmpty());
}

TEST(UpdateNotAppliedTest, GradientsThatGrowInOtherDirectionsAreNew) {
  const auto turning = [](int64_t step) { return Alternating(step) * 10 * Rising(step); };
  FakeSource source = Of({{"a.weight", Falling, turning}});
  EXPECT_THAT(Evaluate(kRule, {}, source).findings, IsEmpty());
}

TEST(UpdateNotAppliedTest, LargeGradientsAreComparedByPart) {
  FakeSource source;
  for (int64_t step = 0; step < 6; ++step) {
    source.Step(step).Save("a.weight", {Falling(step)});
    source.Save("gradient/a.weight", std::vector<double>(5000, Rising(step)));
  }
  EXPECT_THAT(Evaluate(kRule, {}, source).Checks(), Contains("growing"));
}

TEST(UpdateNotAppliedTest, AWeightWithoutAnyGradient) {
  const auto other = [](int64_t) { return 7.0; };
  FakeSource source = Of({{"a.weight", Falling, Alternating},
                          {"b.weight", other, nullptr},
                          {"a_copy.weight_output_0", other, nullptr}});
  const Evaluated evaluated = Evaluate(kRule, {{"patience_gradient", "2"}}, source);
  ASSERT_THAT(evaluated.Steps(), ElementsAre(1)) << "it is told once";
  EXPECT_EQ(evaluated.findings[0].check, "no_gradient");
  EXPECT_EQ(evaluated.findings[0].tensor, "b.weight");
  EXPECT_THAT(evaluated.findings[0].message, Not(HasSubstr("others"))) << "copies of a script";
}

TEST(UpdateNotAppliedTest, AWeightOfALayerThatIsNotUsedIsOnlyWorthALook) {
  const auto without = [](const char *unused) {
    const auto same = [](int64_t) { return 7.0; };
    FakeSource source = Of({{"a.weight", Falling, Alternating},
                            {"b.weight", same, nullptr},
                            {"c.weight", same, nullptr},
                            {"d.weight", Falling, Alternating}});
    source.Include("not_used", unused);
    return Evaluate(kRule, {}, source, Profile::kCalibrated);
  };
  EXPECT_THAT(without("^b").Checks(), ElementsAre("no_gradient")) << "c is cut off";
  const Evaluated unused = without("^[bc]");
  ASSERT_THAT(unused.Checks(), ElementsAre("not_used"));
  EXPECT_EQ(unused.findings[0].tensor, "b.weight");
  EXPECT_EQ(unused.findings[0].level, Level::kWorthALook);
}

TEST(UpdateNotAppliedTest, GradientsThatAreNotRecordedAreNotMissing) {
  FakeSource biases = Of({{"a.weight", Falling, Alternating}, {"a.bias", Falling, nullptr}});
  EXPECT_THAT(Evaluate(kRule, {}, biases).findings, IsEmpty()) << "it changes";
  FakeSource constant = Of({{"a.weight", Falling, Alternating}, {"a.bias", Same, nullptr}});
  EXPECT_THAT(Evaluate(kRule, {}, constant).findings, IsEmpty()) << "no bias has a gradient";
  FakeSource average = Of({{"a.weight", Falling, Alternating}, {"ema/a.weight", Falling, nullptr}});
  EXPECT_THAT(Evaluate(kRule, {}, average).findings, IsEmpty());
}

TEST(UpdateNotAppliedTest, CopiesOfWeightsNeedNoGradient) {
  FakeSource source;
  for (int64_t step = 0; step < 9; ++step) {
    source.Step(step).Save("a.weight", {3, 5}).Save("ema/a.weight", {3, 5});
    source.Save("gradient/a.weight", {1e-9, 1e-9});
  }
  EXPECT_THAT(Evaluate(kRule, {}, source, Profile::kCalibrated).findings, IsEmpty());
}

TEST(UpdateNotAppliedTest, AverageOfABiasThatStaysAtZero) {
  const auto with = [](double first) {
    FakeSource source;
    for (int64_t step = 0; step < 9; ++step) {
      source.Step(step)
          .Save("a.bias", {static_cast<double>(step) / 9, 0})
          .Save("ema/a.bias", {first, first});
      source.Save("gradient/a.bias", {1, 1});
    }
    return Evaluate(kRule, {}, source, Profile::kCalibrated).Checks();
  };
  EXPECT_THAT(with(0), IsEmpty());
  EXPECT_THAT(with(7), ElementsAre("no_gradient"));
}

TEST(UpdateNotAppliedTest, NamesOfRecurrentNetworksTellBiasesFromWeights) {
  FakeSource source = Of({{"rnn.weight_hh_l0", Falling, Alternating},
                          {"rnn.bias_hh_l0", Falling, nullptr},
                          {"rnn.bias_ih_l0", Same, nullptr}},
                         9);
  EXPECT_THAT(Evaluate(kRule, {}, source).findings, IsEmpty()) << "biases are not recorded";
}

TEST(UpdateNotAppliedTest, WhoFreezesMostOfAModelMeansIt) {
  FakeSource source = Of({{"a.weight", Same, nullptr},
                          {"b.weight", Same, nullptr},
                          {"lora_b.weight", Falling, Alternating}});
  EXPECT_THAT(Evaluate(kRule, {}, source).findings, IsEmpty());
}

TEST(UpdateNotAppliedTest, GradientsThatCancelUpdateNothing) {
  const auto with = [](double other) {
    FakeSource source;
    for (int64_t step = 0; step < 9; ++step) {
      source.Step(step).Save("a.weight", {Falling(step)}).Save("a.bias", {1});
      source.Save("gradient/a.weight", {1});
      source.Save("gradient/a.bias", {step % 2 == 0 ? 1 : other});
    }
    return Evaluate(kRule, {}, source).Checks();
  };
  EXPECT_THAT(with(-1), IsEmpty()) << "as of a critic's real and false samples";
  EXPECT_THAT(with(-0.9), Contains("not_updated"));
}

TEST(UpdateNotAppliedTest, AnOptimizerThatMissesMostGradientsDoesNotMeanIt) {
  FakeSource source;
  for (int64_t step = 0; step < 6; ++step) {
    source.Step(step).Save("head.weight", {Falling(step)}).Save("gradient/head.weight", {1});
    for (const char *layer : {"a", "b", "c"}) source.Save(std::string(layer) + ".bias", {0});
    if (step > 0) source.Save("missing_gradient/b.bias", {0});
  }
  const Evaluated evaluated = Evaluate(kRule, {}, source, Profile::kCalibrated);
  EXPECT_THAT(evaluated.Checks(), ElementsAre("no_gradient"));
  EXPECT_THAT(evaluated.Tensors(), ElementsAre("b.bias")) << "of others, nothing is known";
  EXPECT_THAT(evaluated.findings[0].message, HasSubstr("though an optimizer is to update it"));
}

TEST(UpdateNotAppliedTest, AnOptimizerThatNeverHasAGradientUpdatesNothing) {
  const auto with = [](double change, bool is_idle) {
    FakeSource source;
    for (int64_t step = 0; step < 12; ++step) {
      source.Step(step).Save("a.weight", {1 + change * static_cast<double>(step)});
      if (is_idle) source.Save("idle_update/Adam_0", {0});
    }
    return Evaluate(kRule, {}, source, Profile::kCalibrated);
  };
  const Evaluated evaluated = with(0, true);
  EXPECT_THAT(evaluated.Steps(), ElementsAre(9, 10, 11));
  EXPECT_THAT(evaluated.Checks(), Contains("nothing_updated"));
  EXPECT_EQ(evaluated.findings[0].tensor, "a.weight");
  EXPECT_THAT(evaluated.findings[0].message, HasSubstr("no weight had a gradient at 10 updates"));
  EXPECT_THAT(with(1, true).findings, IsEmpty()) << "another optimizer updates it";
  EXPECT_THAT(with(0, false).findings, IsEmpty());
}

TEST(UpdateNotAppliedTest, FrozenWeightsMayStay) {
  FakeSource source = Of({{"a.weight", Falling, Alternating},
                          {"b.weight", Same, nullptr},
                          {"c.weight", Same, Alternating}});
  EXPECT_THAT(Evaluate(kRule, {{"frozen_regex", "^[bc]"}}, source).findings, IsEmpty());
  FakeSource thawed = source;
  source.Include("frozen", "^[bc]");
  EXPECT_THAT(Evaluate(kRule, {}, source).findings, IsEmpty());
  thawed.Include("once_frozen", "^[bc]");
  EXPECT_THAT(Evaluate(kRule, {}, thawed).Checks(), testing::Each("not_updated"));
}

TEST(UpdateNotAppliedTest, KnowsKerasNames) {
  FakeSource source;
  source.Include("weights", "kernel");
  source.Include("gradients", "^gradients/");
  for (int64_t step = 0; step < 5; ++step) {
    source.Step(step).Save("dense/kernel:0", {1}).Save("other/kernel:0", {Falling(step)});
    source.Save("gradients/dense/kernelGrad", {Alternating(step)});
    source.Save("gradients/other/kernelGrad", {Alternating(step)});
  }
  EXPECT_THAT(Evaluate(kRule, {}, source).Tensors(), Contains("dense/kernel:0"));
}

TEST(UpdateNotAppliedTest, EachWorkerHasItsOwn) {
  FakeSource source;
  for (int64_t step = 0; step < 5; ++step) {
    source.Step(step);
    for (const char *worker : {"a", "b"}) {
      source.By(worker).Save("x.weight", {Falling(step)});
      source.Save("y.weight", {*worker == 'a' ? Falling(step) : 1});
      source.Save("gradient/x.weight", {Alternating(step)});
      source.Save("gradient/y.weight", {Alternating(step)});
    }
  }
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  ASSERT_THAT(evaluated.Steps(), ElementsAre(3, 4));
  EXPECT_EQ(evaluated.findings[0].worker, "b");
}

TEST(UpdateNotAppliedTest, NeedsTwoStepsWithGradients) {
  FakeSource source = Of({{"a.weight", Same, Alternating}}, 1);
  EXPECT_EQ(Evaluate(kRule, {}, source).result.status, RuleStatus::kNotEnoughData);
  FakeSource without;
  without.Step(0).Save("loss", {1});
  EXPECT_EQ(Evaluate(kRule, {}, without).result.status, RuleStatus::kNoTensors);
}

TEST(UpdateNotAppliedTest, ItsParametersAreChecked) {
  for (const char *name : {"patience", "patience_all", "patience_gradient", "patience_growth"}) {
    EXPECT_THAT(Refusal(kRule, {{name, "0"}}), HasSubstr(name));
  }
  EXPECT_THAT(Refusal(kRule, {{"correlation", "2"}}), HasSubstr("correlation"));
  EXPECT_THAT(Refusal(kRule, {{"relevance", "-1"}}), HasSubstr("relevance"));
  EXPECT_THAT(Refusal(kRule, {{"frozen_regex", "("}}), HasSubstr("("));
}

}  // namespace
}  // namespace smdebug::rules::update_not_applied_test
