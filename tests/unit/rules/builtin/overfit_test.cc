#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "rules/evaluating.h"

namespace smdebug::rules::overfit_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char *kRule = "Overfit";
constexpr const char *kLoss = "CrossEntropyLoss_output_0";

// A training that is evaluated now and then; its steps follow each other.
class Training {
 public:
  Training &Train(const std::vector<double> &losses) { return Tell(losses, Mode::kTrain); }
  Training &Evaluate(const std::vector<double> &losses) { return Tell(losses, Mode::kEval); }
  FakeSource &Source() { return source_; }

 private:
  Training &Tell(const std::vector<double> &losses, Mode mode) {
    for (const double loss : losses) {
      source_.Step(step_, mode, step_).Save(kLoss, {loss});
      ++step_;
    }
    return *this;
  }
  FakeSource source_;
  int64_t step_ = 0;
};

TEST(OverfitTest, ComparesTheMeansOfAnEvaluationAndOfTheTrainingBefore) {
  Training training;
  training.Train({3, 1}).Evaluate({1, 3}).Train({1, 1}).Evaluate({1, 1.4});
  const Evaluated evaluated = Evaluate(kRule, {}, training.Source());
  ASSERT_THAT(evaluated.Steps(), ElementsAre(7));
  EXPECT_NEAR(evaluated.findings[0].value, .2, 1e-12);
  EXPECT_EQ(evaluated.findings[0].limit, .1);
  EXPECT_EQ(evaluated.findings[0].tensor, kLoss);
  EXPECT_EQ(evaluated.findings[0].place.mode, Mode::kEval);
}

TEST(OverfitTest, TheRatioMustBeExceeded) {
  Training training;
  training.Train({1}).Evaluate({1.25}).Train({1}).Evaluate({.5});
  EXPECT_THAT(Evaluate(kRule, {{"ratio_threshold", "0.25"}}, training.Source()).findings,
              IsEmpty());
  EXPECT_THAT(Evaluate(kRule, {{"ratio_threshold", "0.24"}}, training.Source()).Steps(),
              ElementsAre(1));
}

TEST(OverfitTest, PatienceCountsEvaluationsInARow) {
  Training training;
  for (const double loss : {2., 2., 1., 2., 2., 2.}) training.Train({1, 1}).Evaluate({loss});
  EXPECT_THAT(Evaluate(kRule, {{"patience", "3"}}, training.Source()).Steps(), ElementsAre(17));
  EXPECT_THAT(Evaluate(kRule, {{"patience", "2"}}, training.Source()).Steps(),
              ElementsAre(5, 14, 17));
}

TEST(OverfitTest, APassIsJudgedOnceItIsAsLongAsTheOneBefore) {
  Training training;
  training.Train({1}).Evaluate({1, 1, 1}).Train({1}).Evaluate({9, 0, 0}).Train({1}).Evaluate(
      {9, 9, 9});
  EXPECT_THAT(Evaluate(kRule, {{"ratio_threshold", "2.5"}}, training.Source()).Steps(),
              ElementsAre(11));
  EXPECT_THAT(Evaluate(kRule, {{"ratio_threshold", "1.5"}}, training.Source()).Steps(),
              ElementsAre(7, 11))
      << "a mean of 3, twice above 1, is found at its third batch";
}

TEST(OverfitTest, StepsBeforeTheStartDoNotCount) {
  Training training;
  training.Train({1}).Evaluate({2}).Train({1}).Evaluate({2});
  EXPECT_THAT(Evaluate(kRule, {{"start_step", "2"}}, training.Source()).Steps(), ElementsAre(3));
  EXPECT_EQ(Evaluate(kRule, {{"start_step", "3"}}, training.Source()).result.status,
            RuleStatus::kNotEnoughData);
}

TEST(OverfitTest, ALossOfNothingIsNoMeasure) {
  Training training;
  training.Train({1e-9}).Evaluate({1}).Train({std::nan("")}).Evaluate({std::nan("")});
  EXPECT_THAT(Evaluate(kRule, {}, training.Source()).findings, IsEmpty());
}

TEST(OverfitTest, ALowerLossOfValidationIsFine) {
  Training training;
  training.Train({2}).Evaluate({1});
  EXPECT_EQ(Evaluate(kRule, {}, training.Source()).result.status, RuleStatus::kPassed);
}

