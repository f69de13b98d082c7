#include "config/save_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace smdebug::config::save_config_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<int64_t> StepsSaved(const SaveConfigMode &settings, int64_t below) {
  std::vector<int64_t> steps;
  for (int64_t step = 0; step < below; ++step) {
    if (settings.Wants(step)) steps.push_back(step);
  }
  return steps;
}

SaveConfig SameForAll(const SaveConfigMode &settings) {
  SaveConfig config;
  config.SetAll(settings);
  return config;
}

SaveConfig Parsed(std::string_view json) {
  const Result<SaveConfig> config = SaveConfig::FromJson(json);
  EXPECT_TRUE(config.IsOk()) << config.GetStatus().Message();
  return *config;
}

std::string ParseError(std::string_view json) {
  const Status status = SaveConfig::FromJson(json).GetStatus();
  EXPECT_EQ(status.GetCode(), Code::kInvalidConfig) << json;
  return status.Message();
}

// The examples of the user guide.
TEST(SaveConfigMode, SavesEvery500thStepByDefault) {
  EXPECT_THAT(StepsSaved({}, 1001), ElementsAre(0, 500, 1000));
}

TEST(SaveConfigMode, TheEndIsExclusive) {
  EXPECT_THAT(StepsSaved({.interval = 100, .end = 200, .steps = {}}, 500), ElementsAre(0, 100));
  EXPECT_THAT(StepsSaved({.interval = 100, .end = 201, .steps = {}}, 500),
              ElementsAre(0, 100, 200));
}

TEST(SaveConfigMode, TheIntervalCountsFromZeroNotFromTheStart) {
  EXPECT_THAT(StepsSaved({.interval = 100, .start = 150, .end = {}, .steps = {}}, 401),
              ElementsAre(200, 300, 400));
}

TEST(SaveConfigMode, SingleStepsAreSavedInAddition) {
  EXPECT_THAT(StepsSaved({.end = {}, .steps = {7, 3}}, 1001), ElementsAre(0, 3, 7, 500, 1000));
}

TEST(SaveConfigMode, SingleStepsAreNotBoundByStartAndEnd) {
  EXPECT_THAT(StepsSaved({.interval = 5, .start = 10, .end = 20, .steps = {3, 25}}, 40),
              ElementsAre(3, 10, 15, 25));
}

TEST(SaveConfigMode, WorksAtTheEndsOfTheRange) {
  constexpr int64_t kLast = std::numeric_limits<int64_t>::max();
  EXPECT_TRUE((SaveConfigMode{.interval = 1, .end = {}, .steps = {}}.Wants(kLast)));
  EXPECT_FALSE((SaveConfigMode{.interval = 1, .end = {}, .steps = {}}.Wants(-1)));
  EXPECT_TRUE((SaveConfigMode{.interval = kLast, .end = {}, .steps = {}}.Wants(0)));
}

TEST(SaveConfigMode, CheckReportsTheSetting) {
  const auto message = [](const SaveConfigMode &settings) {
    EXPECT_EQ(settings.Check().GetCode(), Code::kInvalidConfig);
    return settings.Check().Message();
  };
  EXPECT_TRUE(SaveConfigMode().Check().IsOk());
  EXPECT_EQ(message({.interval = 0, .end = {}, .steps = {}}),
            "save_interval is 0; it must be 1 or more");
  EXPECT_EQ(message({.interval = -5, .end = {}, .steps = {}}),
            "save_interval is -5; it must be 1 or more");
  EXPECT_EQ(message({.start = -1, .end = {}, .steps = {}}),
            "start_step is -1; it must be 0 or more");
  EXPECT_EQ(message({.end = {}, .steps = {3, -2}}), "save_steps contains -2; steps begin at 0");
}

TEST(SaveConfigMode, InAFileMayHaveAnIntervalOf0) {
  EXPECT_THAT(StepsSaved({.interval = 0, .end = {}, .steps = {2}}, 10), ElementsAre(2));
}

TEST(SaveConfig, EachModeHasItsOwnSettings) {
  SaveConfig config;
  ASSERT_TRUE(config.Set(Mode::kTrain, {.interval = 1, .end = {}, .steps = {}}).IsOk());
  ASSERT_TRUE(config.Set(Mode::kEval, {.interval = 2, .end = {}, .steps = {}}).IsOk());
  EXPECT_TRUE(config.Wants(Mode::kTrain, 3));
  EXPECT_FALSE(config.Wants(Mode::kEval, 3));
  EXPECT_TRUE(config.Of(Mode::kEval).has_value());
  EXPECT_FALSE(config.Of(Mode::kPredict).has_value());
}

TEST(SaveConfig, AModeWithoutSettingsUsesTheDefaults) {
  const SaveConfig config;
  EXPECT_TRUE(config.Wants(Mode::kPredict, 500));
  EXPECT_FALSE(config.Wants(Mode::kPredict, 1));
}

TEST(SaveConfig, RefusesBadSettingsAndKeepsTheOldOnes) {
  SaveConfig config;
  ASSERT_TRUE(config.Set(Mode::kTrain, {.interval = 3, .end = {}, .steps = {}}).IsOk());
  EXPECT_FALSE(config.Set(Mode::kTrain, {.interval = 0, .end = {}, .steps = {}}).IsOk());
  EXPECT_EQ(config.Of(Mode::kTrain)->interval, 3);
}

