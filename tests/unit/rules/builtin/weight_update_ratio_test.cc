#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/strings.h"
#include "rules/evaluating.h"

namespace smdebug::rules::weight_update_ratio_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char *kRule = "WeightUpdateRatio";

TEST(WeightUpdateRatioTest, IsTheSumOfChangesOverTheSumOfWeights) {
  FakeSource source;
  source.Step(0).Save("weight", {1, -1, 2});
  source.Step(1).Save("weight", {-11, 19, 14});
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  ASSERT_THAT(evaluated.Steps(), ElementsAre(1));
  EXPECT_THAT(evaluated.Checks(), ElementsAre("large"));
  EXPECT_NEAR(evaluated.findings[0].value, 44.0 / 4, 1e-6);
  EXPECT_EQ(evaluated.findings[0].limit, 10);
  EXPECT_EQ(evaluated.findings[0].message,
            "the weight 'weight' changed by 11 of itself, more than the limit of 10");
}

TEST(WeightUpdateRatioTest, TheWorstOfEachSideIsNamed) {
  FakeSource source;
  const std::vector<double> before = {1};
  source.Step(0);
  for (const char *name : {"a", "b", "c", "d", "e"}) source.Save(StrCat(name, "/weight"), before);
  source.Step(1)
      .Save("a/weight", {12})
      .Save("b/weight", {13})
      .Save("c/weight", {1 + 1e-9})
      .Save("d/weight", {1})
      .Save("e/weight", {1.1});
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  EXPECT_THAT(evaluated.Tensors(), ElementsAre("b/weight", "d/weight"));
  EXPECT_THAT(evaluated.Checks(), ElementsAre("large", "small"));
  EXPECT_EQ(evaluated.findings[1].value, 0);
  EXPECT_EQ(evaluated.findings[1].limit, 1e-8);
}

TEST(WeightUpdateRatioTest, AThresholdItselfIsFine) {
  FakeSource source;
  source.Step(0).Save("weight", {4});
  source.Step(1).Save("weight", {6});
  EXPECT_THAT(Evaluate(kRule, {{"large_threshold", "0.5"}, {"epsilon", "0"}}, source).findings,
              IsEmpty());
  EXPECT_THAT(Evaluate(kRule, {{"small_threshold", "0.5"}, {"epsilon", "0"}}, source).findings,
              IsEmpty());
  EXPECT_THAT(Evaluate(kRule, {{"large_threshold", "0.49"}}, source).Checks(),
              ElementsAre("large"));
}

TEST(WeightUpdateRatioTest, EpsilonIsWhatZerosAreDividedBy) {
  FakeSource source;
  source.Step(0).Save("weight", {0});
  source.Step(1).Save("weight", {1e-9});
  source.Step(2).Save("weight", {1e-7});
  EXPECT_THAT(Evaluate(kRule, {{"epsilon", "1e-9"}}, source).Steps(), ElementsAre(2));
}

TEST(WeightUpdateRatioTest, ComparesWithAStepFarEnoughBack) {
  FakeSource source;
  const double values[] = {1, 2, 4, 8, 16, 400};
  for (int i = 0; i < 6; ++i) source.Step(2 * i).Save("weight", {values[i]});
  const Evaluated evaluated =
      Evaluate(kRule, {{"num_steps", "5"}, {"large_threshold", "10"}}, source);
  ASSERT_THAT(evaluated.Steps(), ElementsAre(10));
  EXPECT_NEAR(evaluated.findings[0].value, (400.0 - 4) / 4, 1e-6)
      << "of step 4, the newest up to 5";
  EXPECT_EQ(Evaluate(kRule, {{"num_steps", "11"}}, source).result.status,
            RuleStatus::kNotEnoughData);
  EXPECT_THAT(Evaluate(kRule, {{"num_steps", "11"}}, source).result.message, HasSubstr("11 steps"));
}

