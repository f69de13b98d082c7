#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "rules/evaluating.h"

namespace smdebug::rules::loss_not_decreasing_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char *kRule = "LossNotDecreasing";
constexpr const char *kLoss = "CrossEntropyLoss_output_0";

// A loss that is saved every few steps.
void Tell(FakeSource &source, const std::vector<double> &losses, int64_t interval,
          const std::string &tensor = kLoss, Mode mode = Mode::kGlobal) {
  int64_t step = 0;
  for (const double loss : losses) {
    source.Step(step, mode, step).Save(tensor, {loss});
    step += interval;
  }
}

// The cases that the rule's 2019 tests fix: losses at steps 0, 4, 8, ...
class OfOldTests : public testing::Test {
 protected:
  Evaluated Of(const std::vector<double> &losses, Parameters::Given parameters,
               const Range &range = {}) {
    FakeSource source;
    Tell(source, losses, 4);
    return Evaluate(kRule, parameters, source, Profile::kAws, range);
  }
  const std::vector<double> five_ = {.3, .33, .31, .30, .28};
  const std::vector<double> seven_ = {.3, .33, .31, .30, .28, .20, .42};
};

TEST_F(OfOldTests, FirstFoundAtTheStepAfterTen) {
  EXPECT_THAT(Of(five_, {}).Steps(), ElementsAre(12));
  EXPECT_THAT(Of(five_, {{"legacy_2019", "True"}}).Steps(), ElementsAre(12));
}

TEST_F(OfOldTests, NothingFromStep13On) {
  EXPECT_THAT(Of(five_, {}, {13, {}, false}).Steps(), IsEmpty());
  EXPECT_THAT(Of(five_, {{"legacy_2019", "True"}}, {13, {}, false}).Steps(), IsEmpty());
}

TEST_F(OfOldTests, APercentageOnceWasOneOfRise) {
  EXPECT_THAT(Of(seven_, {{"legacy_2019", "True"}, {"diff_percent", "20"}}).Steps(),
              ElementsAre(24));
}

TEST_F(OfOldTests, AndIsOneOfFallAsDocumented) {
  const Evaluated evaluated = Of(seven_, {{"diff_percent", "20"}});
  EXPECT_THAT(evaluated.Steps(), ElementsAre(12, 24));
  EXPECT_THAT(evaluated.Checks(), ElementsAre("not_decreasing", "increasing"));
}

TEST(LossNotDecreasingTest, IsCheckedAsTheDocumentationsExample) {
  FakeSource source;
  for (int64_t step = 9; step <= 33; step += 3) source.Step(step).Save(kLoss, {1});
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  ASSERT_THAT(evaluated.Steps(), ElementsAre(21, 33));
  EXPECT_THAT(evaluated.findings[0].message, HasSubstr("after 1 at step 9"));
}

TEST(LossNotDecreasingTest, ALossThatFallsIsFine) {
  FakeSource source;
  Tell(source, {1, .9, .8, .7}, 10);
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  EXPECT_THAT(evaluated.findings, IsEmpty());
  EXPECT_EQ(evaluated.result.status, RuleStatus::kPassed);
}

TEST(LossNotDecreasingTest, ThePercentageIsOfTheEarlierLoss) {
  FakeSource source;
  Tell(source, {2, 1.5}, 10);
  EXPECT_THAT(Evaluate(kRule, {{"diff_percent", "25"}}, source).findings, IsEmpty());
  const Evaluated evaluated = Evaluate(kRule, {{"diff_percent", "26"}}, source);
  ASSERT_THAT(evaluated.Steps(), ElementsAre(10));
  EXPECT_EQ(evaluated.findings[0].value, 25);
  EXPECT_EQ(evaluated.findings[0].limit, 26);
  EXPECT_EQ(evaluated.findings[0].tensor, kLoss);
}

TEST(LossNotDecreasingTest, ARiseHasAThresholdOfItsOwn) {
  FakeSource source;
  Tell(source, {1, 1.5}, 10);
  const Evaluated evaluated = Evaluate(kRule, {{"increase_threshold_percent", "49"}}, source);
  EXPECT_THAT(evaluated.Checks(), ElementsAre("increasing"));
  EXPECT_EQ(evaluated.findings[0].value, 50);
  EXPECT_THAT(Evaluate(kRule, {{"increase_threshold_percent", "50"}}, source).Checks(),
              ElementsAre("not_decreasing"));
}