TEST(OverfitTest, KnowsTheNamesOfFrameworks) {
  FakeSource keras;
  keras.Step(0).Save("val_loss", {2}).Save("loss", {1});
  EXPECT_THAT(Evaluate(kRule, {}, keras).Tensors(), ElementsAre("val_loss"));
  FakeSource xgboost;
  xgboost.Include("losses", "^[a-zA-z]+-.+$");
  xgboost.Step(0).Save("validation-rmse", {2}).Save("train-rmse", {1}).Save("test-rmse", {1});
  xgboost.Step(1).Save("validation-mae", {2}).Save("train-rmse", {1});
  EXPECT_THAT(Evaluate(kRule, {}, xgboost).Tensors(), ElementsAre("validation-rmse"));
}

TEST(OverfitTest, TensorsCanBeNamed) {
  FakeSource source;
  source.Step(0, Mode::kTrain, 0).Save("error", {1});
  source.Step(1, Mode::kEval, 0).Save("error", {2});
  EXPECT_EQ(Evaluate(kRule, {}, source).result.status, RuleStatus::kNoTensors);
  EXPECT_THAT(Evaluate(kRule, {{"tensor_regex", "err"}}, source).Steps(), ElementsAre(1));
}

TEST(OverfitTest, EachWorkerHasItsOwn) {
  FakeSource source;
  source.Step(0, Mode::kTrain, 0).By("a").Save(kLoss, {1}).By("b").Save(kLoss, {2});
  source.Step(1, Mode::kEval, 0).By("a").Save(kLoss, {2}).By("b").Save(kLoss, {2});
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  ASSERT_THAT(evaluated.Steps(), ElementsAre(1));
  EXPECT_EQ(evaluated.findings[0].worker, "a");
}

TEST(OverfitTest, NeedsLossesOfBoth) {
  Training training;
  training.Train({1, 1});
  const Evaluated evaluated = Evaluate(kRule, {}, training.Source());
  EXPECT_EQ(evaluated.result.status, RuleStatus::kNotEnoughData);
  EXPECT_THAT(evaluated.result.message, HasSubstr("validation"));
}

TEST(OverfitTest, ItsParametersAreChecked) {
  EXPECT_THAT(Refusal(kRule, {{"patience", "0"}}), HasSubstr("patience"));
  EXPECT_THAT(Refusal(kRule, {{"start_step", "-1"}}), HasSubstr("start_step"));
  EXPECT_THAT(Refusal(kRule, {{"ratio_threshold", "x"}}), HasSubstr("ratio_threshold"));
}

TEST(OverfitTest, CalibratedWantsThatSomethingWasLearned) {
  Training training;
  for (int i = 0; i < 6; ++i) training.Train({1}).Evaluate({1 + .1 * i});
  EXPECT_THAT(Evaluate(kRule, {}, training.Source(), Profile::kCalibrated).findings, IsEmpty());
  EXPECT_FALSE(Evaluate(kRule, {}, training.Source()).findings.empty());
}

TEST(OverfitTest, CalibratedWaitsForARise) {
  Training gap;
  for (int i = 0; i < 6; ++i) gap.Train({1. / (i + 1)}).Evaluate({2. / (i + 1)});
  EXPECT_THAT(Evaluate(kRule, {}, gap.Source(), Profile::kCalibrated).findings, IsEmpty());
  Training rise;
  for (int i = 0; i < 6; ++i) rise.Train({1. / (i + 1)}).Evaluate({1 + .1 * i});
  EXPECT_THAT(Evaluate(kRule, {}, rise.Source(), Profile::kCalibrated).Steps(),
              ElementsAre(7, 9, 11));
}

TEST(OverfitTest, ARiseWithinTheNoiseOfFewBatchesIsNone) {
  const auto with_noise = [](double noise) {
    Training training;
    for (int i = 0; i < 8; ++i) {
      const double mean = 1 + .1 * i;
      training.Train({1. / (i + 1)}).Evaluate({mean - noise, mean + noise});
    }
    return Evaluate(kRule, {}, training.Source(), Profile::kCalibrated).result.finding_count;
  };
  EXPECT_EQ(with_noise(.6), 0);
  EXPECT_GT(with_noise(.02), 0);
}