TEST(WeightUpdateRatioTest, OfAFarStepNotEveryValueInBetweenIsKept) {
  FakeSource source;
  for (int step = 0; step < 400; ++step) source.Step(step).Save("weight", {1.0 + step});
  const Evaluated evaluated =
      Evaluate(kRule, {{"num_steps", "160"}, {"large_threshold", "0.0001"}}, source);
  ASSERT_EQ(evaluated.findings.size(), 240);
  EXPECT_NEAR(evaluated.findings[0].value, 160, 1e-6);
  for (const Finding &finding : evaluated.findings) {
    const auto now = static_cast<double>(finding.place.step + 1);
    const double before = now / (1 + finding.value);
    EXPECT_GE(now - before, 160 - 1e-6);
    EXPECT_LE(now - before, 170 + 1e-6);
  }
}

TEST(WeightUpdateRatioTest, StepsOfTrainingGoBeforeOthers) {
  FakeSource source;
  source.Step(0, Mode::kGlobal, 0).Save("weight", {1});
  source.Step(1, Mode::kTrain, 0).Save("weight", {100});
  source.Step(2, Mode::kEval, 0).Save("weight", {100});
  source.Step(3, Mode::kTrain, 1).Save("weight", {110});
  source.Step(4, Mode::kGlobal, 4).Save("weight", {1e6});
  source.Step(5, Mode::kTrain, 2).Save("weight", {110});
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  EXPECT_THAT(evaluated.Steps(), ElementsAre(5));
  EXPECT_THAT(evaluated.Checks(), ElementsAre("small"));
}

TEST(WeightUpdateRatioTest, WorkersAreKeptApart) {
  FakeSource source;
  source.Step(0).By("a").Save("weight", {1}).By("b").Save("weight", {100});
  source.Step(1).By("a").Save("weight", {1.1}).By("b").Save("weight", {100});
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  ASSERT_EQ(evaluated.findings.size(), 1);
  EXPECT_EQ(evaluated.findings[0].worker, "b");
}

TEST(WeightUpdateRatioTest, OfEveryType) {
  for (const tensor::DType dtype : tensor::kRealTypes) {
    FakeSource source;
    source.Step(0).Save("weight", tensor::TensorOfNumbers(dtype, {1, 1, 0}));
    source.Step(1).Save("weight", tensor::TensorOfNumbers(dtype, {1, 0, 1}));
    const Evaluated evaluated = Evaluate(kRule, {{"large_threshold", "0.9"}}, source);
    ASSERT_EQ(evaluated.findings.size(), 1) << DTypeName(dtype);
    EXPECT_NEAR(evaluated.findings[0].value, 1, 1e-6) << DTypeName(dtype);
  }
}

TEST(WeightUpdateRatioTest, NotANumberIsAnotherRulesFault) {
  FakeSource source;
  source.Step(0).Save("weight", {1});
  source.Step(1).Save("weight", {std::nan("")});
  source.Step(2).Save("weight", {1});
  EXPECT_THAT(Evaluate(kRule, {}, source).findings, IsEmpty());
}

TEST(WeightUpdateRatioTest, AnotherShapeBeginsAnew) {
  FakeSource source;
  source.Step(0).Save("weight", {1});
  source.Step(1).Save("weight", {1, 1});
  source.Step(2).Save("weight", std::vector<double>());
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  EXPECT_EQ(evaluated.result.status, RuleStatus::kNotEnoughData);
  EXPECT_THAT(evaluated.result.message, HasSubstr("two values of a weight"));
}

// A weight that changes by a factor at each of ten steps, and its gradient.
FakeSource Training(double factor, std::optional<double> gradient) {
  FakeSource source;
  double weight = 1;
  for (int step = 0; step < 10; ++step) {
    source.Step(step, Mode::kTrain, step).Save("weight", {weight});
    if (gradient) source.Save("gradient/weight", {*gradient});
    source.Save("gradient/other", {1});
    weight *= factor;
  }
  return source;
}