TEST(LossNotDecreasingTest, NegativeLossesFallToo) {
  FakeSource source;
  Tell(source, {-1, -2}, 10);
  EXPECT_THAT(Evaluate(kRule, {}, source).findings, IsEmpty());
}

TEST(LossNotDecreasingTest, WhatIsNoNumberIsNoLoss) {
  FakeSource source;
  Tell(source, {1, std::nan(""), 1}, 5);
  EXPECT_THAT(Evaluate(kRule, {}, source).Steps(), ElementsAre(10));
  FakeSource zero;
  Tell(zero, {0, 0}, 10);
  EXPECT_THAT(Evaluate(kRule, {}, zero).findings, IsEmpty());
}

TEST(LossNotDecreasingTest, StepsAreThoseOfEvaluationIfThereAreAny) {
  FakeSource source;
  int64_t step = 0;
  for (int i = 0; i < 12; ++i) {
    source.Step(step++, Mode::kTrain, i).Save(kLoss, {1});
    if (i % 6 == 5) source.Step(step++, Mode::kEval, i).Save(kLoss, {i == 5 ? 2.0 : 1.0});
  }
  EXPECT_THAT(Evaluate(kRule, {{"num_steps", "5"}}, source).Steps(), ElementsAre(5))
      << "before the first evaluation";
  EXPECT_THAT(Evaluate(kRule, {{"num_steps", "6"}, {"mode", "EVAL"}}, source).findings, IsEmpty());
  EXPECT_THAT(Evaluate(kRule, {{"num_steps", "10"}, {"mode", "TRAIN"}}, source).Steps(),
              ElementsAre(11));
  EXPECT_THAT(Evaluate(kRule, {{"num_steps", "13"}, {"mode", "GLOBAL"}}, source).Steps(),
              ElementsAre(13));
}

TEST(LossNotDecreasingTest, EachWorkerHasItsOwn) {
  FakeSource source;
  for (const int64_t step : {0, 10}) {
    source.Step(step);
    source.By("a").Save(kLoss, {1.0 - .05 * static_cast<double>(step)});
    source.By("b").Save(kLoss, {1});
  }
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  ASSERT_THAT(evaluated.Steps(), ElementsAre(10));
  EXPECT_EQ(evaluated.findings[0].worker, "b");
}

TEST(LossNotDecreasingTest, TheWorstLossIsNamed) {
  FakeSource source;
  for (const double factor : {1.0, 1.02}) {
    source.Step(factor > 1 ? 10 : 0).Save("a_loss_output_0", {1}).Save("b_loss_output_0", {factor});
  }
  EXPECT_THAT(Evaluate(kRule, {}, source).Tensors(), ElementsAre("b_loss_output_0"));
}

TEST(LossNotDecreasingTest, KnowsTheNamesOfFrameworks) {
  for (const char *name : {"CrossEntropyLoss_output_0", "loss_output_0", "loss", "val_loss",
                           "softmaxcrossentropyloss0_output_0", "scalar/loss"}) {
    FakeSource source;
    Tell(source, {1, 1}, 10, name);
    EXPECT_THAT(Evaluate(kRule, {}, source).Tensors(), ElementsAre(name));
  }
  FakeSource xgboost;
  xgboost.Include("losses", "^[a-zA-z]+-.+$");
  Tell(xgboost, {1, 1}, 10, "train-rmse");
  EXPECT_THAT(Evaluate(kRule, {}, xgboost).Steps(), ElementsAre(10));
}

TEST(LossNotDecreasingTest, OnlyScalarsAreLosses) {
  FakeSource source;
  for (const int64_t step : {0, 10}) source.Step(step).Save(kLoss, {1, 1});
  EXPECT_EQ(Evaluate(kRule, {}, source).result.status, RuleStatus::kNotEnoughData);
}

TEST(LossNotDecreasingTest, AMeanThatWasSavedIsOne) {
  FakeSource source;
  for (const int64_t step : {0, 10}) {
    source.Step(step).SaveReductions(kLoss, {{{tensor::ReductionKind::kMean, false}, 1}});
  }
  EXPECT_THAT(Evaluate(kRule, {}, source).Steps(), ElementsAre(10));
}

TEST(LossNotDecreasingTest, NeedsStepsThatAreFarEnoughApart) {
  FakeSource source;
  Tell(source, {1, 1, 1}, 4);
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  EXPECT_EQ(evaluated.result.status, RuleStatus::kNotEnoughData);
  EXPECT_THAT(evaluated.result.message, HasSubstr("10 apart"));
  FakeSource without;
  without.Step(0).Save("weight", {1});
  EXPECT_EQ(Evaluate(kRule, {}, without).result.status, RuleStatus::kNoTensors);
}

