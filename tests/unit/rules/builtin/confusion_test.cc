#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/evaluating.h"

namespace smdebug::rules::confusion_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char *kRule = "Confusion";

const std::vector<double> kDigits = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};

std::vector<double> With4TakenFor7() {
  std::vector<double> predictions = kDigits;
  predictions[4] = 7;
  return predictions;
}

TEST(ConfusionTest, APerfectModelIsSilent) {
  FakeSource source;
  source.Step(0).Save("labels", kDigits).Save("predictions", kDigits);
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  EXPECT_THAT(evaluated.findings, IsEmpty());
  EXPECT_EQ(evaluated.result.status, RuleStatus::kPassed);
}

TEST(ConfusionTest, OneOfTenTakenForAnother) {
  FakeSource source;
  source.Step(0).Save("labels", kDigits).Save("predictions", With4TakenFor7());
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  ASSERT_THAT(evaluated.Checks(), ElementsAre("min_diag", "max_off_diag"));
  EXPECT_EQ(evaluated.findings[0].value, 0) << "of 4, nothing is right";
  EXPECT_EQ(evaluated.findings[1].value, .5);
  EXPECT_EQ(evaluated.findings[1].limit, .1);
  EXPECT_EQ(evaluated.findings[1].tensor, "predictions");
  EXPECT_THAT(evaluated.findings[1].message, HasSubstr("taken for class 7 is class 4"));
}

// A loss that counts a rare class more would rather take many for it than miss one.
TEST(ConfusionTest, WeightedClassesAreWorthALook) {
  FakeSource source;
  source.Include("weighted_losses", "^labels");
  source.Step(0).Save("labels", kDigits).Save("predictions", With4TakenFor7());
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  ASSERT_THAT(evaluated.Checks(), ElementsAre("min_diag", "max_off_diag"));
  for (const Finding &each : evaluated.findings) EXPECT_EQ(each.level, Level::kWorthALook);
}

TEST(ConfusionTest, ScoresAreNoProbabilities) {
  const auto checks_of = [](const std::vector<double> &predictions) {
    FakeSource source;
    source.Step(0).Save("labels", {0, 1, 1, 0}).Save("predictions", predictions);
    return Evaluate(kRule, {}, source).Checks();
  };
  EXPECT_THAT(checks_of({0.6, 0.1, 0.9, 0.2}), testing::Not(IsEmpty()));
  EXPECT_THAT(checks_of({0.6, 0.1, 1.9, 0.2}), IsEmpty());
  EXPECT_THAT(checks_of({0.6, 0.1, 0.9, -0.2}), IsEmpty());
  EXPECT_THAT(checks_of({2, 1, 1, 0}), testing::Not(IsEmpty())) << "these are classes";
}

TEST(ConfusionTest, EitherLimitIsEnough) {
  FakeSource source;
  source.Step(0).Save("labels", kDigits).Save("predictions", With4TakenFor7());
  EXPECT_THAT(Evaluate(kRule, {{"min_diag", "0"}, {"max_off_diag", "0.01"}}, source).Checks(),
              ElementsAre("max_off_diag"));
  EXPECT_THAT(Evaluate(kRule, {{"max_off_diag", "1"}}, source).Checks(), ElementsAre("min_diag"));
  EXPECT_THAT(Evaluate(kRule, {{"min_diag", "0"}, {"max_off_diag", "0.5"}}, source).findings,
              IsEmpty());
}

TEST(ConfusionTest, AccumulatesSteps) {
  FakeSource source;
  source.Step(0).Save("labels", kDigits).Save("predictions", With4TakenFor7());
  for (int64_t step = 1; step < 12; ++step) {
    source.Step(step).Save("labels", kDigits).Save("predictions", kDigits);
  }
  EXPECT_THAT(Evaluate(kRule, {{"min_diag", "0"}}, source).Steps(),
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 7))
      << "one of ten is no more than a tenth";
  EXPECT_THAT(Evaluate(kRule, {{"min_diag", "0"}, {"window", "2"}}, source).Steps(),
              ElementsAre(0, 1));
  EXPECT_THAT(Evaluate(kRule, {{"min_diag", "0"}, {"samples", "80"}}, source).Steps(),
              ElementsAre(7));
}

TEST(ConfusionTest, ClassesBeyondTheNumberAreLeftOut) {
  FakeSource source;
  source.Step(0).Save("labels", kDigits).Save("predictions", With4TakenFor7());
  EXPECT_THAT(Evaluate(kRule, {{"category_no", "4"}}, source).findings, IsEmpty());
}

TEST(ConfusionTest, ScoresAndProbabilitiesAreClasses) {
  FakeSource source;
  source.Step(0).Save("labels", {0, 1}).Save("predictions", {.9, .1, .2, .8}, {2, 2});
  source.Step(1).Save("labels", {0, 1}).Save("predictions", {.1, .8});
  EXPECT_EQ(Evaluate(kRule, {}, source).result.status, RuleStatus::kPassed);
}

TEST(ConfusionTest, CollectionsAndNamesTellWhichIsWhich) {
  FakeSource source;
  source.Include("truth", "^y$");
  source.Include("answers", "^p$");
  source.Step(0).Save("y", {0, 1}).Save("p", {1, 0});
  EXPECT_EQ(Evaluate(kRule, {}, source).result.status, RuleStatus::kNoTensors);
  EXPECT_THAT(
      Evaluate(kRule, {{"labels_collection", "truth"}, {"predictions_collection", "answers"}},
               source)
          .Checks(),
      ElementsAre("min_diag", "max_off_diag"));
  EXPECT_THAT(Evaluate(kRule, {{"labels", "^y$"}, {"predictions", "^p$"}}, source).Tensors(),
              ElementsAre("p", "p"));
}

