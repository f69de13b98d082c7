#include "config/hook_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "config/collection_set.h"

namespace smdebug::config::hook_config_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

HookConfigContext Context() {
  return {.path = "hook.json", .save_config = {}, .collections = CollectionSet::Defaults()};
}

HookConfig Parsed(std::string_view json, const HookConfigContext &context = Context()) {
  Result<HookConfig> config = ParseHookConfig(json, context);
  EXPECT_TRUE(config.IsOk()) << config.GetStatus().Message();
  return config.IsOk() ? *std::move(config) : HookConfig();
}

std::string Refusal(std::string_view json) {
  const Status status = ParseHookConfig(json, Context()).GetStatus();
  EXPECT_EQ(status.GetCode(), Code::kInvalidConfig) << json;
  EXPECT_THAT(status.Message(), StartsWith("hook.json: "));
  EXPECT_NE(status.Detail("path"), nullptr);
  return status.Message();
}

SaveConfigMode Of(const SaveConfig &config, Mode mode) {
  return config.Of(mode).value_or(SaveConfigMode{.interval = -1, .end = {}, .steps = {}});
}

TEST(HookConfig, IsEmptyWithoutSettings) {
  for (const char *json : {"{}", R"({"S3OutputPath": "s3://b/p", "HookParameters": null})",
                           R"({"HookParameters": {}, "CollectionConfigurations": []})"}) {
    const HookConfig config = Parsed(json);
    EXPECT_FALSE(config.out_dir);
    EXPECT_FALSE(config.saves_all);
    EXPECT_FALSE(config.reduction_config);
    EXPECT_TRUE(config.collections.empty());
    EXPECT_EQ(Of(config.save_config, Mode::kTrain), SaveConfigMode());
  }
}

TEST(HookConfig, HasAllSettingsOfAHook) {
  const HookConfig config = Parsed(R"({"LocalPath": "/tmp/run", "HookParameters": {
      "save_all": "True", "include_regex": "relu, ^conv", "include_workers": "all",
      "reductions": "min,abs_l1_norm", "save_raw_tensor": true, "save_shape": "true",
      "dry_run": false, "export_tensorboard": true, "tensorboard_dir": "/tmp/tb"}})");
  EXPECT_EQ(config.out_dir, "/tmp/run");
  EXPECT_EQ(config.saves_all, true);
  EXPECT_EQ(config.is_dry_run, false);
  EXPECT_EQ(config.includes_all_workers, true);
  EXPECT_THAT(config.include_regexes, ElementsAre("relu", "^conv"));
  EXPECT_EQ(config.reduction_config->List(), "min,abs_l1_norm");
  EXPECT_TRUE(config.reduction_config->SavesRaw());
  EXPECT_TRUE(config.reduction_config->SavesShape());
  EXPECT_EQ(config.exports_tensorboard, true);
  EXPECT_EQ(config.tensorboard_dir, "/tmp/tb");
}

TEST(HookConfig, ReductionsReplaceTheTensorUnlessItIsRequested) {
  EXPECT_FALSE(
      Parsed(R"({"HookParameters": {"reductions": "mean"}})").reduction_config->SavesRaw());
  const HookConfig shape = Parsed(R"({"HookParameters": {"save_shape": true}})");
  EXPECT_TRUE(shape.reduction_config->SavesRaw());
  EXPECT_TRUE(shape.reduction_config->SavesShape());
}

TEST(HookConfig, NumbersAndListsMayBeTexts) {
  const HookConfig config = Parsed(R"({"HookParameters": {"save_interval": "7",
      "start_step": 14, "end_step": "700", "save_steps": "1, 2,3", "eval.save_steps": [5]}})");
  const SaveConfigMode expected{.interval = 7, .start = 14, .end = 700, .steps = {1, 2, 3}};
  EXPECT_EQ(Of(config.save_config, Mode::kTrain), expected);
  EXPECT_THAT(Of(config.save_config, Mode::kEval).steps, ElementsAre(5));
}