TEST(WeightUpdateRatioTest, CalibratedBandIsThatOfHealthyTrainings) {
  const auto steps = [](double factor, const Parameters::Given &parameters = {}) {
    FakeSource source = Training(factor, 1);
    return Evaluate(kRule, parameters, source, Profile::kCalibrated).Steps();
  };
  EXPECT_THAT(steps(1.001), IsEmpty());
  EXPECT_THAT(steps(2.2), ElementsAre(5, 6, 7, 8, 9)) << "five in a row";
  EXPECT_THAT(steps(1 + 1e-9), ElementsAre(5, 6, 7, 8, 9));
  EXPECT_THAT(steps(2.2, {{"patience", "9"}}), ElementsAre(9));
}

TEST(WeightUpdateRatioTest, CalibratedLeavesFrozenWeightsAlone) {
  for (const std::optional<double> none : {std::optional<double>(), std::optional<double>(0)}) {
    FakeSource frozen = Training(1, none);
    EXPECT_THAT(Evaluate(kRule, {}, frozen, Profile::kCalibrated).findings, IsEmpty());
    EXPECT_FALSE(Evaluate(kRule, {}, frozen).findings.empty());
  }
  FakeSource stuck = Training(1, 1);
  EXPECT_THAT(Evaluate(kRule, {{"patience", "1"}}, stuck, Profile::kCalibrated).Checks(),
              ElementsAre("small", "small", "small", "small", "small", "small"));
}

TEST(WeightUpdateRatioTest, AWeightOfAConvergedTrainingMayStay) {
  const auto ends_with = [](std::optional<double> gradient) {
    FakeSource source;
    for (int step = 0; step < 40; ++step) {
      const bool is_over = step > 5;
      source.Step(step).Save("weight", {is_over ? 6.0 : step + 1.0});
      if (gradient || !is_over) source.Save("gradient/weight", {is_over ? *gradient : 1});
    }
    return Evaluate(kRule, {}, source, Profile::kCalibrated).Checks();
  };
  EXPECT_THAT(ends_with(1e-6), IsEmpty());
  EXPECT_THAT(ends_with({}), IsEmpty()) << "frozen since";
  EXPECT_THAT(ends_with(1e-3), Contains("small"));
}

TEST(WeightUpdateRatioTest, CalibratedKnowsKerasNames) {
  FakeSource source;
  source.Include("weights", "^dense/kernel");
  for (int step = 0; step < 7; ++step) {
    source.Step(step).Save("gradients/dense/kernelGrad", {1}).Save("dense/kernel:0", {1});
  }
  EXPECT_THAT(Evaluate(kRule, {{"patience", "1"}}, source, Profile::kCalibrated).Steps(),
              ElementsAre(4, 5, 6));
}

TEST(WeightUpdateRatioTest, CalibratedDividesByTheStepsInBetween) {
  FakeSource source;
  for (int i = 0; i < 8; ++i) {
    source.Step(100 * i).Save("weight", {std::pow(3.0, i)}).Save("gradient/weight", {1});
  }
  EXPECT_THAT(Evaluate(kRule, {}, source, Profile::kCalibrated).findings, IsEmpty());
  EXPECT_THAT(Evaluate(kRule, {{"per_step", "False"}}, source, Profile::kCalibrated).Steps(),
              ElementsAre(500, 600, 700));
}