TEST(LossNotDecreasingTest, ItsParametersAreChecked) {
  EXPECT_THAT(Refusal(kRule, {{"num_steps", "0"}}), HasSubstr("num_steps"));
  EXPECT_THAT(Refusal(kRule, {{"diff_percent", "101"}}), HasSubstr("diff_percent"));
  EXPECT_THAT(Refusal(kRule, {{"increase_threshold_percent", "-1"}}), HasSubstr("increase"));
  EXPECT_THAT(Refusal(kRule, {{"mode", "PREDICT"}}), HasSubstr("EVAL, TRAIN or GLOBAL"));
  EXPECT_THAT(Refusal(kRule, {{"use_losses_collection", "maybe"}}), HasSubstr("true or false"));
  EXPECT_THAT(Refusal(kRule, {{"use_losses_collection", "False"}}), HasSubstr("tensor_regex"));
  EXPECT_THAT(Refusal(kRule, {{"min_difference", "1"}}), HasSubstr("min_difference"));
  EXPECT_THAT(Refusal(kRule, {{"tensor_regex", "("}}), HasSubstr("("));
}

TEST(LossNotDecreasingTest, OnlyNamedTensorsIfSoAsked) {
  FakeSource source;
  for (const int64_t step : {0, 10}) source.Step(step).Save(kLoss, {1}).Save("mine", {1});
  EXPECT_THAT(
      Evaluate(kRule, {{"use_losses_collection", "False"}, {"tensor_regex", "^mine"}}, source)
          .Tensors(),
      ElementsAre("mine"));
}

class Calibrated : public testing::Test {
 protected:
  Evaluated Of(const std::vector<double> &losses, Parameters::Given given = {}) {
    FakeSource source;
    Tell(source, losses, 1);
    given.insert({"num_steps", "10"});
    return Evaluate(kRule, given, source, Profile::kCalibrated);
  }
};

TEST_F(Calibrated, OneBatchIsNoJudge) {
  std::vector<double> losses;
  for (int i = 0; i < 40; ++i) losses.push_back(2.0 / (1 + i) + (i % 7 == 0 ? .5 : 0));
  EXPECT_THAT(Of(losses).findings, IsEmpty());
}

TEST_F(Calibrated, NothingLearnedIsFound) {
  EXPECT_THAT(Of(std::vector<double>(90, 2.3)).Steps(), ElementsAre(84));
  const std::vector<double> losses(30, 2.3);
  EXPECT_THAT(Of(losses).findings, IsEmpty()) << "a training may take a while to get going";
  EXPECT_THAT(Of(losses, {{"start_steps", "0"}}).Checks(),
              ElementsAre("not_decreasing", "not_decreasing"));
}

// Jobs save each 10th or 500th step.
TEST_F(Calibrated, FewStepsAreSaved) {
  for (const int64_t interval : {5, 10, 500}) {
    FakeSource constant;
    FakeSource falling;
    FakeSource rising;
    for (int64_t i = 0; i < 40; ++i) {
      const auto number = static_cast<double>(i);
      constant.Step(i * interval).Save("loss", {2.3});
      falling.Step(i * interval).Save("loss", {2.3 - 0.002 * number});
      rising.Step(i * interval).Save("loss", {2.3 + 0.4 * number});
    }
    EXPECT_THAT(Evaluate(kRule, {}, constant, Profile::kCalibrated).Checks(),
                testing::Contains("not_decreasing"))
        << interval;
    EXPECT_THAT(Evaluate(kRule, {}, falling, Profile::kCalibrated).findings, IsEmpty()) << interval;
    EXPECT_THAT(Evaluate(kRule, {}, rising, Profile::kCalibrated).Checks(),
                testing::Contains("increasing"))
        << interval;
  }
}

// A critic's loss begins above 0, falls below it, and comes back as its opponent learns.
TEST_F(Calibrated, ALossBelowZeroMayComeBack) {
  std::vector<double> losses;
  for (int i = 0; i < 60; ++i) losses.push_back(1 - 0.05 * std::min(i, 36));
  for (int i = 0; i < 60; ++i) losses.push_back(-0.8 + 0.02 * i);
  EXPECT_THAT(Of(losses).findings, IsEmpty());
  for (int i = 0; i < 60; ++i) losses.push_back(0.4 + 0.2 * i);
  EXPECT_THAT(Of(losses).Checks(), testing::Contains("increasing"));
}

