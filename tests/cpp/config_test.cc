// When to save, what to save, which tensors.
#include "support.h"

namespace smdebug {
namespace {

using ::testing::ElementsAre;

TEST(SaveConfig, SaysWhichSteps) {
  SaveConfig config;
  EXPECT_FALSE(config.IsSet(Mode::kTrain));
  config.Set(Mode::kTrain, 10, 5, 100, {7}).Merge(SaveConfig::Every(2));
  EXPECT_TRUE(config.Saves(7, Mode::kTrain) && config.Saves(10, Mode::kTrain));
  EXPECT_FALSE(config.Saves(0, Mode::kTrain) || config.Saves(100, Mode::kTrain));
  EXPECT_TRUE(config.Saves(4, Mode::kEval));
  const SaveConfig copy = SaveConfig::FromJson(config.ToJson());
  EXPECT_TRUE(copy == config && copy != SaveConfig());
  EXPECT_EQ(CodeOf([&] { config.Set(Mode::kTrain, 0); }), SMD_INVALID_CONFIG);
  EXPECT_EQ(CodeOf([] { SaveConfig::FromJson("["); }), SMD_INVALID_CONFIG);
}

TEST(SaveConfig, ReturnsItsSettings) {
  SaveConfig config;
  config.Set(Mode::kTrain, 10, 5, 100, {7, 3});
  const SaveConfig::Settings train = config.SettingsOf(Mode::kTrain);
  EXPECT_EQ(train.every, 10);
  EXPECT_EQ(train.first, 5);
  EXPECT_EQ(train.end, 100);
  EXPECT_THAT(train.steps, ElementsAre(7, 3));
  const SaveConfig::Settings eval = config.SettingsOf(Mode::kEval);
  EXPECT_TRUE(eval.every == 500 && eval.first == 0 && eval.end == -1 && eval.steps.empty());
  EXPECT_EQ(CodeOf([&] { config.SettingsOf(Mode::kAny); }), SMD_INVALID_ARGUMENT);
}

TEST(ReductionConfig, SaysWhatIsSaved) {
  ReductionConfig config;
  config.Add("min,abs_mean").SetRaw(true).SetShape(true);
  EXPECT_TRUE(config.SavesRaw() && config.SavesShape());
  EXPECT_THAT(config.Reductions(), ElementsAre("min", "abs_mean"));
  const ReductionConfig copy = ReductionConfig::FromJson(config.ToJson());
  EXPECT_TRUE(copy == config && copy != ReductionConfig());
  EXPECT_EQ(CodeOf([&] { config.Add("middle"); }), SMD_INVALID_CONFIG);
}

TEST(Collection, GroupsTensors) {
  Collection collection("mine");
  collection.Include("^conv").AddTensor("bias").AddTensor("other").RemoveTensor("other");
  EXPECT_EQ(collection.Name(), "mine");
  EXPECT_TRUE(collection.Has("conv1") && collection.Has("bias") && !collection.Has("other"));
  EXPECT_THAT(collection.Regexes(), ElementsAre("^conv"));
  EXPECT_THAT(collection.Tensors(), ::testing::Contains("bias"));
  EXPECT_TRUE(collection.SavesHistogram());
  EXPECT_FALSE(collection.SetSaveHistogram(false).SavesHistogram());
  EXPECT_EQ(Collection::FromJson(collection.ToJson()).Name(), "mine");
  EXPECT_EQ(CodeOf([&] { collection.Include("("); }), SMD_INVALID_CONFIG);
  EXPECT_EQ(CodeOf([] { Collection empty(""); }), SMD_INVALID_ARGUMENT);
}

TEST(Collection, MayHaveConfigsOfItsOwn) {
  Collection collection("mine");
  EXPECT_FALSE(collection.OwnSaveConfig() || collection.OwnReductionConfig());
  const SaveConfig every = SaveConfig::Every(3);
  collection.SetSaveConfig(every).SetReductionConfig(ReductionConfig().Add("max"));
  EXPECT_TRUE(collection.OwnSaveConfig() == every);
  EXPECT_THAT(collection.OwnReductionConfig()->Reductions(), ElementsAre("max"));
  collection.SetSaveConfig(std::nullopt).SetReductionConfig(std::nullopt);
  EXPECT_FALSE(collection.OwnSaveConfig() || collection.OwnReductionConfig());
}

}  // namespace
}  // namespace smdebug