TEST(WeightUpdateRatioTest, ASampleIsAsGood) {
  FakeSource source;
  std::vector<double> numbers(50'000, 1);
  source.Step(0).Save("weight", numbers);
  for (size_t i = 0; i < numbers.size(); i += 2) numbers[i] = 41;
  source.Step(1).Save("weight", numbers);
  const Evaluated evaluated = Evaluate(kRule, {{"sample", "1000"}}, source);
  ASSERT_THAT(evaluated.Steps(), ElementsAre(1));
  EXPECT_NEAR(evaluated.findings[0].value, 20, 1e-6);
}

TEST(WeightUpdateRatioTest, RefusesWhatMakesNoSense) {
  EXPECT_THAT(Refusal(kRule, {{"num_steps", "0"}}), HasSubstr("num_steps"));
  EXPECT_THAT(Refusal(kRule, {{"large_threshold", "0"}}), HasSubstr("large_threshold"));
  EXPECT_THAT(Refusal(kRule, {{"small_threshold", "11"}}), HasSubstr("small_threshold"));
  EXPECT_THAT(Refusal(kRule, {{"epsilon", "-1"}}), HasSubstr("epsilon"));
  EXPECT_EQ(Refusal(kRule, {{"num_steps", "None"}}), "");
}

TEST(WeightUpdateRatioTest, WithoutWeightsNothingIsJudged) {
  FakeSource source;
  source.Step(0).Save("loss", {1});
  EXPECT_EQ(Evaluate(kRule, {}, source).result.status, RuleStatus::kNoTensors);
}

// A weight of small updates; at step 4, one element is multiplied.
FakeSource WithAJump(double factor, size_t size = 40, size_t place = 7) {
  FakeSource source;
  std::vector<double> weight(size);
  for (size_t i = 0; i < size; ++i) weight[i] = 0.1 + 0.01 * static_cast<double>(i);
  for (int64_t step = 0; step < 7; ++step) {
    if (step == 4) weight[place] *= factor;
    for (size_t i = 0; i < size; ++i) weight[i] -= 1e-4 * static_cast<double>(1 + i % 3);
    source.Step(step, Mode::kTrain, step).Save("a.weight", weight);
  }
  return source;
}

TEST(WeightUpdateRatioTest, AnElementWhoseBitFlipped) {
  for (const double factor : {0.25, 2.0, -4.0, 65536.0, 0x1p64}) {
    FakeSource source = WithAJump(factor);
    const Evaluated evaluated = Evaluate(kRule, {}, source, Profile::kCalibrated);
    ASSERT_THAT(evaluated.Checks(), ElementsAre("element")) << factor;
    EXPECT_THAT(evaluated.Steps(), ElementsAre(4));
    EXPECT_EQ(evaluated.findings[0].tensor, "a.weight");
    EXPECT_THAT(evaluated.findings[0].message, HasSubstr("a bit may have flipped"));
    EXPECT_THAT(Evaluate(kRule, {{"element", "None"}}, source, Profile::kCalibrated).findings,
                IsEmpty());
  }
}

TEST(WeightUpdateRatioTest, AnElementWhoseBitFlippedAnywhere) {
  constexpr size_t kSize = 5003;  // several blocks, of which the last has a remainder
  for (const size_t place : {0U, 8U, 2047U, 2048U, 4999U, 5002U}) {
    FakeSource source = WithAJump(65536, kSize, place);
    const Evaluated evaluated = Evaluate(kRule, {{"sample", "0"}}, source, Profile::kCalibrated);
    ASSERT_THAT(evaluated.Checks(), ElementsAre("element")) << place;
    EXPECT_THAT(evaluated.Steps(), ElementsAre(4));
  }
}

// The element is multiplied after an update that both records of it enclose.
TEST(WeightUpdateRatioTest, AnElementWhoseBitFlippedAfterAnUpdate) {
  FakeSource source;
  std::vector<double> weight(40);
  for (size_t i = 0; i < weight.size(); ++i) weight[i] = 0.008 + 0.01 * static_cast<double>(i);
  for (int64_t step = 0; step < 7; ++step) {
    for (double &each : weight) each += 1e-4;
    if (step == 4) weight[0] *= 2048;
    source.Step(step, Mode::kTrain, step).Save("a.weight", weight);
  }
  const Evaluated evaluated = Evaluate(kRule, {}, source, Profile::kCalibrated);
  ASSERT_THAT(evaluated.Checks(), ElementsAre("element"));
  EXPECT_THAT(evaluated.Steps(), ElementsAre(4));
}

// A weight of 4 outputs and 4 inputs whose elements take these values, one a step.
Evaluated OfValues(const std::vector<double> &values, const std::string &name = "a.weight",
                   const Parameters::Given &parameters = {}) {
  FakeSource source;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto step = static_cast<int64_t>(i);
    source.Step(step, Mode::kTrain, step).Save(name, std::vector<double>(16, values[i]), {4, 4});
  }
  return Evaluate(kRule, parameters, source, Profile::kCalibrated);
}

