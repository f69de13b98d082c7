#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "rules/evaluating.h"

namespace smdebug::rules::class_imbalance_test {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char *kRule = "ClassImbalance";

// Judges the first step.
const Parameters::Given kAtOnce = {{"first_steps", "1"}, {"steps", "1"}};

std::vector<double> Labels(size_t of_0, size_t of_1) {
  std::vector<double> labels(of_0, 0);
  labels.insert(labels.end(), of_1, 1);
  return labels;
}

TEST(ClassImbalanceTest, NinetyNineToOneAtOneStep) {
  FakeSource source;
  source.Step(3).Save("labels", Labels(990, 10));
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  ASSERT_THAT(evaluated.Steps(), ElementsAre(3));
  EXPECT_THAT(evaluated.Checks(), ElementsAre("imbalance"));
  EXPECT_EQ(evaluated.findings[0].value, 99);
  EXPECT_EQ(evaluated.findings[0].limit, 10);
  EXPECT_EQ(evaluated.findings[0].tensor, "labels");
}

// A second task joins after many steps of the first, which goes on or ends.
TEST(ClassImbalanceTest, ClassesThatJoinLateAreComparedFromThenOn) {
  const auto joining = [](bool goes_on) {
    FakeSource source;
    for (int step = 0; step < 140; ++step) {
      std::vector<double> labels;
      for (int i = 0; i < 32; ++i) {
        const int from = step < 80 || (goes_on && i % 2 == 0) ? 0 : 2;
        labels.push_back(from + (i * 7 + step) % 3 % 2);
      }
      source.Step(step).Save("labels", labels);
    }
    return Evaluate(kRule, {}, source, Profile::kCalibrated);
  };
  EXPECT_THAT(joining(true).Checks(), IsEmpty());
  const Evaluated ended = joining(false);
  ASSERT_THAT(ended.Checks(), Contains("imbalance"));
  EXPECT_THAT(ended.findings[0].message, HasSubstr("never, since others joined"));
}

TEST(ClassImbalanceTest, WeightedClassesAreWorthALook) {
  FakeSource source;
  source.Include("weighted_losses", "^CrossEntropyLoss_input_");
  source.Step(3).Save("CrossEntropyLoss_input_1", Labels(990, 10)).Save("labels", Labels(990, 10));
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  ASSERT_THAT(evaluated.Tensors(), ElementsAre("CrossEntropyLoss_input_1", "labels"));
  EXPECT_EQ(evaluated.findings[0].level, Level::kWorthALook);
  EXPECT_EQ(evaluated.findings[1].level, Level::kFinding);
}

// A loss of tokens often takes them in one row.
TEST(ClassImbalanceTest, LabelsOfTokensInARowAreWorthALook) {
  FakeSource source;
  source.Include("losses_of_parts", "^CrossEntropyLoss_input_");
  source.Step(3).Save("CrossEntropyLoss_input_1", Labels(990, 10)).Save("labels", Labels(990, 10));
  const Evaluated evaluated = Evaluate(kRule, kAtOnce, source, Profile::kCalibrated);
  ASSERT_THAT(evaluated.Tensors(), ElementsAre("CrossEntropyLoss_input_1", "labels"));
  EXPECT_EQ(evaluated.findings[0].level, Level::kWorthALook);
  EXPECT_EQ(evaluated.findings[1].level, Level::kFinding);
}

// Of tokens and pixels most are of one class.
TEST(ClassImbalanceTest, LabelsOfPartsAreWorthALook) {
  const auto level_of = [](const std::vector<double> &labels, std::vector<int64_t> shape,
                           Profile profile = Profile::kCalibrated) {
    FakeSource source;
    source.Step(3)
        .Save("Model_input_labels", labels, std::move(shape))
        .Save("CrossEntropyLoss_input_1", labels);
    const Evaluated evaluated = Evaluate(kRule, kAtOnce, source, profile);
    EXPECT_THAT(evaluated.Checks(), ElementsAre("imbalance", "imbalance"));
    EXPECT_EQ(evaluated.findings[0].level, evaluated.findings[1].level);
    return evaluated.findings[0].level;
  };
  std::vector<double> labels = Labels(970, 30);
  EXPECT_EQ(level_of(labels, {100, 10}), Level::kWorthALook);
  EXPECT_EQ(level_of(labels, {100, 10}, Profile::kAws), Level::kFinding);
  EXPECT_EQ(level_of(labels, {1000, 1}), Level::kFinding);
  EXPECT_EQ(level_of(labels, {1000}), Level::kFinding);
  labels[500] = -100;  // padding
  EXPECT_EQ(level_of(labels, {1000}), Level::kWorthALook);
}

TEST(ClassImbalanceTest, AClassThatTheLossIgnoresDoesNotCount) {
  FakeSource source;
  source.Include("losses_ignoring_a_class", "^CrossEntropyLoss_input_");
  source.Step(3).Save("CrossEntropyLoss_input_1", Labels(990, 10));
  EXPECT_THAT(Evaluate(kRule, {}, source).findings, IsEmpty());
}

TEST(ClassImbalanceTest, AtTheThresholdThereIsNone) {
  FakeSource source;
  source.Step(0).Save("labels", Labels(1000, 100));
  EXPECT_THAT(Evaluate(kRule, {}, source).findings, IsEmpty());
  EXPECT_THAT(Evaluate(kRule, {{"threshold_imbalance", "9.9"}}, source).Steps(), ElementsAre(0));
}

TEST(ClassImbalanceTest, TokensAreNotExpectedToBeEquallyFrequent) {
  std::vector<double> tokens(2000, 0);
  for (int token = 0; token < 26; ++token) tokens.insert(tokens.end(), 30, token);
  FakeSource source;
  source.Step(0).Save("labels", tokens);
  EXPECT_THAT(Evaluate(kRule, {}, source, Profile::kCalibrated).findings, IsEmpty());
  Parameters::Given more = kAtOnce;
  more["most_classes"] = "26";
  EXPECT_THAT(Evaluate(kRule, more, source, Profile::kCalibrated).Checks(),
              ElementsAre("imbalance"));
}

TEST(ClassImbalanceTest, CountsUntilThereAreEnoughLabels) {
  FakeSource source;
  for (int64_t step = 0; step < 4; ++step) source.Step(step).Save("labels", Labels(249, 1));
  EXPECT_THAT(Evaluate(kRule, {}, source).Steps(), ElementsAre(1, 3));
  EXPECT_THAT(Evaluate(kRule, {{"samples", "1000"}}, source).Steps(), ElementsAre(3));
  const Evaluated evaluated = Evaluate(kRule, {{"samples", "1001"}}, source);
  EXPECT_EQ(evaluated.result.status, RuleStatus::kNotEnoughData);
  EXPECT_THAT(evaluated.result.message, HasSubstr("1001 labels"));
}

TEST(ClassImbalanceTest, AClassThatIsNotFound) {
  FakeSource source;
  std::vector<double> predictions = Labels(450, 50);
  source.Step(0).Save("labels", Labels(300, 200)).Save("predictions", predictions);
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  ASSERT_THAT(evaluated.Checks(), ElementsAre("misprediction"));
  EXPECT_EQ(evaluated.findings[0].value, .75);
  EXPECT_EQ(evaluated.findings[0].tensor, "predictions");
  EXPECT_THAT(evaluated.findings[0].message, HasSubstr("75 % of class 1"));
  EXPECT_THAT(Evaluate(kRule, {{"threshold_misprediction", "0.75"}}, source).findings, IsEmpty());
}

TEST(ClassImbalanceTest, AModelThatGuessesHasYetToBegin) {
  const auto levels = [](const std::vector<double> &labels, const std::vector<double> &guesses) {
    FakeSource source;
    for (int64_t step = 0; step < 60; ++step) {
      source.Step(step, Mode::kTrain, step).Save("labels", labels).Save("predictions", guesses);
    }
    std::set<Level> found;
    for (const Finding &each : Evaluate(kRule, {}, source, Profile::kCalibrated).findings) {
      if (each.check == "misprediction") found.insert(each.level);
    }
    return found;
  };
  const std::vector<double> guesses = Labels(0, 100);
  EXPECT_THAT(levels(Labels(38, 62), guesses), ElementsAre(Level::kWorthALook));
  // One that tells other classes apart has.
  std::vector<double> labels = Labels(60, 62);
  labels.insert(labels.end(), 40, 2);
  EXPECT_THAT(levels(labels, Labels(60, 102)), ElementsAre(Level::kFinding));
  EXPECT_THAT(levels(Labels(5, 95), guesses), ElementsAre(Level::kFinding));
}

TEST(ClassImbalanceTest, ProbabilitiesAreRoundedAndScoresCompared) {
  FakeSource source;
  source.Step(0).Save("labels", {0, 1, 1}).Save("predictions", {.2, .7, .9});
  source.Step(1).Save("labels", {0, 1, 2}).Save("predictions", {9, 0, 0, 0, 9, 0, 0, 0, 9}, {3, 3});
  EXPECT_EQ(Evaluate(kRule, {{"samples", "3"}}, source).result.status, RuleStatus::kPassed);
}

TEST(ClassImbalanceTest, ArgmaxIsForLabelsInOneColumn) {
  FakeSource source;
  source.Step(0).Save("labels", {1, 0, 0, 1, 0, 1}, {3, 2});
  source.Save("predictions", {9, 8, 0, 1, 5, 6}, {3, 2});
  EXPECT_EQ(Evaluate(kRule, {{"samples", "3"}, {"argmax", "True"}}, source).result.status,
            RuleStatus::kPassed);
}

TEST(ClassImbalanceTest, UnseenClassesCountIfTheirNumberIsGiven) {
  FakeSource source;
  source.Step(0).Save("labels", Labels(250, 250));
  EXPECT_THAT(Evaluate(kRule, {}, source).findings, IsEmpty());
  const Evaluated evaluated = Evaluate(kRule, {{"num_classes", "3"}}, source);
  EXPECT_THAT(evaluated.Steps(), ElementsAre(0));
  EXPECT_THAT(evaluated.findings[0].message, HasSubstr("another class never"));
}

TEST(ClassImbalanceTest, WhatIsNoWholeNumberIsNoClass) {
  FakeSource source;
  std::vector<double> numbers(600, .5);
  source.Step(0).Save("labels", numbers);
  EXPECT_EQ(Evaluate(kRule, {}, source).result.status, RuleStatus::kNotEnoughData);
}

// As of a regression of counts; a classifier of two classes predicts no number above 1.
TEST(ClassImbalanceTest, CountsAreNoClasses) {
  std::vector<double> counts = Labels(990, 10);
  counts[0] = 7;
  FakeSource source;
  source.Step(0).Save("labels", counts).Save("predictions", std::vector<double>(1000, 0.4));
  EXPECT_THAT(Evaluate(kRule, {}, source).findings, IsEmpty());
  FakeSource classes;
  classes.Step(0).Save("labels", Labels(990, 10));
  classes.Save("predictions", std::vector<double>(1000, 0.4));
  EXPECT_THAT(Evaluate(kRule, {}, classes).Checks(), Contains("imbalance"));

  // What was predicted for counts belongs to no other labels.
  source.Save("more_labels", Labels(500, 500)).Save("more_predictions", Labels(500, 500));
  EXPECT_THAT(Evaluate(kRule, {}, source).findings, IsEmpty());
}

TEST(ClassImbalanceTest, KnowsTheInputsOfPyTorchsLosses) {
  FakeSource source;
  source.Step(0).Save("CrossEntropyLoss_input_0", {0, 9, 0, 9}, {2, 2});
  source.Save("CrossEntropyLoss_input_1", {0, -100});
  EXPECT_THAT(Evaluate(kRule, {{"samples", "1"}}, source).Tensors(),
              ElementsAre("CrossEntropyLoss_input_0"))
      << "class 0 is taken for 1; -100 is no class";
}

TEST(ClassImbalanceTest, ModesAndWorkersAreCountedApart) {
  FakeSource source;
  source.Step(0, Mode::kTrain, 0).By("a").Save("labels", Labels(300, 10));
  source.By("b").Save("labels", Labels(300, 10));
  source.Step(1, Mode::kEval, 0).By("a").Save("labels", Labels(300, 10));
  EXPECT_EQ(Evaluate(kRule, {}, source).result.status, RuleStatus::kNotEnoughData);
  source.Step(2, Mode::kTrain, 1).By("b").Save("labels", Labels(300, 10));
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  ASSERT_THAT(evaluated.Steps(), ElementsAre(2));
  EXPECT_EQ(evaluated.findings[0].worker, "b");
}

TEST(ClassImbalanceTest, CalibratedWaitsForAModelThatKnowsSomething) {
  FakeSource source;
  source.Step(0).Save("labels", Labels(200, 300)).Save("predictions", Labels(500, 0));
  EXPECT_THAT(Evaluate(kRule, {{"steps", "1"}}, source, Profile::kCalibrated).findings, IsEmpty());
  for (int step = 1; step < 5; ++step) {
    source.Step(step).Save("labels", Labels(300, 200)).Save("predictions", Labels(500, 0));
  }
  EXPECT_THAT(Evaluate(kRule, {{"steps", "1"}}, source, Profile::kCalibrated).Steps(),
              ElementsAre(4));
  EXPECT_THAT(
      Evaluate(kRule, {{"steps", "1"}, {"patience", "2"}}, source, Profile::kCalibrated).Steps(),
      ElementsAre(2, 3, 4));
}

TEST(ClassImbalanceTest, CalibratedWaitsWhileTheModelImproves) {
  const auto missing_in = [](double improvement) {
    FakeSource source;
    for (int step = 0; step < 8; ++step) {
      // Of classes 0 and 1 some are right, and class 2 never is.
      const auto right = static_cast<size_t>(450 + 40 * improvement * step);
      std::vector<double> labels;
      std::vector<double> predictions;
      for (size_t i = 0; i < 900; ++i) {
        labels.push_back(i < 800 ? static_cast<double>(i % 2) : 2);
        predictions.push_back(i < right ? labels.back() : 1 - std::min(1.0, labels.back()));
      }
      source.Step(step).Save("labels", labels).Save("predictions", predictions);
    }
    return Evaluate(kRule, {{"steps", "1"}}, source, Profile::kCalibrated).findings.empty();
  };
  EXPECT_TRUE(missing_in(1));
  EXPECT_FALSE(missing_in(0));
}

// One of 16 labels is of class 1; the model takes `missed` of those for the other class.
FakeSource WithARareClass(double missed, int64_t steps = 64) {
  FakeSource source;
  for (int64_t step = 0; step < steps; ++step) {
    std::vector<double> labels = Labels(300, 20);
    std::vector<double> predictions = labels;
    for (size_t i = 0; i < static_cast<size_t>(20 * missed); ++i) predictions[300 + i] = 0;
    source.Step(step, Mode::kTrain, step).Save("labels", labels).Save("predictions", predictions);
  }
  return source;
}

TEST(ClassImbalanceTest, ARareClassThatIsLearnedIsWorthALook) {
  const auto levels = [](double missed) {
    std::set<Level> found;
    FakeSource source = WithARareClass(missed);
    for (const Finding &each : Evaluate(kRule, {}, source, Profile::kCalibrated).findings) {
      if (each.check == "imbalance") found.insert(each.level);
    }
    return found;
  };
  EXPECT_THAT(levels(0), ElementsAre(Level::kWorthALook));
  EXPECT_THAT(levels(0.5), ElementsAre(Level::kWorthALook));
  EXPECT_THAT(levels(0.55), ElementsAre(Level::kFinding));
}

// Labels of single batches, or of one client's, say little.
TEST(ClassImbalanceTest, CalibratedJudgesImbalanceOfManySteps) {
  FakeSource few = WithARareClass(1, 29);
  EXPECT_THAT(Evaluate(kRule, {}, few, Profile::kCalibrated).Checks(),
              testing::Not(Contains("imbalance")));
  FakeSource source;
  for (int64_t step = 0; step < 120; ++step) {
    const bool is_first = step / 5 % 2 == 0;
    source.Step(step, Mode::kTrain, step)
        .Save("labels", is_first ? Labels(990, 10) : Labels(10, 990))
        .Save("predictions", is_first ? Labels(1000, 0) : Labels(0, 1000));
  }
  EXPECT_THAT(Evaluate(kRule, {{"sorted", "None"}}, source, Profile::kCalibrated).findings,
              IsEmpty());
}

// Saves batches of 16 labels, one a step: `label(step, i)` is that of sample i.
template <class Label>
FakeSource Batches(const Label &label, Mode mode = Mode::kTrain) {
  FakeSource source;
  for (int step = 0; step < 128; ++step) {
    std::vector<double> labels;
    for (int i = 0; i < 16; ++i) labels.push_back(label(step, i));
    source.Step(step, mode, step).Save("labels", labels);
  }
  return source;
}

TEST(ClassImbalanceTest, SamplesThatComeSortedAreFound) {
  // Each of 4 classes lasts for 16 batches, or for two and a half.
  FakeSource wide = Batches([](int step, int) { return step / 16 % 4; });
  const Evaluated evaluated = Evaluate(kRule, {}, wide, Profile::kCalibrated);
  EXPECT_THAT(evaluated.Checks(), Each("sorted"));
  EXPECT_THAT(evaluated.Steps(), ElementsAre(31, 63, 95, 127));
  EXPECT_EQ(evaluated.findings[3].message,
            "two labels of a batch of 'labels' agree in 100 % of all cases, and with the next "
            "batch in 93.8 %, which should be 25 %: samples come sorted by their class");
  FakeSource narrow = Batches([](int step, int i) { return (16 * step + i) / 40 % 4; });
  EXPECT_THAT(Evaluate(kRule, {}, narrow, Profile::kCalibrated).Checks(), Each("sorted"));
  EXPECT_THAT(Evaluate(kRule, {{"sorted", "None"}}, narrow, Profile::kCalibrated).findings,
              IsEmpty());
  EXPECT_THAT(Evaluate(kRule, {}, narrow).findings, IsEmpty());
}

TEST(ClassImbalanceTest, BatchesOfOneClassInARandomOrderAreMeant) {
  FakeSource apart = Batches([](int step, int) { return step * 7919 % 13 % 4; });
  EXPECT_THAT(Evaluate(kRule, {}, apart, Profile::kCalibrated).findings, IsEmpty());
  FakeSource by_turns = Batches([](int step, int) { return step % 2; });
  EXPECT_THAT(Evaluate(kRule, {}, by_turns, Profile::kCalibrated).findings, IsEmpty());
}

TEST(ClassImbalanceTest, AnEvaluationMayBeSorted) {
  FakeSource source = Batches([](int step, int) { return step / 16 % 4; }, Mode::kEval);
  EXPECT_THAT(Evaluate(kRule, {}, source, Profile::kCalibrated).findings, IsEmpty());
}

TEST(ClassImbalanceTest, TheFirstOfSortedClassesAreNoMajority) {
  FakeSource source = Batches([](int step, int) { return step < 100 ? 0 : 1; });
  EXPECT_THAT(Evaluate(kRule, {{"samples", "100"}}, source, Profile::kCalibrated).Checks(),
              Each("sorted"));
  FakeSource mixed = Batches([](int, int i) { return i < 15 ? 0 : 1; });
  EXPECT_THAT(Evaluate(kRule, {}, mixed, Profile::kCalibrated).Checks(), Each("imbalance"));
}

TEST(ClassImbalanceTest, WithoutLabelsNothingIsJudged) {
  FakeSource source;
  source.Step(0).Save("weight", {1});
  EXPECT_EQ(Evaluate(kRule, {}, source).result.status, RuleStatus::kNoTensors);
  source.Step(1).Save("predictions", Labels(600, 0));
  EXPECT_EQ(Evaluate(kRule, {}, source).result.status, RuleStatus::kNotEnoughData);
}

TEST(ClassImbalanceTest, ItsParametersAreChecked) {
  EXPECT_THAT(Refusal(kRule, {{"threshold_imbalance", "0"}}), HasSubstr("threshold_imbalance"));
  EXPECT_THAT(Refusal(kRule, {{"threshold_misprediction", "2"}}), HasSubstr("misprediction"));
  EXPECT_THAT(Refusal(kRule, {{"samples", "0"}}), HasSubstr("samples"));
  EXPECT_THAT(Refusal(kRule, {{"sorted", "0"}}), HasSubstr("sorted must be above 0"));
  EXPECT_THAT(Refusal(kRule, {{"sorted", "1.1"}}), HasSubstr("at most 1"));
  EXPECT_THAT(Refusal(kRule, {{"argmax", "perhaps"}}), HasSubstr("argmax"));
  EXPECT_THAT(Refusal(kRule, {{"labels_regex", "("}}), HasSubstr("("));
}

}  // namespace
}  // namespace smdebug::rules::class_imbalance_test
