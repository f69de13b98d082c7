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

TEST(LossNamesTest, SomeNamesTellThatALossNeedNotFall) {
  for (const char *name : {"discriminator_loss", "loss_G", "d_loss_output_0",
                           "scalar/train/gen_loss", "lossD", "errD_loss", "criticLoss",
                           "policy_loss", "td_loss", "value_loss", "train/q_loss", "adv.loss"}) {
    EXPECT_TRUE(NeedNotFall(name)) << name;
  }
  for (const char *name : {"loss", "CrossEntropyLoss_output_0", "val_loss", "general_loss",
                           "graph_loss", "validation-rmse", "BCEWithLogitsLoss_output_1",
                           "distill_loss", "", "GLUE_loss", "q8_loss"}) {
    EXPECT_FALSE(NeedNotFall(name)) << name;
  }
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