TEST(WeightUpdateRatioTest, TheFirstUpdatesAreJudgedForAllWeightsTogether) {
  // Of one layer.
  const Evaluated evaluated = OfValues({0.5, 0.5, 6, 6.1, 6.2});
  ASSERT_THAT(evaluated.Checks(), ElementsAre("first_updates"));
  EXPECT_THAT(evaluated.Steps(), ElementsAre(2));
  EXPECT_EQ(evaluated.findings[0].value, 11);
  EXPECT_EQ(evaluated.findings[0].limit, 10);
  EXPECT_EQ(evaluated.findings[0].message,
            "one of the first updates changed all weights by 11 of themselves, 'a.weight' most; "
            "the limit is 10");
  EXPECT_THAT(evaluated.Clues(), ElementsAre("large_first_updates"));
  EXPECT_THAT(OfValues({0.5, 0.5, 6, 6.1}, "a.weight", {{"first", "None"}}).findings, IsEmpty());
  EXPECT_THAT(OfValues({0.5, 1.5}).findings, IsEmpty());
  EXPECT_THAT(OfValues({0.5, 1.5}).Clues(), ElementsAre("large_first_updates"));
  EXPECT_THAT(OfValues({0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 9}).Clues(), IsEmpty());
  EXPECT_THAT(OfValues({0.5, INFINITY}).Checks(), ElementsAre("first_updates"));
  EXPECT_THAT(OfValues({0.5, NAN}).Checks(), IsEmpty()) << "the gradient was none";
}

TEST(WeightUpdateRatioTest, AFewElementsOrTheOnlyLayerMayBeginSmall) {
  const auto checks_of = [](double second, size_t elements, std::vector<std::string> weights) {
    FakeSource source;
    for (int64_t step = 0; step < 3; ++step) {
      source.Step(step, Mode::kTrain, step);
      const std::vector<double> values(elements, step == 0 ? 0.5 : second);
      const auto size = static_cast<int64_t>(elements);
      for (const std::string &each : weights) source.Save(each, values, {1, size});
    }
    return Evaluate(kRule, {}, source, Profile::kCalibrated).Checks();
  };
  EXPECT_THAT(checks_of(2.5, 7, {"a.weight", "b.weight"}), IsEmpty());
  EXPECT_THAT(checks_of(6, 7, {"a.weight", "b.weight"}), ElementsAre("first_updates"));
  EXPECT_THAT(checks_of(2.5, 8, {"a.weight", "b.weight"}), ElementsAre("first_updates"));
  EXPECT_THAT(checks_of(2.5, 64, {"a.weight"}), IsEmpty());
  EXPECT_THAT(checks_of(6, 64, {"a.weight"}), ElementsAre("first_updates"));
}

TEST(WeightUpdateRatioTest, WeightsThatBeginAtZeroMayMoveFar) {
  EXPECT_THAT(OfValues({0, 0.001, 0.1, 0.2}).findings, IsEmpty());
  EXPECT_THAT(OfValues({0, 0.001, 0.1, 0.2}).Clues(), IsEmpty());
}

TEST(WeightUpdateRatioTest, ABiasSaysNothingOfAllWeights) {
  FakeSource source;
  for (int64_t step = 0; step < 4; ++step) {
    source.Step(step, Mode::kTrain, step).Save("a.weight", {0.001 + static_cast<double>(step), 1});
  }
  EXPECT_THAT(Evaluate(kRule, {}, source, Profile::kCalibrated).Clues(), IsEmpty());
}