// That of a policy beside the one it began as is 0 at first, and grows as it learns.
TEST_F(Calibrated, ALossThatBeginsAtZeroMayGrowALittle) {
  std::vector<double> losses;
  for (int i = 0; i < 60; ++i) losses.push_back(0.002 + 0.001 * i);
  const Evaluated evaluated = Of(losses);
  EXPECT_THAT(evaluated.Checks(), testing::Contains("increasing"));
  for (const Finding &each : evaluated.findings) EXPECT_EQ(each.level, Level::kWorthALook);
  for (int i = 0; i < 60; ++i) losses.push_back(0.1 + 0.1 * i);
  EXPECT_EQ(Of(losses).findings.back().level, Level::kFinding);
}

TEST_F(Calibrated, ALossAboutZeroMayRise) {  // as that of a policy does
  std::vector<double> losses;
  for (int i = 0; i < 120; ++i) losses.push_back((i < 60 ? 0 : 0.5) + 0.1 * std::sin(i));
  EXPECT_THAT(Of(losses).findings, IsEmpty());
  losses.resize(180, 20);
  EXPECT_THAT(Of(losses).Checks(), testing::Contains("increasing"));
}

TEST_F(Calibrated, ALossAboutZeroHasNothingToReach) {
  std::vector<double> losses;
  for (int i = 0; i < 120; ++i) losses.push_back(i % 2 == 0 ? 0.01 : -0.01);
  EXPECT_THAT(Of(losses).findings, IsEmpty());
}

TEST_F(Calibrated, StepsThatChangeNoWeightDoNotCount) {
  const auto with_accumulation = [](int64_t batches) {
    FakeSource source;
    for (int64_t step = 0; step < 120; ++step) {
      source.Step(step, Mode::kTrain, step).Save("loss", {2.3});
      source.Save("net.weight", {static_cast<double>(step / batches), 1});
    }
    return Evaluate(kRule, {}, source, Profile::kCalibrated).Steps();
  };
  EXPECT_THAT(with_accumulation(1), ElementsAre(84, 104));
  EXPECT_THAT(with_accumulation(2), IsEmpty()) << "60 updates";
  EXPECT_THAT(with_accumulation(1000), ElementsAre(84, 104)) << "nothing is updated at all";
}

TEST_F(Calibrated, NoiseThatCouldHideAFallIsNotEnough) {
  std::vector<double> losses;
  for (int i = 0; i < 120; ++i) losses.push_back(2.3 + (i * 7 % 5 - 2) * 1.0);
  EXPECT_THAT(Of(losses).findings, IsEmpty());
}

TEST_F(Calibrated, AFallThatNoiseHidesCounts) {
  std::vector<double> losses;
  for (int i = 0; i < 120; ++i) losses.push_back(2.3 - 0.001 * i + (i * 7 % 5) * 0.01);
  EXPECT_THAT(Of(losses).findings, IsEmpty());
}

TEST_F(Calibrated, LossesBesideTheOneThatFallsMayStay) {
  FakeSource source;
  for (int64_t step = 0; step < 120; ++step) {
    source.Step(step, Mode::kTrain, step).Save("aux_loss", {1});
    source.Save("loss", {2.0 / static_cast<double>(1 + step)});
  }
  EXPECT_THAT(Evaluate(kRule, {}, source, Profile::kCalibrated).findings, IsEmpty());
}

TEST_F(Calibrated, ALossMayStayWhileAnotherFallsSlowly) {
  const auto beside = [](double slope) {
    FakeSource source;
    for (int64_t step = 0; step < 120; ++step) {
      const double noise = static_cast<double>(step * 7 % 5 - 2) * 0.01;
      source.Step(step, Mode::kTrain, step).Save("aux_loss", {1 + noise});
      source.Save("loss", {2 - slope * static_cast<double>(step) + noise});
    }
    return Evaluate(kRule, {}, source, Profile::kCalibrated).Tensors();
  };
  EXPECT_THAT(beside(0.001), IsEmpty()) << "6 %";
  EXPECT_THAT(beside(0), testing::Contains("aux_loss"));
}

