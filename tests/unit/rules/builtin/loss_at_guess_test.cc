// Losses of classes beside that of a guess by how frequent each class is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "rules/evaluating.h"

namespace smdebug::rules::loss_at_guess_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char *kRule = "LossNotDecreasing";

auto OfFourClasses() {
  return tensor::TensorOf<int64_t>(tensor::DType::kInt64, {0, 1, 2, 3, 0, 1, 2, 3});
}

// A classifier that tells four classes with that loss from some step on.
Evaluated OfClassifier(double loss, double first = -1, int64_t steps = 120) {
  FakeSource source;
  for (int64_t step = 0; step < steps; ++step) {
    source.Step(step, Mode::kTrain, step)
        .Save("CrossEntropyLoss_output_0", {step < 2 && first > 0 ? first : loss});
    source.Save("CrossEntropyLoss_input_1", OfFourClasses());
  }
  return Evaluate(kRule, {}, source, Profile::kCalibrated);
}

TEST(LossAtGuessTest, AResumedTrainingMayHaveNothingLeftToLearn) {
  EXPECT_THAT(OfClassifier(0.2).findings, IsEmpty());
  EXPECT_THAT(OfClassifier(std::log(4)).Checks(), testing::Contains("not_decreasing"));
}

// A classifier whose loss falls to a part of that of a guess.
Evaluated OfClassifierThatFallsTo(double part, int64_t steps) {
  FakeSource source;
  for (int64_t step = 0; step < steps; ++step) {
    const double loss =
        std::max(part * std::log(4), std::log(4) + 0.05 - 0.001 * static_cast<double>(step));
    source.Step(step, Mode::kTrain, step).Save("CrossEntropyLoss_output_0", {loss});
    source.Save("CrossEntropyLoss_input_1", OfFourClasses());
  }
  return Evaluate(kRule, {}, source, Profile::kCalibrated);
}

// Such as one whose weights decay to 0.
TEST(LossAtGuessTest, ALossThatFallsToThatOfAGuessHasNotLearned) {
  EXPECT_THAT(OfClassifierThatFallsTo(1, 120).Checks(), testing::Contains("not_decreasing"));
  EXPECT_THAT(OfClassifierThatFallsTo(0.99, 120).findings, IsEmpty())
      << "targets are hard to predict";
}

TEST(LossAtGuessTest, AfterManyUpdatesALossALittleBelowThatOfAGuessHasNotLearned) {
  EXPECT_THAT(OfClassifierThatFallsTo(0.995, 130).findings, IsEmpty());
  EXPECT_THAT(OfClassifierThatFallsTo(0.995, 180).Checks(), testing::Contains("not_decreasing"));
  EXPECT_THAT(OfClassifierThatFallsTo(0.991, 190).findings, IsEmpty());
  EXPECT_THAT(OfClassifierThatFallsTo(0.991, 260).Checks(), testing::Contains("not_decreasing"));
  EXPECT_THAT(OfClassifierThatFallsTo(0.98, 260).findings, IsEmpty());
}

TEST(LossAtGuessTest, UpdatesByFewSamplesCountLess) {
  const auto of_pairs = [](int64_t steps) {
    FakeSource source;
    for (int64_t step = 0; step < steps; ++step) {
      source.Step(step, Mode::kTrain, step).Save("CrossEntropyLoss_output_0", {std::log(2)});
      source.Save("CrossEntropyLoss_input_1",
                  tensor::TensorOf<int64_t>(tensor::DType::kInt64, {0, 1}));
    }
    return Evaluate(kRule, {}, source, Profile::kCalibrated);
  };
  EXPECT_THAT(of_pairs(300).findings, IsEmpty());
  EXPECT_THAT(of_pairs(350).Checks(), testing::Contains("not_decreasing"));
}

TEST(LossAtGuessTest, ALossThatFallsFarButOnlyToThatOfAGuessHasNotLearned) {
  EXPECT_THAT(OfClassifier(1.001 * std::log(4), 9).Checks(), testing::Contains("not_decreasing"));
  EXPECT_THAT(OfClassifier(0.9 * std::log(4), 9).findings, IsEmpty());
}

