#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "rules/evaluating.h"

namespace smdebug::rules::unchanged_tensor_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char *kRule = "UnchangedTensor";

Parameters::Given With(Parameters::Given more = {}) {
  more.emplace("tensor_regex", ".*");
  return more;
}

// A constant tensor at steps 0, 1 and 2, then steps without it.
FakeSource Constant() {
  FakeSource source;
  for (int step = 0; step < 3; ++step) source.Step(step).Save("x", {1, 2});
  for (int step = 3; step < 6; ++step) source.Step(step).Save("y", {double(step)});
  return source;
}

TEST(UnchangedTensorTest, ThreeEqualValuesAreFoundAtTheThird) {
  FakeSource source = Constant();
  const Evaluated evaluated = Evaluate(kRule, With(), source);
  ASSERT_THAT(evaluated.Steps(), ElementsAre(2)) << "steps without a new value find nothing";
  EXPECT_EQ(evaluated.findings[0].tensor, "x");
  EXPECT_EQ(evaluated.findings[0].value, 3);
  EXPECT_EQ(evaluated.findings[0].limit, 3);
  EXPECT_EQ(evaluated.findings[0].message, "'x' is the same in its last 3 values; the limit is 3");
}

// Full batches, as of a graph, look like a loader that returns one batch.
TEST(UnchangedTensorTest, AllDataInEachStepIsWorthALook) {
  const std::vector<double> all(300, 1.5);
  FakeSource source;
  for (int step = 0; step < 8; ++step) source.Step(step).Save("x", all, {150, 2});
  const Evaluated evaluated = Evaluate(kRule, With(), source, Profile::kCalibrated);
  ASSERT_THAT(evaluated.Steps(), ElementsAre(4, 5, 6, 7));
  EXPECT_EQ(evaluated.findings[0].level, Level::kWorthALook);
  EXPECT_EQ(evaluated.findings[0].check, "full_batch");
  EXPECT_THAT(evaluated.findings[0].message, HasSubstr("perhaps each step takes all data"));
  EXPECT_EQ(
      Evaluate(kRule, With({{"full_batch", "0"}}), source, Profile::kCalibrated).findings[0].level,
      Level::kFinding);

  // A loader that gets stuck later returned other batches before.
  FakeSource stuck;
  stuck.Step(0).Save("x", std::vector<double>(300, 2.5), {150, 2});
  for (int step = 1; step < 8; ++step) stuck.Step(step).Save("x", all, {150, 2});
  EXPECT_EQ(Evaluate(kRule, With(), stuck, Profile::kCalibrated).findings[0].level,
            Level::kFinding);
}

TEST(UnchangedTensorTest, ABatchOfAPowerOfTwoIsOneOfMany) {
  for (const auto &[samples, level] : {std::pair(4, Level::kWorthALook),
                                       {8, Level::kFinding},
                                       {34, Level::kWorthALook},
                                       {128, Level::kFinding},
                                       {256, Level::kWorthALook}}) {
    FakeSource source;
    const std::vector<double> batch(static_cast<size_t>(2 * samples), 1.5);
    for (int step = 0; step < 6; ++step) source.Step(step).Save("x", batch, {samples, 2});
    EXPECT_EQ(Evaluate(kRule, With(), source, Profile::kCalibrated).findings.at(0).level, level)
        << samples;
  }
}

TEST(UnchangedTensorTest, FewSamplesAreLessOftenAllData) {
  for (const auto &[samples, check] :
       {std::pair(4, "full_batch"), {5, "one_batch"}, {120, "one_batch"}, {129, "full_batch"}}) {
    FakeSource source;
    const std::vector<double> batch(static_cast<size_t>(2 * samples), 1.5);
    for (int step = 0; step < 6; ++step) source.Step(step).Save("x", batch, {samples, 2});
    EXPECT_EQ(Evaluate(kRule, With(), source, Profile::kCalibrated).findings.at(0).check, check);
  }
}

// A physics-informed network learns at the same points in each step.
TEST(UnchangedTensorTest, PointsOfAGridArePerhapsAllData) {
  std::vector<double> grid;
  std::vector<double> drawn;
  for (int i = 0; i < 64; ++i) {
    grid.push_back(i / 64.0);
    drawn.push_back(std::sin(i));
  }
  const auto level_of = [](const std::vector<double> &batch) {
    FakeSource source;
    for (int step = 0; step < 6; ++step) source.Step(step).Save("x", batch, {64, 1});
    return Evaluate(kRule, With(), source, Profile::kCalibrated).findings.at(0).level;
  };
  EXPECT_EQ(level_of(grid), Level::kWorthALook);
  EXPECT_EQ(level_of(drawn), Level::kFinding);
}