// Collection for the mode, collection, hook for the mode, hook, default.
TEST(HookConfig, TheMostSpecificSettingCounts) {
  const HookConfig config = Parsed(R"({
      "HookParameters": {"save_interval": 10, "train.save_interval": 20, "start_step": 1,
                         "train.end_step": 100},
      "CollectionConfigurations": [
        {"CollectionName": "a", "CollectionParameters": {"save_interval": 30, "eval.save_interval": 40}},
        {"CollectionName": "b", "CollectionParameters": {"save_steps": "9"}},
        {"CollectionName": "c"}]})");
  EXPECT_EQ(Of(config.save_config, Mode::kEval).interval, 10);
  EXPECT_EQ(Of(config.save_config, Mode::kTrain).interval, 20);
  ASSERT_EQ(config.collections.size(), 3U);
  const SaveConfig a = *config.collections[0]->GetSaveConfig();
  EXPECT_EQ(Of(a, Mode::kTrain).interval, 30)
      << "the collection's plain setting precedes the hook's";
  EXPECT_EQ(Of(a, Mode::kEval).interval, 40);
  EXPECT_EQ(Of(a, Mode::kTrain).start, 1);
  EXPECT_EQ(Of(a, Mode::kTrain).end, 100);
  EXPECT_EQ(Of(a, Mode::kEval).end, std::nullopt);
  const SaveConfig b = *config.collections[1]->GetSaveConfig();
  EXPECT_EQ(Of(b, Mode::kTrain).interval, 20);
  EXPECT_THAT(Of(b, Mode::kGlobal).steps, ElementsAre(9));
  EXPECT_FALSE(config.collections[2]->GetSaveConfig());
}

TEST(HookConfig, ExtendsExistingCollections) {
  HookConfigContext context = Context();
  context.save_config.SetAll({.interval = 10, .end = {}, .steps = {}});
  const HookConfig config = Parsed(R"({"HookParameters": {"end_step": 50},
      "CollectionConfigurations": [{"CollectionName": "gradients", "CollectionParameters": {
        "include_regex": "dW", "save_histogram": "False", "reductions": "l2"}}]})",
                                   context);
  EXPECT_EQ(Of(config.save_config, Mode::kTrain).interval, 10);
  EXPECT_EQ(Of(config.save_config, Mode::kTrain).end, 50);
  const Collection &gradients = *config.collections.at(0);
  EXPECT_THAT(gradients.Regexes(), ElementsAre("^gradient", "dW"));
  EXPECT_FALSE(gradients.SavesHistogram());
  EXPECT_EQ(gradients.GetReductionConfig()->List(), "l2_norm");
}

// The problems of a document, as "what; outcome".
std::vector<std::string> ProblemsOf(std::string_view json) {
  std::vector<std::string> lines;
  for (const Problem &each : Parsed(json).problems)
    lines.push_back(each.what + "; " + each.outcome);
  return lines;
}

TEST(HookConfig, UnknownKeysAreIgnoredAtEachLevel) {
  EXPECT_THAT(ProblemsOf(R"({"HookParameter": {}, "S3Path": "s3://b/p"})"),
              ElementsAre("the document has the unknown key 'HookParameter'; did you mean "
                          "'HookParameters'?; it is ignored",
                          "the document has the unknown key 'S3Path'; it is ignored"));
  EXPECT_THAT(ProblemsOf(R"({"HookParameters": {"train.save_intervall": 1}})"),
              ElementsAre(HasSubstr("HookParameters has the unknown key 'train.save_intervall'; "
                                    "did you mean 'train.save_interval'?")));
  EXPECT_THAT(ProblemsOf(R"({"CollectionConfigurations": [{"CollectionName": "a", "Color": 1}]})"),
              ElementsAre(HasSubstr("CollectionConfigurations[0] has the unknown key 'Color'")));
  EXPECT_THAT(ProblemsOf(R"({"CollectionConfigurations": [{"CollectionName": "a",
                             "CollectionParameters": {"regex": "a"}}]})"),
              ElementsAre(StartsWith("collection 'a': ")));
}

