#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "rules/evaluating.h"

namespace smdebug::rules::overtraining_test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char *kRule = "Overtraining";
constexpr const char *kLoss = "CrossEntropyLoss_output_0";

FakeSource Of(const std::vector<double> &losses, Mode mode) {
  FakeSource source;
  int64_t step = 0;
  for (const double loss : losses) {
    source.Step(step, mode, step).Save(kLoss, {loss});
    ++step;
  }
  return source;
}

TEST(OvertrainingTest, ATrainingThatIsNoBetterForThePatience) {
  FakeSource source = Of({1, 1, 1, 1, 1, 1, 1}, Mode::kTrain);
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  ASSERT_THAT(evaluated.Steps(), ElementsAre(5, 6));
  EXPECT_THAT(evaluated.Checks(), Each("training"));
  EXPECT_EQ(evaluated.findings[0].value, 5);
  EXPECT_EQ(evaluated.findings[0].limit, 5);
  EXPECT_THAT(evaluated.findings[0].message, HasSubstr("best at step 0 with 1, 5 points ago"));
}

TEST(OvertrainingTest, AValidationHasAPatienceOfItsOwn) {
  FakeSource source = Of(std::vector<double>(12, 1), Mode::kEval);
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  EXPECT_THAT(evaluated.Steps(), ElementsAre(10, 11));
  EXPECT_THAT(evaluated.Checks(), Each("validation"));
  EXPECT_THAT(Evaluate(kRule, {{"patience_validation", "11"}}, source).Steps(), ElementsAre(11));
}

TEST(OvertrainingTest, ALossNearItsBestIsWorthALook) {
  const auto level_of = [](double last) {
    std::vector<double> losses(12, 1);
    losses.back() = last;
    FakeSource source = Of(losses, Mode::kEval);
    return Evaluate(kRule, {{"rise_percent", "5"}}, source).findings.back().level;
  };
  EXPECT_EQ(level_of(1.04), Level::kWorthALook);
  EXPECT_EQ(level_of(1.06), Level::kFinding);
  EXPECT_THAT(Refusal(kRule, {{"rise_percent", "-1"}}), HasSubstr("rise_percent"));
}

TEST(OvertrainingTest, OnlyMoreThanDeltaIsBetter) {
  FakeSource source = Of({1, .75, .5, .25, 0, -.25}, Mode::kTrain);
  EXPECT_THAT(Evaluate(kRule, {{"patience_train", "1"}, {"delta", "0.24"}}, source).findings,
              IsEmpty());
  EXPECT_THAT(Evaluate(kRule, {{"patience_train", "1"}, {"delta", "0.25"}}, source).Steps(),
              ElementsAre(1, 3, 5))
      << "twice as far is";
}

TEST(OvertrainingTest, DeltaMayBeAPartOfTheBest) {
  FakeSource source = Of({100, 99.5, 99}, Mode::kTrain);
  EXPECT_THAT(
      Evaluate(kRule, {{"patience_train", "2"}, {"relative_delta", "True"}}, source).Steps(),
      ElementsAre(2));
  EXPECT_THAT(Evaluate(kRule, {{"patience_train", "2"}}, source).findings, IsEmpty());
}

TEST(OvertrainingTest, NotANumberIsNoBetter) {
  FakeSource source = Of({1, std::nan(""), .5}, Mode::kTrain);
  EXPECT_THAT(Evaluate(kRule, {{"patience_train", "1"}}, source).Steps(), ElementsAre(1));
}

TEST(OvertrainingTest, NamesTellValidationToo) {
  FakeSource source;
  source.Include("losses", "^[a-zA-z]+-.+$");
  for (int64_t step = 0; step < 3; ++step) {
    source.Step(step)
        .Save("validation-rmse", {1})
        .Save("train-rmse", {1. / static_cast<double>(step + 1)});
  }
  const Evaluated evaluated = Evaluate(kRule, {{"patience_validation", "2"}}, source);
  EXPECT_THAT(evaluated.Tensors(), ElementsAre("validation-rmse"));
  EXPECT_THAT(evaluated.Checks(), ElementsAre("validation"));
}