TEST(UnchangedTensorTest, ALossThatHasFallenMaySettle) {
  const auto ends_at = [](double first) {
    FakeSource source;
    source.Step(0).Save("x", {first});
    for (int step = 1; step < 8; ++step) source.Step(step).Save("x", {0.25});
    return Evaluate(kRule, With(), source, Profile::kCalibrated).findings.at(0);
  };
  EXPECT_EQ(ends_at(0.75).level, Level::kWorthALook);
  EXPECT_EQ(ends_at(0.75).check, "settled");
  EXPECT_THAT(ends_at(0.75).message, HasSubstr("it was 0.75 at first"));
  EXPECT_EQ(ends_at(0.26).level, Level::kFinding);
  EXPECT_EQ(ends_at(0.2).level, Level::kFinding);
}

TEST(UnchangedTensorTest, TwoValuesAreNotEnough) {
  FakeSource source = Constant();
  const Evaluated evaluated = Evaluate(kRule, With(), source, Profile::kAws, {0, 2, false});
  EXPECT_THAT(evaluated.findings, IsEmpty());
  EXPECT_EQ(evaluated.result.status, RuleStatus::kNotEnoughData);
  EXPECT_THAT(evaluated.result.message, HasSubstr("3 values"));
}

TEST(UnchangedTensorTest, StepsBeforeTheRangeCount) {
  FakeSource source = Constant();
  EXPECT_THAT(Evaluate(kRule, With(), source, Profile::kAws, {2, {}, false}).Steps(),
              ElementsAre(2));
  EXPECT_THAT(Evaluate(kRule, With(), source, Profile::kAws, {3, 6, false}).findings, IsEmpty());
}

TEST(UnchangedTensorTest, TheTolerancesAreTheUsers) {
  FakeSource source;
  source.Step(0).Save("x", {100});
  source.Step(1).Save("x", {100.0009});
  source.Step(2).Save("x", {100.0018});
  EXPECT_THAT(Evaluate(kRule, With(), source).findings, IsEmpty())
      << "each is close to the one before, the last not to the first";
  EXPECT_THAT(Evaluate(kRule, With({{"num_steps", "2"}}), source).Steps(), ElementsAre(1, 2));
  EXPECT_THAT(Evaluate(kRule, With({{"rtol", "1e-4"}}), source).Steps(), ElementsAre(2));
  EXPECT_THAT(Evaluate(kRule, With({{"rtol", "0"}, {"atol", "0.01"}}), source).Steps(),
              ElementsAre(2));
}

TEST(UnchangedTensorTest, TheDifferenceMayBeTheToleranceExactly) {
  FakeSource source;
  source.Step(0).Save("x", {4});
  source.Step(1).Save("x", {5});
  EXPECT_THAT(
      Evaluate(kRule, With({{"num_steps", "2"}, {"rtol", "0.25"}, {"atol", "0"}}), source).Steps(),
      ElementsAre(1));
  EXPECT_THAT(
      Evaluate(kRule, With({{"num_steps", "2"}, {"rtol", "0.2"}, {"atol", "0"}}), source).findings,
      IsEmpty())
      << "relative to the older value";
}

TEST(UnchangedTensorTest, AChangeBeginsAnew) {
  FakeSource source;
  const double values[] = {1, 1, 2, 2, 2, 2, 3};
  for (int step = 0; step < 7; ++step) source.Step(step).Save("x", {values[step]});
  const Evaluated evaluated = Evaluate(kRule, With(), source);
  EXPECT_THAT(evaluated.Steps(), ElementsAre(4, 5));
  EXPECT_EQ(evaluated.findings[1].value, 4);
}

TEST(UnchangedTensorTest, NotANumberEqualsItselfIfSoAsked) {
  FakeSource source;
  for (int step = 0; step < 3; ++step) source.Step(step).Save("x", {std::nan(""), 1});
  EXPECT_THAT(Evaluate(kRule, With(), source).findings, IsEmpty());
  EXPECT_THAT(Evaluate(kRule, With({{"equal_nan", "True"}}), source).Steps(), ElementsAre(2));
  FakeSource infinite;
  for (int step = 0; step < 3; ++step) infinite.Step(step).Save("x", {INFINITY});
  EXPECT_THAT(Evaluate(kRule, With(), infinite).Steps(), ElementsAre(2));
  FakeSource turning;
  for (int step = 0; step < 3; ++step) turning.Step(step).Save("x", {step % 2 ? 1.0 : -INFINITY});
  EXPECT_THAT(Evaluate(kRule, With(), turning).findings, IsEmpty());
}

TEST(UnchangedTensorTest, AnotherShapeOrTypeIsAChange) {
  FakeSource source;
  source.Step(0).Save("x", {1, 1}, {2});
  source.Step(1).Save("x", {1, 1}, {1, 2});
  source.Step(2).Save("x", tensor::TensorOf(tensor::DType::kFloat32, std::vector<float>{1, 1}));
  EXPECT_THAT(Evaluate(kRule, With({{"num_steps", "2"}}), source).findings, IsEmpty());
}