TEST(ConfusionTest, WorkersHaveTheirOwn) {
  FakeSource source;
  source.Step(0).By("a").Save("labels", {0, 1}).Save("predictions", {0, 1});
  source.By("b").Save("labels", {0, 1}).Save("predictions", {1, 0});
  const Evaluated evaluated = Evaluate(kRule, {{"min_diag", "0"}}, source);
  ASSERT_THAT(evaluated.Steps(), ElementsAre(0));
  EXPECT_EQ(evaluated.findings[0].worker, "b");
}

TEST(ConfusionTest, NeedsBothOfAStep) {
  FakeSource source;
  source.Step(0).Save("labels", kDigits);
  source.Step(1).Save("predictions", kDigits);
  source.Step(2).Save("labels", kDigits).Save("predictions", {1, 2});
  source.Step(3).Save("labels", {.5, 1.5}).Save("predictions", {.5, 1.5});
  EXPECT_EQ(Evaluate(kRule, {}, source).result.status, RuleStatus::kNotEnoughData);
}

TEST(ConfusionTest, CalibratedWaitsForItToLast) {
  FakeSource source;
  std::vector<double> predictions = kDigits;
  predictions[4] = 7;
  for (int step = 0; step < 6; ++step) {
    source.Step(step).Save("labels", kDigits).Save("predictions", predictions);
  }
  const Parameters::Given five = {{"samples", "1"}, {"samples_of_class", "1"}, {"patience", "5"}};
  const Evaluated evaluated = Evaluate(kRule, five, source, Profile::kCalibrated);
  ASSERT_FALSE(evaluated.findings.empty());
  EXPECT_EQ(evaluated.Steps().front(), 4);
}

TEST(ConfusionTest, CalibratedWaitsForAModelThatKnowsSomething) {
  FakeSource source;
  source.Step(0).Save("labels", kDigits).Save("predictions", std::vector<double>(10, 0));
  EXPECT_THAT(Evaluate(kRule, {{"samples", "1"}}, source, Profile::kCalibrated).findings,
              IsEmpty());
}

// Two classes that are always told apart, and a third that is always taken for the first; scores
// grow by `growth` at each step.
FakeSource WithAMissedClass(double growth) {
  FakeSource source;
  for (int step = 0; step < 120; ++step) {
    std::vector<double> labels;
    std::vector<double> scores;
    for (int i = 0; i < 60; ++i) {
      const int label = i < 54 ? i % 2 : 2;
      const double score = 1 + growth * step;
      labels.push_back(label);
      for (int of = 0; of < 3; ++of) scores.push_back(of == label % 2 ? score : 0);
    }
    source.Step(step).Save("labels", labels).Save("predictions", scores, {60, 3});
  }
  return source;
}

TEST(ConfusionTest, CalibratedWaitsWhileTheLossFalls) {
  const auto steps_of = [](double growth) {
    FakeSource source = WithAMissedClass(growth);
    return Evaluate(kRule, {}, source, Profile::kCalibrated).Steps();
  };
  EXPECT_THAT(steps_of(0.01), IsEmpty());
  ASSERT_FALSE(steps_of(0).empty());
  EXPECT_EQ(steps_of(0).front(), 3 + 49) << "200 labels and 50 steps";
}

TEST(ConfusionTest, OfFewLabelsAndOfTokensNothingIsExpected) {
  const auto is_found = [](const Parameters::Given &parameters, int classes) {
    FakeSource source;
    for (int step = 0; step < 120; ++step) {
      std::vector<double> labels;
      for (int i = 0; i < 40 * classes; ++i) labels.push_back(i % classes);
      std::vector<double> predictions = labels;
      labels.push_back(1);  // the only one of its class that is missed
      predictions.push_back(classes);
      source.Step(step).Save("labels", labels).Save("predictions", predictions);
    }
    return !Evaluate(kRule, parameters, source, Profile::kCalibrated).findings.empty();
  };
  EXPECT_FALSE(is_found({}, 3)) << "10 in 10 steps";
  EXPECT_TRUE(is_found({{"samples_of_class", "10"}}, 3));
  EXPECT_FALSE(is_found({{"samples_of_class", "10"}}, 25));
  EXPECT_TRUE(is_found({{"samples_of_class", "10"}, {"most_classes", "25"}}, 25));
}

TEST(ConfusionTest, ItsParametersAreChecked) {
  EXPECT_THAT(Refusal(kRule, {{"category_no", "1"}}), HasSubstr("category_no"));
  EXPECT_THAT(Refusal(kRule, {{"min_diag", "1.1"}}), HasSubstr("min_diag"));
  EXPECT_THAT(Refusal(kRule, {{"max_off_diag", "-1"}}), HasSubstr("max_off_diag"));
  EXPECT_THAT(Refusal(kRule, {{"max_diag", "1"}}), HasSubstr("max_diag"));
  EXPECT_THAT(Refusal(kRule, {{"labels", "("}}), HasSubstr("("));
}

}  // namespace
}  // namespace smdebug::rules::confusion_test