// A loss that stays, while the learning rate rises for `steps` steps.
Evaluated OfWarmUp(int64_t steps, int64_t all, int64_t accumulated = 1) {
  FakeSource source;
  for (int64_t step = 0; step < all; ++step) {
    const auto rate = static_cast<double>(std::min(step / accumulated, steps / accumulated));
    source.Step(step, Mode::kTrain, step).Save("loss", {2.3});
    source.Save("learning_rate/AdamW_0", {1e-6 * rate});
  }
  return Evaluate(kRule, {}, source, Profile::kCalibrated);
}

TEST_F(Calibrated, ALongWarmUpIsABeginning) {
  EXPECT_THAT(OfWarmUp(300, 300).findings, IsEmpty());
  EXPECT_THAT(OfWarmUp(300, 300, 16).findings, IsEmpty()) << "of accumulated gradients";
  EXPECT_THAT(OfWarmUp(300, 400).Steps(), ElementsAre(364, 384)) << "once it is over";
  EXPECT_THAT(OfWarmUp(20, 100).Steps(), ElementsAre(84)) << "a short one";
  EXPECT_THAT(OfWarmUp(2000, 600).Steps(), testing::Contains(484)) << "an endless one";
}

// A cosine that goes on beyond its half period.
TEST_F(Calibrated, ARateThatRisesAgainIsNoWarmUp) {
  FakeSource source;
  for (int64_t step = 0; step < 160; ++step) {
    source.Step(step, Mode::kTrain, step).Save("loss", {2.3});
    source.Save("learning_rate/Adam_0", {1 + std::cos(static_cast<double>(step) * 3.1416 / 40)});
  }
  EXPECT_THAT(Evaluate(kRule, {}, source, Profile::kCalibrated).Steps(), testing::Contains(84));
}

TEST_F(Calibrated, ALossOfTheWrongSignFallsEverFaster) {
  const auto with = [this](const std::function<double(double)> &loss) {
    std::vector<double> losses;
    for (int step = 0; step < 200; ++step) losses.push_back(loss(step));
    return Of(losses).Checks();
  };
  EXPECT_THAT(with([](double step) { return -2.3 - step * step / 300; }),
              testing::Contains("endless"));
  // A density that is learned: the loss falls more and more slowly.
  EXPECT_THAT(with([](double step) { return -2.3 - 10 * std::sqrt(step); }), IsEmpty());
  EXPECT_THAT(with([](double step) { return 40 - step * step / 300; }), IsEmpty());
  EXPECT_THAT(with([](double step) { return -0.5 - step * step / 8000; }), IsEmpty());
}

TEST_F(Calibrated, ALossOfLargeCountsIsFarBelow0) {
  std::vector<double> losses;
  for (int step = 0; step < 200; ++step) losses.push_back(-0.1 - step * step / 300.0);
  const auto of = [&](const char *name) {
    FakeSource source;
    Tell(source, losses, 1, name);
    return Evaluate(kRule, {}, source, Profile::kCalibrated).Checks();
  };
  EXPECT_THAT(of("NLLLoss_output_0"), testing::Contains("endless"));
  EXPECT_THAT(of("PoissonNLLLoss_output_0"), IsEmpty());
}

TEST_F(Calibrated, ALossThatBeginsBelow0AndFallsIsAClue) {
  const auto with = [this](double first, double change) {
    std::vector<double> losses;
    for (int step = 0; step < 60; ++step) losses.push_back(first + change * step);
    return Of(losses).Clues();
  };
  EXPECT_THAT(with(-1, -0.01), ElementsAre("below_zero"));
  EXPECT_THAT(with(-1, 0.01), IsEmpty());
  EXPECT_THAT(with(0.2, -0.1), IsEmpty());
}

TEST_F(Calibrated, AJobWhoseBeginningIsNotThereIsNotJudged) {
  FakeSource source;
  for (int64_t step = 500; step < 620; ++step) {
    source.Step(step, Mode::kTrain, step).Save("loss", {1});
  }
  EXPECT_THAT(Evaluate(kRule, {}, source, Profile::kCalibrated).findings, IsEmpty());
}

TEST_F(Calibrated, WhatHasLearnedMayStandStill) {
  std::vector<double> losses(10, 2.3);
  losses.insert(losses.end(), 40, .1);
  EXPECT_THAT(Of(losses).findings, IsEmpty());
}

TEST_F(Calibrated, ButNotRise) {
  std::vector<double> losses(10, 2.3);
  losses.insert(losses.end(), 20, .1);
  losses.insert(losses.end(), 20, 1.5);
  EXPECT_THAT(Of(losses).Checks(), testing::Contains("increasing"));
}