TEST(SaveConfig, MergeFillsModesWithoutSettings) {
  SaveConfig config;
  ASSERT_TRUE(config.Set(Mode::kTrain, {.interval = 1, .end = {}, .steps = {}}).IsOk());
  SaveConfig defaults;
  ASSERT_TRUE(defaults.Set(Mode::kTrain, {.interval = 3, .end = {}, .steps = {}}).IsOk());
  ASSERT_TRUE(defaults.Set(Mode::kEval, {.interval = 3, .end = {}, .steps = {}}).IsOk());
  config.Merge(defaults);
  EXPECT_EQ(config.Of(Mode::kTrain)->interval, 1);
  EXPECT_EQ(config.Of(Mode::kEval)->interval, 3);
  EXPECT_FALSE(config.Of(Mode::kGlobal).has_value());
}

TEST(SaveConfig, IsEqualIfAllSettingsAre) {
  EXPECT_EQ(SaveConfig(), SaveConfig());
  EXPECT_EQ(SameForAll({}), SameForAll({}));
  EXPECT_NE(SaveConfig(), SameForAll({})) << "not given is not the same as given the defaults";
  EXPECT_NE(SameForAll({}), SameForAll({.end = {}, .steps = {1}}));
}

// The expected texts are those that the original prints for the same settings.
TEST(SaveConfig, JsonMatchesTheOriginal) {
  EXPECT_EQ(SameForAll({.interval = 100, .end = 201, .steps = {7, 3}}).ToJson(),
            R"({"TRAIN": {"save_interval": 100, "save_steps": [7, 3], "start_step": 0, )"
            R"("end_step": 201}, "EVAL": {"save_interval": 100, "save_steps": [7, 3], )"
            R"("start_step": 0, "end_step": 201}, "PREDICT": {"save_interval": 100, )"
            R"("save_steps": [7, 3], "start_step": 0, "end_step": 201}, "GLOBAL": )"
            R"({"save_interval": 100, "save_steps": [7, 3], "start_step": 0, "end_step": 201}})");
  SaveConfig config;
  ASSERT_TRUE(config.Set(Mode::kEval, {.interval = 2, .end = {}, .steps = {}}).IsOk());
  EXPECT_EQ(config.ToJson(),
            R"({"TRAIN": null, "EVAL": {"save_interval": 2, "save_steps": [], "start_step": 0, )"
            R"("end_step": null}, "PREDICT": null, "GLOBAL": null})");
}

TEST(SaveConfig, JsonRoundTrips) {
  SaveConfig config;
  ASSERT_TRUE(
      config.Set(Mode::kTrain, {.interval = 7, .start = 3, .end = 90, .steps = {5, 1}}).IsOk());
  EXPECT_EQ(Parsed(config.ToJson()), config);
}

TEST(SaveConfig, InJsonSettingsMayBeMissingOrNull) {
  EXPECT_EQ(Parsed("{}"), SaveConfig());
  EXPECT_EQ(Parsed(R"({"TRAIN": null})"), SaveConfig());
  SaveConfig defaults;
  ASSERT_TRUE(defaults.Set(Mode::kTrain, {}).IsOk());
  EXPECT_EQ(Parsed(R"({"TRAIN": {}})"), defaults);
  EXPECT_EQ(Parsed(R"({"TRAIN": {"save_interval": null, "save_steps": null}})"), defaults);
  EXPECT_EQ(Parsed(R"({"TRAIN": {"some_later_setting": [1]}})"), defaults);
}

TEST(SaveConfig, InJsonNumbersMayBeTexts) {
  const SaveConfig config =
      Parsed(R"({"TRAIN": {"save_interval": "100", "start_step": "50", "end_step": " 201 "}})");
  EXPECT_EQ(config.Of(Mode::kTrain), (SaveConfigMode{100, 50, 201, {}}));
}

TEST(SaveConfig, JsonErrorsContainTheSetting) {
  EXPECT_EQ(ParseError(R"({"TRAIN": {"save_interval": 0}})"),
            "TRAIN: save_interval is 0; it must be 1 or more");
  EXPECT_EQ(ParseError(R"({"EVAL": {"save_interval": "often"}})"),
            "EVAL.save_interval: expected a whole number, found 'often'");
  EXPECT_EQ(ParseError(R"({"EVAL": {"end_step": 1.5}})"),
            "EVAL.end_step: expected a whole number, found a fraction");
  EXPECT_EQ(ParseError(R"({"EVAL": {"save_steps": ["3"]}})"),
            "EVAL.save_steps[0]: expected a whole number, found text");
  EXPECT_EQ(ParseError(R"({"EVAL": {"save_steps": "1,2"}})"),
            "EVAL.save_steps: expected a list of whole numbers, found text");
  EXPECT_EQ(ParseError(R"({"EVAL": 5})"), "EVAL: expected an object, found a number");
  EXPECT_EQ(ParseError("[]"), "the document: expected an object, found a list");
  EXPECT_THAT(ParseError(R"({"save_interval": 5})"), HasSubstr("'save_interval' is not a mode"));
  EXPECT_THAT(ParseError("{"), HasSubstr("not valid JSON"));
}

TEST(SaveConfig, InAFileMayHaveSettingsThatUsersMayNotWrite) {
  const Result<JsonDocument> document = JsonDocument::Parse(
      R"({"TRAIN": {"end_step": 0, "save_steps": [3]}, "VALIDATE": {"save_interval": 5}})");
  ASSERT_TRUE(document.IsOk());
  EXPECT_FALSE(SaveConfig::FromJson(document->Root()).IsOk());
  const Result<SaveConfig> config = SaveConfig::FromJson(document->Root(), Origin::kFile);
  ASSERT_TRUE(config.IsOk()) << config.GetStatus().Message();
  EXPECT_THAT(StepsSaved(*config->Of(Mode::kTrain), 1000), ElementsAre(3));
}

}  // namespace
}  // namespace smdebug::config::save_config_test