TEST(WeightUpdateRatioTest, TheSizeOfWeightsIsAClue) {
  EXPECT_THAT(OfValues({1.1, 1.2}).Clues(), ElementsAre("large_weights"));
  EXPECT_THAT(OfValues({0.02, 0.03}).Clues(), ElementsAre("small_weights"));
  EXPECT_THAT(OfValues({0.5, 0.6}).Clues(), IsEmpty());
  EXPECT_THAT(OfValues({1.1, 1.2}, "tok_embeddings.weight").Clues(), IsEmpty());
  EXPECT_EQ(OfValues({1.1, 1.2}).clues[0].first.message,
            "the weight 'a.weight' begins 2.2 times as large as one over the root of its inputs");
  // Nothing is said of weights that no update changes.
  EXPECT_THAT(OfValues({1.1, 1.1}).Clues(), IsEmpty());
}

TEST(WeightUpdateRatioTest, ALastLayerMayBeginSmall) {
  const auto clues = [](double of_others) {
    FakeSource source;
    for (int64_t step = 0; step < 2; ++step) {
      const double change = 1 + 0.1 * static_cast<double>(step);
      source.Step(step, Mode::kTrain, step)
          .Save("head.weight", std::vector<double>(16, 0.02 * change), {4, 4})
          .Save("body.weight", std::vector<double>(16, of_others * change), {4, 4});
    }
    return Evaluate(kRule, {}, source, Profile::kCalibrated).Clues();
  };
  EXPECT_THAT(clues(0.5), IsEmpty());
  EXPECT_THAT(clues(0.02), ElementsAre("small_weights"));
}

// Each update of a weight of about 1 is `factor` times the one before, after as many alike.
std::vector<double> Growing(double size, double factor, size_t alike, size_t more) {
  std::vector<double> values = {1};
  for (size_t i = 0; i < alike + more; ++i) {
    if (i >= alike) size *= factor;
    values.push_back(values.back() + (i % 2 == 0 ? size : -size));
  }
  return values;
}

TEST(WeightUpdateRatioTest, HowFarUpdatesUsuallyMoveIsToldOrAClue) {
  const Evaluated large = OfValues(Growing(0.3, 1, 31, 0));
  ASSERT_THAT(large.Checks(), ElementsAre("large_updates"));
  EXPECT_EQ(large.findings[0].level, Level::kWorthALook);
  EXPECT_EQ(large.findings[0].limit, 0.2);
  EXPECT_THAT(OfValues(Growing(0.3, 1, 31, 0), "a.weight", {{"usual", "None"}}).findings,
              IsEmpty());
  EXPECT_THAT(OfValues(Growing(1e-6, 1, 31, 0)).Clues(), ElementsAre("small_updates"));
  EXPECT_THAT(OfValues(Growing(0.01, 1, 31, 0)).Clues(), IsEmpty());
  EXPECT_THAT(OfValues(Growing(0.01, 1, 31, 0)).findings, IsEmpty());
  EXPECT_THAT(OfValues(Growing(2e-4, 1, 31, 0)).Clues(), ElementsAre("slow_updates"));
  EXPECT_THAT(OfValues(Growing(0.3, 1, 20, 0)).findings, IsEmpty());
}

