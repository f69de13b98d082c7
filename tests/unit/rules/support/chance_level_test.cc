#include "rules/support/chance_level.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tensor/tensors.h"

namespace smdebug::rules::chance_level_test {
namespace {

using tensor::DType;

std::optional<double> LevelOf(std::string tensor, const std::vector<double> &targets,
                              DType dtype = DType::kInt64) {
  const tensor::Value value = tensor::TensorOfNumbers(dtype, targets);
  Sample sample({}, "w", std::move(tensor));
  sample.SetElements(value.AsView());
  ChanceLevel level;
  level.Add(sample);
  return level.Get();
}

std::vector<double> Repeat(const std::vector<double> &some, int times) {
  std::vector<double> all;
  for (int i = 0; i < times; ++i) all.insert(all.end(), some.begin(), some.end());
  return all;
}

TEST(ChanceLevelTest, TargetAndOutputNameTheirLoss) {
  EXPECT_EQ(LossOfTarget("CrossEntropyLoss_input_1"), "CrossEntropyLoss");
  EXPECT_EQ(LossOfOutput("CrossEntropyLoss_output_0"), "CrossEntropyLoss");
  EXPECT_EQ(LossOfTarget("loss/CrossEntropyLoss_input_1"), "loss");
  EXPECT_EQ(LossOfOutput("loss_output_0"), "loss");
  EXPECT_EQ(LossOfTarget("loss/term/MSELoss_input_1"), "loss/term");
  EXPECT_EQ(LossOfTarget("GAN/myMSELoss_input_1"), "GAN/myMSELoss");
  EXPECT_EQ(LossOfTarget("loss/NLLLoss_input_1"), "loss");
  EXPECT_EQ(LossOfTarget("PoissonNLLLoss_input_1"), "");
  EXPECT_EQ(LossOfTarget("\xC3\xA9NLLLoss_input_1"), "\xC3\xA9NLLLoss");
  EXPECT_EQ(LossOfTarget("CrossEntropyLoss_input_0"), "");
  EXPECT_EQ(LossOfTarget("fc_input_1"), "");
}

TEST(ChanceLevelTest, IsTheEntropyOfClasses) {
  EXPECT_DOUBLE_EQ(*LevelOf("CrossEntropyLoss_input_1", Repeat({0, 1, 2, 3}, 10)), std::log(4.0));
  EXPECT_EQ(*LevelOf("NLLLoss_input_1", Repeat({7}, 40)), 0);
}

TEST(ChanceLevelTest, IsTheVarianceOfNumbers) {
  const auto targets = Repeat({-1, 1}, 20);
  EXPECT_DOUBLE_EQ(*LevelOf("MSELoss_input_1", targets, DType::kFloat32), 1);
}

TEST(ChanceLevelTest, NeedsEnoughTargetsOfTheLossesType) {
  EXPECT_EQ(LevelOf("CrossEntropyLoss_input_1", Repeat({0, 1}, 14)), std::nullopt);
  EXPECT_EQ(LevelOf("CrossEntropyLoss_input_1", Repeat({0, 1}, 20), DType::kFloat32), std::nullopt);
}

// Returns how often classes join where a second task follows the first, and the validation has the
// classes of both.
int64_t JoinsWith(Mode of_all, const std::vector<double> &second) {
  ChanceLevel level;
  const auto add = [&](Mode mode, const std::vector<double> &targets) {
    const tensor::Value value = tensor::TensorOfNumbers(DType::kInt64, targets);
    StepPlace place;
    place.mode = mode;
    Sample sample(place, "w", "CrossEntropyLoss_input_1");
    sample.SetElements(value.AsView());
    level.Add(sample);
  };
  for (int i = 0; i < 10; ++i) add(Mode::kTrain, Repeat({0, 1}, 8));
  add(of_all, {0, 1, 2, 3});
  add(Mode::kTrain, second);
  return level.Joins();
}

TEST(ChanceLevelTest, ClassesJoinWhenTheyAreTrained) {
  EXPECT_EQ(JoinsWith(Mode::kEval, {0, 1, 0, 1, 2, 3}), 1);
  EXPECT_EQ(JoinsWith(Mode::kTrain, {0, 1, 0, 1, 2, 3}), 1) << "once";
  EXPECT_EQ(JoinsWith(Mode::kEval, {0, 1, 0, 1, 0, 1, 2}), 0) << "one of few";
}

TEST(ChanceLevelTest, LeavesOutWhatIsNoClass) {
  constexpr double kHuge = 1.8e19;  // more than int64_t holds
  const auto targets = Repeat({0, 1, kHuge}, 20);
  EXPECT_DOUBLE_EQ(*LevelOf("CrossEntropyLoss_input_1", targets, DType::kUInt64), std::log(2.0));
  const auto ignored = Repeat({0, 1, -100}, 20);
  EXPECT_DOUBLE_EQ(*LevelOf("CrossEntropyLoss_input_1", ignored), std::log(2.0));
  const auto infinite = Repeat({-1, 1, std::numeric_limits<double>::infinity(), std::nan("")}, 20);
  EXPECT_DOUBLE_EQ(*LevelOf("MSELoss_input_1", infinite, DType::kFloat32), 1);
}

}  // namespace
}  // namespace smdebug::rules::chance_level_test