TEST(HookConfig, StepsOfAWrongTypeSelectNothing) {
  const HookConfig config =
      Parsed(R"({"HookParameters": {"save_steps": true, "save_interval": 7}})");
  EXPECT_EQ(config.problems.size(), 1U);
  EXPECT_TRUE(Of(config.save_config, Mode::kTrain).steps.empty());
  EXPECT_EQ(Of(config.save_config, Mode::kTrain).interval, 7);
}

TEST(HookConfig, ManyProblemsEndWithOneThatSaysSo) {
  std::string keys;
  for (int i = 0; i < 500; ++i) keys += StrCat(i == 0 ? "" : ", ", "\"key", i, "\": 1");
  const std::vector<std::string> problems = ProblemsOf("{" + keys + "}");
  EXPECT_EQ(problems.size(), 101U);
  EXPECT_EQ(problems.back(), "too many problems; some later settings are ignored too");
}

TEST(HookConfig, RefusesOtherThanObjects) {
  EXPECT_THAT(Refusal("{"), HasSubstr("hook.json: "));
  EXPECT_THAT(Refusal("[]"), HasSubstr("expected an object"));
}

TEST(HookConfig, BadValuesAreIgnoredAndReported) {
  const auto one = [](std::string_view json) {
    const std::vector<std::string> problems = ProblemsOf(json);
    EXPECT_EQ(problems.size(), 1U) << json;
    return problems.empty() ? "" : problems.front();
  };
  EXPECT_THAT(one(R"({"LocalPath": 1})"), HasSubstr("LocalPath: expected text"));
  EXPECT_THAT(one(R"({"HookParameters": []})"), HasSubstr("HookParameters: expected an object"));
  EXPECT_THAT(one(R"({"HookParameters": {"save_interval": 0}})"),
              HasSubstr("save_interval is 0; it must be 1 or more; it is ignored"));
  EXPECT_THAT(one(R"({"HookParameters": {"start_step": -1}})"), HasSubstr("start_step is -1"));
  EXPECT_THAT(one(R"({"HookParameters": {"save_interval": "often"}})"),
              HasSubstr("HookParameters.save_interval: expected a whole number, found 'often'"));
  EXPECT_THAT(one(R"({"HookParameters": {"save_steps": "1,two"}})"), HasSubstr("'two'"));
  EXPECT_THAT(one(R"({"HookParameters": {"save_steps": [3, -1]}})"), HasSubstr("contains -1"));
  EXPECT_THAT(one(R"({"HookParameters": {"save_all": "maybe"}})"),
              HasSubstr("HookParameters.save_all: expected true or false, found 'maybe'"));
  EXPECT_THAT(one(R"({"HookParameters": {"save_all": 2}})"), HasSubstr("it is ignored"));
  EXPECT_THAT(one(R"({"HookParameters": {"include_regex": "("}})"), HasSubstr("include_regex"));
  EXPECT_THAT(one(R"({"HookParameters": {"include_regex": [1]}})"), HasSubstr("expected text"));
  EXPECT_THAT(one(R"({"HookParameters": {"reductions": "meen"}})"), HasSubstr("'mean'"));
  EXPECT_THAT(one(R"({"HookParameters": {"include_workers": "some"}})"),
              HasSubstr("it must be 'one' or 'all'"));
  EXPECT_THAT(one(R"({"CollectionConfigurations": {}})"), HasSubstr("expected a list"));
  EXPECT_THAT(one(R"({"CollectionConfigurations": [{}]})"),
              HasSubstr("'CollectionName' is missing"));
  EXPECT_THAT(one(R"({"CollectionConfigurations": [7]})"), HasSubstr("expected an object"));
  EXPECT_THAT(one(R"({"CollectionConfigurations": [{"CollectionName": ""}]})"),
              HasSubstr("is empty"));
  EXPECT_THAT(one(R"({"CollectionConfigurations": [{"CollectionName": "a",
                      "CollectionParameters": {"include_regex": "("}}]})"),
              HasSubstr("collection 'a'"));
}