// Training gets no better after its first epochs, of which the first has this loss, nor does
// validation.
FakeSource Stopped(double of_training, double of_validation, double first = 2) {
  FakeSource source;
  int64_t step = 0;
  const auto tell = [&](Mode mode, double loss) {
    source.Step(step, mode, step).Save(kLoss, {loss});
    ++step;
  };
  double training = 1;
  double validation = 1;
  for (int epoch = 0; epoch < 40; ++epoch) {
    for (int batch = 0; batch < 5; ++batch) {
      tell(Mode::kTrain, (epoch < 2 ? first : training) + .3 * (batch % 2));
    }
    for (int batch = 0; batch < 3; ++batch) tell(Mode::kEval, validation + .3 * batch);
    training *= of_training;
    validation *= of_validation;
  }
  return source;
}

TEST(OvertrainingTest, CalibratedWaitsForBoth) {
  FakeSource both = Stopped(1, 1);
  const Evaluated evaluated = Evaluate(kRule, {}, both, Profile::kCalibrated);
  ASSERT_FALSE(evaluated.findings.empty());
  EXPECT_THAT(evaluated.Checks(), Each("validation"));
  FakeSource neither = Stopped(1, 1, 1);
  EXPECT_THAT(Evaluate(kRule, {}, neither, Profile::kCalibrated).findings, IsEmpty())
      << "what never learned has nothing to lose";
  FakeSource one = Stopped(.9, 1);
  EXPECT_THAT(Evaluate(kRule, {}, one, Profile::kCalibrated).findings, IsEmpty());
  FakeSource other = Stopped(1, .9);
  EXPECT_THAT(Evaluate(kRule, {}, other, Profile::kCalibrated).findings, IsEmpty());
}

TEST(OvertrainingTest, WholeEvaluationsMakeOnePointEach) {
  FakeSource source = Stopped(.5, 1);
  EXPECT_EQ(Evaluate(kRule, {{"patience_validation", "2"}, {"patience_train", "1000"}}, source)
                .Steps()
                .front(),
            7);
  EXPECT_EQ(
      Evaluate(
          kRule,
          {{"patience_validation", "2"}, {"patience_train", "1000"}, {"whole_evaluations", "True"}},
          source)
          .Steps()
          .front(),
      31)
      << "the first tells how long they are, the second is the best";
}

TEST(OvertrainingTest, EachWorkerHasItsOwn) {
  FakeSource source;
  for (int64_t step = 0; step < 3; ++step) {
    source.Step(step, Mode::kTrain, step);
    source.By("a").Save(kLoss, {1}).By("b").Save(kLoss, {-static_cast<double>(step)});
  }
  const Evaluated evaluated = Evaluate(kRule, {{"patience_train", "2"}}, source);
  ASSERT_THAT(evaluated.Steps(), ElementsAre(2));
  EXPECT_EQ(evaluated.findings[0].worker, "a");
}

TEST(OvertrainingTest, WithoutLossesNothingIsJudged) {
  FakeSource source;
  source.Step(0).Save("weight", {1});
  EXPECT_EQ(Evaluate(kRule, {}, source).result.status, RuleStatus::kNoTensors);
  source.Step(1).Save(kLoss, {1, 2});
  EXPECT_EQ(Evaluate(kRule, {}, source).result.status, RuleStatus::kNotEnoughData);
}

TEST(OvertrainingTest, ItsParametersAreChecked) {
  for (const char *name : {"patience_train", "patience_validation", "train_window"}) {
    EXPECT_THAT(Refusal(kRule, {{name, "0"}}), HasSubstr(name));
  }
  EXPECT_THAT(Refusal(kRule, {{"delta", "-1"}}), HasSubstr("delta"));
  EXPECT_THAT(Refusal(kRule, {{"patience", "1"}}), HasSubstr("patience"));
}

}  // namespace
}  // namespace smdebug::rules::overtraining_test
