// Losses that are compared with that of a guess, and losses that are not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "rules/evaluating.h"

namespace smdebug::rules::loss_of_mixtures_test {
namespace {

using testing::Contains;
using testing::IsEmpty;

// Losses of a classifier of four classes, which fall to 0.3 on average: one far above that of a
// guess, and `other`.
Evaluated OfTwoTargets(double other) {
  FakeSource source;
  for (int64_t step = 0; step < 120; ++step) {
    const double far = step < 2 ? std::log(4) : 3 * std::log(4);
    source.Step(step, Mode::kTrain, step).Save("CrossEntropyLoss_output_0", {far});
    source.Save("CrossEntropyLoss_output_1", {step < 2 ? std::log(4) : other});
    for (const char *input : {"CrossEntropyLoss_input_1", "CrossEntropyLoss_input_3"}) {
      source.Save(input, tensor::TensorOf<int64_t>(tensor::DType::kInt64, {0, 1, 2, 3}));
    }
  }
  return Evaluate("LossNotDecreasing", {}, source, Profile::kCalibrated);
}

// As mixup draws it.
TEST(LossOfMixturesTest, OfTwoTargetsOneMayBeFar) {
  EXPECT_THAT(OfTwoTargets(0.2).findings, IsEmpty());
  EXPECT_THAT(OfTwoTargets(2 * std::log(4)).Checks(), Contains("above_chance"));
}

// Of real samples, of false ones, and then of the generator.
TEST(LossOfMixturesTest, OpponentsMayComputeTheirLossesByOneModule) {
  const auto with = [](int64_t turns) {
    FakeSource source;
    for (int64_t step = 0; step < 160; ++step) {
      source.Step(step, Mode::kTrain, step).Save("BCELoss_output_0", {step < 60 ? 0.5 : 2});
      if (step % turns == 0) source.Save("BCELoss_output_1", {step < 60 ? 0.3 : 1.5});
    }
    return Evaluate("LossNotDecreasing", {}, source, Profile::kCalibrated).Checks();
  };
  EXPECT_THAT(with(2), IsEmpty());
  EXPECT_THAT(with(1), Contains("increasing"));
}

TEST(LossOfMixturesTest, ASumOverSamplesHasNoLevel) {
  const auto with = [](const std::string &summed) {
    FakeSource source;
    source.Include("summed_losses", summed);
    for (int64_t step = 0; step < 200; ++step) {
      const double loss = step < 60 ? 50 - 0.75 * static_cast<double>(step) : 5;
      source.Step(step, Mode::kTrain, step).Save("CrossEntropyLoss_output_0", {loss});
      source.Save("CrossEntropyLoss_input_1",
                  tensor::TensorOf<int64_t>(tensor::DType::kInt64, {0, 1, 2, 3}));
    }
    return Evaluate("LossNotDecreasing", {}, source, Profile::kCalibrated).Checks();
  };
  EXPECT_THAT(with("^CrossEntropyLoss_input_"), IsEmpty());
  EXPECT_THAT(with("^Other"), Contains("not_decreasing"));
}

}  // namespace
}  // namespace smdebug::rules::loss_of_mixtures_test
