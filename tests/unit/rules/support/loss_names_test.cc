#include "rules/support/loss_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"

namespace smdebug::rules::loss_names_test {
namespace {

std::string Read(std::string_view tensor, Mode mode = Mode::kTrain) {
  const LossName name = ReadLossName(tensor, mode);
  return StrCat(name.loss, name.is_of_validation ? " validation" : " training");
}

TEST(LossNamesTest, ThePrefixTellsTheData) {
  EXPECT_EQ(Read("val_loss"), "loss validation");
  EXPECT_EQ(Read("scalar/val_loss"), "loss validation");
  EXPECT_EQ(Read("train_loss"), "loss training");
  EXPECT_EQ(Read("train-rmse"), "rmse training");
  EXPECT_EQ(Read("validation-rmse"), "rmse validation");
  EXPECT_EQ(Read("valid_0-l2"), "l2 validation") << "LightGBM";
  EXPECT_EQ(Read("training-l2"), "l2 training");
}

TEST(LossNamesTest, ElseTheModeDoes) {
  EXPECT_EQ(Read("CrossEntropyLoss_output_0"), "CrossEntropyLoss_output_0 training");
  EXPECT_EQ(Read("loss", Mode::kGlobal), "loss training");
  EXPECT_EQ(Read("loss", Mode::kEval), "loss validation");
  EXPECT_EQ(Read("train_loss", Mode::kEval), "loss validation");
  EXPECT_EQ(Read("-", Mode::kEval), "- validation");
}

}  // namespace
}  // namespace smdebug::rules::loss_names_test