// Some batches are easier than others.
TEST(LossAtGuessTest, ADipByChanceIsNotLearned) {
  FakeSource source;
  for (int64_t step = 0; step < 300; ++step) {
    const bool is_dip = step >= 96 && step <= 100;
    const double noise = 0.04 * static_cast<double>(step % 5 - 2);
    const double part = step < 8 ? 1.5 : is_dip ? 0.99 : 1.001;
    source.Step(step, Mode::kTrain, step)
        .Save("CrossEntropyLoss_output_0", {part * std::log(4) + noise});
    source.Save("CrossEntropyLoss_input_1", OfFourClasses());
  }
  EXPECT_THAT(Evaluate(kRule, {}, source, Profile::kCalibrated).Checks(),
              testing::Contains("not_decreasing"));
}

// The same loss under two names; both fall far, and only to that of a guess.
TEST(LossAtGuessTest, ALossThatIsRecordedTwiceSparesItselfNot) {
  FakeSource source;
  for (int64_t step = 0; step < 260; ++step) {
    const double loss = step < 8 ? 6 : 1.001 * std::log(4);
    source.Step(step, Mode::kTrain, step).Save("loss_output_0", {loss});
    source.Save("CrossEntropyLoss_output_0", {loss});
    for (const char *name : {"loss/CrossEntropyLoss_input_1", "CrossEntropyLoss_input_1"}) {
      source.Save(name, OfFourClasses());
    }
  }
  EXPECT_THAT(Evaluate(kRule, {}, source, Profile::kCalibrated).Checks(),
              testing::Contains("not_decreasing"));
}

// A training whose own loss falls, with evaluations of 2 batches each 60 steps.
Evaluated WithHeldOut(const std::function<double(int64_t)> &held_out, int64_t steps = 400) {
  FakeSource source;
  int64_t global = 0;
  for (int64_t step = 0; step < steps; ++step) {
    source.Step(global++, Mode::kTrain, step)
        .Save("loss_output_0", {std::log(4) - 0.002 * static_cast<double>(step)});
    source.Save("loss/CrossEntropyLoss_input_1", OfFourClasses());
    for (int64_t batch = 0; step % 60 == 59 && batch < 2; ++batch) {
      source.Step(global++, Mode::kEval, step / 30 + batch)
          .Save("val_loss_output_0", {held_out(step)});
    }
  }
  return Evaluate(kRule, {}, source, Profile::kCalibrated);
}

TEST(LossAtGuessTest, WhatIsLearnedByHeartDoesNotHoldForOtherSamples) {
  const auto rises = [](int64_t step) { return std::log(4) + 0.0005 * static_cast<double>(step); };
  const Evaluated evaluated = WithHeldOut(rises);
  ASSERT_FALSE(evaluated.findings.empty());
  EXPECT_EQ(evaluated.findings[0].tensor, "val_loss_output_0");
  EXPECT_EQ(evaluated.findings[0].check, "not_decreasing");
  EXPECT_THAT(evaluated.findings[0].message, testing::HasSubstr("a guess"));
  EXPECT_THAT(WithHeldOut(rises, 300).findings, IsEmpty()) << "too early to tell";
  EXPECT_THAT(WithHeldOut([](int64_t step) { return step < 100 ? 1.3 : 2.0; }).findings, IsEmpty())
      << "an overfit, which was better once";
  EXPECT_THAT(WithHeldOut([](int64_t) { return 4 * std::log(4); }).findings, IsEmpty()) << "a sum";
}

TEST(LossAtGuessTest, ALossAboveThatOfAGuessIsFoundSooner) {
  const Evaluated evaluated = OfClassifier(3, std::log(4), 60);
  ASSERT_THAT(evaluated.Checks(), ElementsAre("above_chance"));
  EXPECT_THAT(evaluated.Steps(), ElementsAre(44));
  EXPECT_DOUBLE_EQ(evaluated.findings[0].limit, 1.5 * std::log(4));
  EXPECT_THAT(evaluated.findings[0].message, testing::HasSubstr("at first"));
  EXPECT_THAT(OfClassifier(1.8, std::log(4), 60).findings, IsEmpty()) << "hardly above";
  EXPECT_THAT(OfClassifier(3, std::log(4), 40).findings, IsEmpty()) << "too early to tell";
}

}  // namespace
}  // namespace smdebug::rules::loss_at_guess_test
