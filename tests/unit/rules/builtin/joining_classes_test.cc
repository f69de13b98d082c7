// Trainings that get one task after another.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "rules/evaluating.h"
#include "tensor/tensors.h"

namespace smdebug::rules::joining_classes_test {
namespace {

using testing::Contains;

using testing::IsEmpty;

// The loss of a task of two classes falls to 0; then it jumps, and falls again.
Evaluated OfJump(int64_t joining, int per_batch) {
  FakeSource source;
  for (int step = 0; step < 400; ++step) {
    std::vector<double> labels;
    for (int i = 0; i < 32; ++i) {
      labels.push_back(step >= 200 && i < per_batch ? static_cast<double>(joining + i % 2) : i % 2);
    }
    const double loss =
        step < 200 ? 0.6 * std::exp(-step / 20.0) : 4 * std::exp(-(step - 200) / 20.0);
    source.Step(step)
        .Save("CrossEntropyLoss_input_1", tensor::TensorOfNumbers(tensor::DType::kInt64, labels))
        .Save("CrossEntropyLoss_output_0", {loss});
  }
  return Evaluate("LossNotDecreasing", {}, source, Profile::kCalibrated);
}

TEST(JoiningClassesTest, ALossMayRiseWhenClassesJoin) {
  EXPECT_THAT(OfJump(2, 16).Checks(), IsEmpty());
}

TEST(JoiningClassesTest, ItMustNotWhenTheyAreKnownOrRare) {
  EXPECT_THAT(OfJump(0, 16).Checks(), Contains("increasing"));
  EXPECT_THAT(OfJump(2, 4).Checks(), Contains("increasing"));
}

}  // namespace
}  // namespace smdebug::rules::joining_classes_test