TEST(OverfitTest, AValidationLossFarBelowThatOfAGuessIsFine) {
  const auto with_level = [](double first) {
    FakeSource source;
    int64_t step = 0;
    for (int i = 0; i < 6; ++i) {
      for (const auto &[mode, loss] :
           {std::pair{Mode::kTrain, first / (i + 1)}, {Mode::kEval, first * (1 + .1 * i)}}) {
        source.Step(step, mode, step).Save(kLoss, {loss});
        source.Save("CrossEntropyLoss_input_1",
                    tensor::TensorOf<int64_t>(tensor::DType::kInt64, {0, 1, 2, 3, 0, 1, 2, 3}));
        ++step;
      }
    }
    return Evaluate(kRule, {}, source, Profile::kCalibrated).findings.empty();
  };
  EXPECT_TRUE(with_level(.01)) << "resumed, with little left to learn";
  EXPECT_FALSE(with_level(1));
}

TEST(OverfitTest, ARiseThatIsSmallBesideTheLossOfAGuessIsNone) {
  const auto with_rise = [](double rise) {
    FakeSource source;
    int64_t step = 0;
    for (int i = 0; i < 6; ++i) {
      for (const auto &[mode, loss] :
           {std::pair{Mode::kTrain, 1.0 / (1 << i)}, {Mode::kEval, .3 + (i > 2 ? rise : 0)}}) {
        source.Step(step, mode, step).Save(kLoss, {loss});
        source.Save("CrossEntropyLoss_input_1",
                    tensor::TensorOf<int64_t>(tensor::DType::kInt64, {0, 1, 2, 3, 0, 1, 2, 3}));
        ++step;
      }
    }
    const auto found = Evaluate(kRule, {}, source, Profile::kCalibrated).findings;
    return std::any_of(found.begin(), found.end(),
                       [](const Finding &each) { return each.level == Level::kFinding; });
  };
  EXPECT_FALSE(with_rise(.05));
  EXPECT_TRUE(with_rise(.1));
}

// Losses of 63.8 in validation and 15.9 in training, which rise_percent lets pass.
Training Plateau(double gain) {
  Training training;
  double on_training = 100;
  double on_validation = 102;
  for (int i = 0; i < 12; ++i) {
    training.Train({on_training}).Evaluate({on_validation});
    on_training *= .85;
    on_validation = std::max(63.8, on_validation * gain);
  }
  return training;
}

TEST(OverfitTest, AGapThatGrowsWithoutARiseIsWorthALook) {
  Training training = Plateau(.9);
  const Evaluated evaluated = Evaluate(kRule, {}, training.Source(), Profile::kCalibrated);
  EXPECT_EQ(evaluated.result.status, RuleStatus::kWorthALook);
  EXPECT_EQ(evaluated.result.finding_count, 0);
  ASSERT_FALSE(evaluated.findings.empty());
  const Finding &first = evaluated.findings.front();
  EXPECT_EQ(first.level, Level::kWorthALook);
  EXPECT_EQ(first.action, Action::kContinue);
  EXPECT_EQ(first.check, "gap");
  EXPECT_EQ(first.limit, 1);
  EXPECT_GT(first.value, 1);
  EXPECT_THAT(first.message, HasSubstr("training improves, and validation does not"));
}

TEST(OverfitTest, AGapIsNotWorthALookWhileValidationImproves) {
  Training training;
  double on_training = 100;
  double on_validation = 100;
  for (int i = 0; i < 30; ++i) {
    training.Train({on_training}).Evaluate({on_validation});
    on_training *= .85;
    on_validation *= .96;
  }
  EXPECT_THAT(Evaluate(kRule, {}, training.Source(), Profile::kCalibrated).findings, IsEmpty());
}

TEST(OverfitTest, AGapIsWorthALookOnRequestOnly) {
  Training training = Plateau(.9);
  EXPECT_THAT(
      Evaluate(kRule, {{"look_ratio", "None"}}, training.Source(), Profile::kCalibrated).findings,
      IsEmpty());
  for (const Finding &each : Evaluate(kRule, {}, training.Source()).findings) {
    EXPECT_EQ(each.level, Level::kFinding);
  }
}

}  // namespace
}  // namespace smdebug::rules::overfit_test