TEST(WeightUpdateRatioTest, UpdatesThatAreTinyMoveNothing) {
  const Evaluated evaluated = OfValues(Growing(2e-7, 1, 60, 0));
  ASSERT_THAT(evaluated.Checks(), ElementsAre("tiny_updates"));
  EXPECT_EQ(evaluated.findings[0].level, Level::kFinding);
  EXPECT_THAT(
      evaluated.findings[0].message,
      "each of the last updates changed all weights by about 2e-07 of themselves, less than "
      "the limit of 5e-06: a thousand of them change the weights by at most 0.02 %");
  EXPECT_THAT(OfValues(Growing(2e-7, 1, 59, 0)).findings, IsEmpty());
  EXPECT_THAT(OfValues(Growing(2e-7, 1, 60, 0), "a.weight", {{"tiny", "None"}}).findings,
              IsEmpty());
  EXPECT_THAT(OfValues(Growing(1e-5, 1, 60, 0)).findings, IsEmpty());
  const Evaluated look = OfValues(Growing(2e-6, 1, 60, 0));
  ASSERT_THAT(look.Checks(), ElementsAre("tiny_updates"));
  EXPECT_EQ(look.findings[0].level, Level::kWorthALook);
}

TEST(WeightUpdateRatioTest, UpdatesOfAWarmUpMayBeTiny) {
  std::vector<double> values = {1};
  for (int i = 1; i <= 80; ++i) values.push_back(values.back() + (i % 2 == 0 ? 2e-8 : -2e-8) * i);
  EXPECT_THAT(OfValues(values).findings, IsEmpty());
}

TEST(WeightUpdateRatioTest, WeightsThatShrinkToNothing) {
  const auto of = [](double factor, int64_t steps) {
    FakeSource source;
    double value = 1;
    for (int64_t step = 0; step < steps; ++step, value *= factor) {
      source.Step(step).Save("a.weight", std::vector<double>(16, value), {4, 4});
    }
    return Evaluate(kRule, {}, source, Profile::kCalibrated);
  };
  const Evaluated evaluated = of(0.97, 80);
  ASSERT_THAT(evaluated.Checks(), Contains("shrunk"));
  EXPECT_EQ(evaluated.findings.back().level, Level::kFinding);
  EXPECT_THAT(evaluated.findings.back().message, HasSubstr("weight decay"));
  const Evaluated look = of(0.99, 95);
  ASSERT_THAT(look.Checks(), ElementsAre("shrunk"));
  EXPECT_EQ(look.findings[0].level, Level::kWorthALook);
  EXPECT_THAT(of(0.995, 100).findings, IsEmpty());
}

FakeSource Rates(const std::function<double(int64_t)> &rate, int64_t steps) {
  FakeSource source;
  for (int64_t step = 0; step < steps; ++step) {
    source.Step(step).Save("learning_rate/Adam_0", {rate(step)}).Save("a.weight", {1, 2}, {1, 2});
  }
  return source;
}

TEST(WeightUpdateRatioTest, AScheduleMayEndNearZero) {
  const auto with = [](double last_rate) {
    FakeSource source;
    for (int64_t step = 0; step < 60; ++step) {
      const double rate = step < 50 ? 0.1 : last_rate;
      source.Step(step).Save("learning_rate/Adam_0", {rate});
      source.Save("a.weight", {1 + (step < 50 ? 1e-3 : 1e-10) * static_cast<double>(step), 2});
      source.Save("gradient/a.weight", {1, 1});
    }
    return Evaluate(kRule, {}, source, Profile::kCalibrated).Checks();
  };
  EXPECT_THAT(with(0.1), Contains("small"));
  EXPECT_THAT(with(1e-9), testing::Not(Contains("small")));
}

TEST(WeightUpdateRatioTest, ARateThatFadesEarlyLeavesTheTrainingStanding) {
  FakeSource halved = Rates([](int64_t step) { return std::pow(0.5, step / 10); }, 200);
  const Evaluated evaluated = Evaluate(kRule, {}, halved, Profile::kCalibrated);
  ASSERT_THAT(evaluated.Checks(), Contains("faded"));
  // From step 80 on it is below 1/200; at step 140 that was 60 steps, and more than a third.
  EXPECT_EQ(evaluated.findings[0].place.step, 140);
  EXPECT_EQ(evaluated.findings[0].tensor, "learning_rate/Adam_0");
  EXPECT_THAT(evaluated.findings[0].message, HasSubstr("since step 80"));
  EXPECT_THAT(Evaluate(kRule, {{"faded", "None"}}, halved, Profile::kCalibrated).findings,
              IsEmpty());
  FakeSource at_times = Rates([](int64_t step) { return std::pow(0.5, step / 30); }, 500);
  EXPECT_THAT(Evaluate(kRule, {}, at_times, Profile::kCalibrated).Checks(), Contains("faded"));
}