TEST_F(Calibrated, ALossBelowTheFloorIsLowEnough) {
  EXPECT_THAT(Of(std::vector<double>(30, 1e-5)).findings, IsEmpty());
}

// Two losses, each at steps of its own: `turns` of the first one for one of the second.
Evaluated OfTurns(int turns, bool share_a_step, double fall) {
  FakeSource source;
  for (int64_t step = 0; step < 400; ++step) {
    const bool is_second = step % (turns + 1) == turns;
    source.Step(step, Mode::kTrain, step);
    source.Save(is_second ? "second_loss_output_0" : "first_loss_output_0",
                {0.7 - fall * static_cast<double>(step)});
    if (share_a_step && step == 6) source.Save("second_loss_output_0", {0.7});
  }
  return Evaluate(kRule, {}, source, Profile::kCalibrated);
}

TEST(LossNotDecreasingTest, LossesThatTakeTurnsAreThoseOfOpponents) {
  for (const int turns : {1, 5, 10}) {
    EXPECT_THAT(OfTurns(turns, false, 0).Steps(), IsEmpty()) << turns;
    EXPECT_THAT(OfTurns(turns, false, -0.01).Steps(), IsEmpty()) << turns;
  }
}

TEST(LossNotDecreasingTest, LossesThatShareAStepOrAreSeldomAreParts) {
  EXPECT_THAT(OfTurns(1, true, 0).Steps(), testing::Not(IsEmpty()));
  EXPECT_THAT(OfTurns(30, false, 0).Steps(), testing::Not(IsEmpty()));
}

TEST(LossNotDecreasingTest, LossesThatAreNamedSoAreThoseOfOpponents) {
  const auto rises = [](const std::string &name, const std::string &regex = "") {
    FakeSource source;
    for (int64_t step = 0; step < 400; ++step) {
      source.Step(step, Mode::kTrain, step).Save(name, {0.7 + 0.01 * static_cast<double>(step)});
    }
    Parameters::Given parameters;
    if (!regex.empty()) parameters["tensor_regex"] = regex;
    return Evaluate(kRule, parameters, source, Profile::kCalibrated);
  };
  EXPECT_THAT(rises("generator_loss").Steps(), IsEmpty());
  EXPECT_THAT(rises("generator_loss", "^generator_loss$").Steps(), testing::Not(IsEmpty()));
  EXPECT_THAT(rises("total_loss").Steps(), testing::Not(IsEmpty()));
}

// A loss that rises, and another one of the same steps.
Evaluated OfParts(const std::function<double(double)> &other,
                  const char *rising = "kl_loss_output_0") {
  FakeSource source;
  for (int64_t step = 0; step < 100; ++step) {
    const auto at = static_cast<double>(step);
    source.Step(step, Mode::kTrain, step).Save(rising, {0.1 + 0.01 * at});
    source.Save("recon_loss_output_0", {other(at)});
  }
  return Evaluate(kRule, {}, source, Profile::kCalibrated);
}

TEST(LossNotDecreasingTest, APartMayRiseWhileAnotherFalls) {
  EXPECT_THAT(OfParts([](double step) { return 5 - 0.02 * step; }).Steps(), IsEmpty());
}

TEST(LossNotDecreasingTest, APartMayRiseOnceAnotherHasFallen) {
  EXPECT_THAT(OfParts([](double step) { return std::max(3 - 0.1 * step, 1.0); }).Steps(),
              IsEmpty());
}

TEST(LossNotDecreasingTest, OneOfSeveralLossesOfAModuleMayRise) {
  const auto rises = testing::Contains("increasing");
  const auto with = [](auto other) { return OfParts(other, "recon_loss_output_1").Checks(); };
  EXPECT_THAT(with([](double) { return 5.0; }), testing::Not(rises));
  EXPECT_THAT(with([](double at) { return 5 + 0.1 * at; }), rises);
}

TEST(LossNotDecreasingTest, ALossThatRisesIsFoundBesideOthersThatDoNotFall) {
  EXPECT_THAT(OfParts([](double) { return 5.0; }).Checks(), testing::Contains("increasing"));
  EXPECT_THAT(OfParts([](double step) { return 5 + 0.1 * step; }).Checks(),
              testing::Contains("increasing"));
}

}  // namespace
}  // namespace smdebug::rules::loss_not_decreasing_test