TEST(HookConfig, ABadValueAffectsNoOther) {
  const HookConfig config = Parsed(R"({"LocalPath": "/tmp/run", "HookParameters": {
      "save_interval": "often", "save_steps": [3, "x"], "reductions": "meen,max"},
      "CollectionConfigurations": [{}, {"CollectionName": "weights"}]})");
  EXPECT_EQ(config.out_dir, "/tmp/run");
  EXPECT_EQ(Of(config.save_config, Mode::kTrain).interval, SaveConfigMode::kDefaultInterval);
  EXPECT_THAT(Of(config.save_config, Mode::kTrain).steps, ElementsAre(3));
  EXPECT_EQ(config.reduction_config->List(), "max");
  ASSERT_EQ(config.collections.size(), 1U);
  EXPECT_EQ(config.collections[0]->Name(), "weights");
}

// Templates of the training service write texts and numbers for switches.
TEST(HookConfig, ListsOfOneValueAndNumbersForSwitchesAreRead) {
  const HookConfig config = Parsed(R"({"HookParameters": {"save_all": ["true"], "dry_run": 0,
      "save_interval": [3], "save_shape": 1, "include_workers": ["all"]}})");
  EXPECT_EQ(config.saves_all, true);
  EXPECT_EQ(config.is_dry_run, false);
  EXPECT_EQ(Of(config.save_config, Mode::kTrain).interval, 3);
  EXPECT_TRUE(config.reduction_config->SavesShape());
  EXPECT_EQ(config.includes_all_workers, true);
  EXPECT_EQ(config.problems.size(), 5U);
}

TEST(HookConfig, AnEndNotAfterTheStartDisablesSaving) {
  const HookConfig config =
      Parsed(R"({"HookParameters": {"start_step": 5}, "CollectionConfigurations":
      [{"CollectionName": "losses", "CollectionParameters": {"end_step": "0"}},
       {"CollectionName": "weights", "CollectionParameters": {"train.end_step": 3}}]})");
  EXPECT_TRUE(config.problems.empty());
  const SaveConfig losses = *config.collections[0]->GetSaveConfig();
  const SaveConfig weights = *config.collections[1]->GetSaveConfig();
  EXPECT_TRUE(Of(losses, Mode::kEval).WantsNothing());
  EXPECT_TRUE(Of(weights, Mode::kTrain).WantsNothing());
  EXPECT_FALSE(Of(weights, Mode::kEval).WantsNothing());
  EXPECT_FALSE(losses.Wants(Mode::kTrain, 0));
  EXPECT_FALSE((SaveConfigMode{.end = 0, .steps = {3}}.WantsNothing()));
}

TEST(HookConfig, MergesRepeatedCollections) {
  const HookConfig config = Parsed(R"({"HookParameters": {"save_interval": 10},
      "CollectionConfigurations": [
        {"CollectionName": "mine", "CollectionParameters": {"include_regex": "^a",
                                                            "reductions": "max"}},
        {"CollectionName": "mine", "CollectionParameters": {"include_regex": "^b",
                                                            "save_interval": 7}},
        {"CollectionName": "mine", "CollectionParameters": {"save_steps": [2]}},
        {"CollectionName": "mine"}]})");
  ASSERT_EQ(config.collections.size(), 1U);
  const Collection &mine = *config.collections[0];
  EXPECT_THAT(mine.Regexes(), ElementsAre("^a", "^b"));
  EXPECT_EQ(mine.GetReductionConfig()->List(), "max");
  const SaveConfigMode expected{.interval = 10, .end = {}, .steps = {2}};
  EXPECT_EQ(Of(*mine.GetSaveConfig(), Mode::kTrain), expected) << "the last save settings count";
}

}  // namespace
}  // namespace smdebug::config::hook_config_test