TEST(WeightUpdateRatioTest, SchedulesMayEndNearZeroOrBeginThere) {
  const std::function<double(int64_t)> schedules[] = {
      [](int64_t step) { return 1 - static_cast<double>(step) / 1000; },
      [](int64_t step) { return 1 + std::cos(static_cast<double>(step) * 3.1416 / 1000); },
      [](int64_t step) { return static_cast<double>(step); },
      [](int64_t step) { return step < 500   ? 1
                                : step < 750 ? 0.1
                                             : 0.01; },
      [](int64_t) { return 0.0; },
      // By progress: no cut for long, and then many.
      [](int64_t step) { return step < 300 ? 1 : std::pow(0.5, (step - 280) / 20); },
      [](int64_t step) { return step % 50 == 0 ? 1 : 0.001; },
      [](int64_t) { return NAN; },
  };
  for (const auto &schedule : schedules) {
    FakeSource source = Rates(schedule, 1000);
    EXPECT_THAT(Evaluate(kRule, {}, source, Profile::kCalibrated).Checks(),
                testing::Not(Contains("faded")));
  }
}

TEST(WeightUpdateRatioTest, UpdatesThatGrowAreAClue) {
  const Evaluated evaluated = OfValues(Growing(1e-3, 1.2, 40, 14));
  ASSERT_THAT(evaluated.Clues(), ElementsAre("growing_updates"));
  EXPECT_GT(evaluated.clues[0].first.value, 1.08);
  EXPECT_LT(evaluated.clues[0].first.value, 1.21);
  EXPECT_THAT(OfValues(Growing(1e-3, 1.03, 40, 14)).Clues(), IsEmpty());
  // As in a warm-up.
  EXPECT_THAT(OfValues(Growing(1e-3, 1.2, 0, 16)).Clues(), IsEmpty());
  // As after a restart of the schedule.
  std::vector<double> restarted = Growing(1e-2, 0.8, 30, 12);
  for (const double each : Growing(1e-3, 1.2, 0, 12)) restarted.push_back(each);
  EXPECT_THAT(OfValues(restarted).Clues(), IsEmpty());
}

TEST(WeightUpdateRatioTest, OtherJumpsAreUpdates) {
  for (const double factor : {1.0, 1.5, 3.0, 0.0}) {
    FakeSource source = WithAJump(factor);
    EXPECT_THAT(Evaluate(kRule, {}, source, Profile::kCalibrated).findings, IsEmpty()) << factor;
  }
  FakeSource few = WithAJump(4, 8);
  EXPECT_THAT(Evaluate(kRule, {}, few, Profile::kCalibrated).findings, IsEmpty());
}

TEST(WeightUpdateRatioTest, StepsWithoutAChangeMayAccumulate) {
  const auto with = [](int64_t each) {
    FakeSource source;
    for (int64_t step = 0; step < 48; ++step) {
      source.Step(step).Save("a.weight", {1 + 0.01 * static_cast<double>(step / each), 2});
      source.Save("gradient/a.weight", {1, 1});
    }
    return Evaluate("WeightUpdateRatio", {}, source, Profile::kCalibrated).findings;
  };
  EXPECT_THAT(with(8), testing::IsEmpty());
  EXPECT_THAT(with(16), testing::IsEmpty());
  EXPECT_THAT(with(48), testing::Not(testing::IsEmpty()));
}

}  // namespace
}  // namespace smdebug::rules::weight_update_ratio_test