TEST(UnchangedTensorTest, OfEveryType) {
  for (const tensor::DType dtype : tensor::kRealTypes) {
    FakeSource source;
    source.Step(0).Save("x", tensor::TensorOfNumbers(dtype, {1, 0}));
    source.Step(1).Save("x", tensor::TensorOfNumbers(dtype, {1, 0}));
    source.Step(2).Save("x", tensor::TensorOfNumbers(dtype, {1, 1}));
    EXPECT_THAT(Evaluate(kRule, With({{"num_steps", "2"}}), source).Steps(), ElementsAre(1))
        << DTypeName(dtype);
  }
  FakeSource empty;
  for (int step = 0; step < 3; ++step) empty.Step(step).Save("x", std::vector<double>());
  EXPECT_EQ(Evaluate(kRule, With(), empty).result.status, RuleStatus::kNotEnoughData);
}

TEST(UnchangedTensorTest, WorkersAndTensorsAreKeptApart) {
  FakeSource source;
  for (int step = 0; step < 3; ++step) {
    source.Step(step).By("a").Save("x", {1}).Save("y", {double(step)});
    source.By("b").Save("x", {double(step)}).Save("y", {double(step)});
  }
  const Evaluated evaluated = Evaluate(kRule, With(), source);
  ASSERT_THAT(evaluated.Tensors(), ElementsAre("x"));
  EXPECT_EQ(evaluated.findings[0].worker, "a");
}

TEST(UnchangedTensorTest, CalibratedLooksAtLossesWhileTheModelLearns) {
  FakeSource source;
  for (int step = 0; step < 10; ++step) {
    source.Step(step, step % 2 ? Mode::kEval : Mode::kTrain, step / 2)
        .Save("loss", {1})
        .Save("weight", {1});
  }
  const Evaluated evaluated = Evaluate(kRule, {}, source, Profile::kCalibrated);
  EXPECT_THAT(evaluated.Steps(), ElementsAre(8));
  EXPECT_THAT(evaluated.Tensors(), ElementsAre("loss"));
}

TEST(UnchangedTensorTest, ALossThatFellToZeroHasNothingLeftToLearn) {
  const auto with = [](double first, double later) {
    FakeSource source;
    for (int step = 0; step < 10; ++step)
      source.Step(step).Save("loss", {step == 0 ? first : later});
    return Evaluate(kRule, {}, source, Profile::kCalibrated).findings.size();
  };
  EXPECT_EQ(with(2, 0), 0u);
  EXPECT_EQ(with(1e-8, 1e-9), 0u);
  EXPECT_GT(with(2, 0.1), 0u);
  EXPECT_GT(with(0, 0), 0u) << "it is broken";
}

TEST(UnchangedTensorTest, ASampleOfALargeTensorIsSpreadOverIt) {
  std::vector<double> numbers(100'000);
  std::fill(numbers.begin() + 50'000, numbers.end(), 1);
  FakeSource halves;
  halves.Step(0).Save("half", std::vector<double>(100'000));
  halves.Step(1).Save("half", numbers);
  const Parameters::Given sampled = With({{"num_steps", "2"}, {"sample", "640"}});
  EXPECT_THAT(Evaluate(kRule, sampled, halves).findings, IsEmpty());
  FakeSource same;
  for (int step = 0; step < 2; ++step) same.Step(step).Save("x", numbers);
  EXPECT_THAT(Evaluate(kRule, sampled, same).Steps(), ElementsAre(1));
}

TEST(UnchangedTensorTest, WhatAnAgentSeesMayStayForAWhile) {
  const auto of = [](const std::string &name, const std::vector<int64_t> &shape) {
    FakeSource source;
    const auto count = static_cast<size_t>(shape.size() == 1 ? shape[0] : shape[0] * shape[1]);
    source.Step(0).Save(name, std::vector<double>(count, 1), shape);
    for (int step = 1; step < 9; ++step) {
      source.Step(step).Save(name, std::vector<double>(count, 2), shape);
    }
    const Parameters::Given selected = {{"tensor_regex", name}};
    return Evaluate(kRule, selected, source, Profile::kCalibrated).Steps();
  };
  EXPECT_THAT(of("Net_input_0", {1, 2}), IsEmpty());
  EXPECT_THAT(of("Net_input_0", {2}), IsEmpty());
  EXPECT_THAT(of("Net_input_0", {2, 2}), testing::Not(IsEmpty()));
  EXPECT_THAT(of("fc.bias", {2}), testing::Not(IsEmpty()));
}

TEST(UnchangedTensorTest, RefusesWhatMakesNoSense) {
  EXPECT_THAT(Refusal(kRule, {}), HasSubstr("collection_names"));
  EXPECT_THAT(Refusal(kRule, With({{"num_steps", "1"}})), HasSubstr("num_steps"));
  EXPECT_THAT(Refusal(kRule, With({{"rtol", "-1"}})), HasSubstr("rtol"));
  EXPECT_THAT(Refusal(kRule, With({{"atol", "nan"}})), HasSubstr("atol"));
  FakeSource source;
  source.Step(0).Save("x", {1});
  EXPECT_EQ(Evaluate(kRule, {{"collection_names", "weights"}}, source).result.status,
            RuleStatus::kNoTensors);
}

}  // namespace
}  // namespace smdebug::rules::unchanged_tensor_test
