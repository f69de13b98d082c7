// A module that computes several losses in a step.
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

}  // namespace
}  // namespace smdebug::rules::loss_of_mixtures_test
