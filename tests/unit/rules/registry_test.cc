#include "rules/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "rules/evaluating.h"

namespace smdebug::rules::registry_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Result<RuleFactory> FromJson(std::string_view name, std::string_view parameters) {
  SMD_ASSIGN_OR_RETURN(const Parameters::Given given, Parameters::FromJson(parameters));
  return BuiltinRule(name, given, Profile::kAws);
}

Status Refusal(std::string_view name, std::string_view parameters) {
  return FromJson(name, parameters).GetStatus();
}

// Whether the rule with these parameters reports a gradient of that size.
bool Finds(std::string_view parameters, double mean_of_absolute) {
  FakeSource source;
  source.Step(0).Save("gradient/w", {mean_of_absolute});
  const auto make = FromJson("VanishingGradient", parameters);
  EXPECT_TRUE(make.IsOk()) << make.GetStatus().Message();
  return !EvaluateWith(*make, source).findings.empty();
}

TEST(BuiltinRule, TakesTheDefaults) {
  for (const char *none : {"", "{}", "  "}) {
    EXPECT_TRUE(Finds(none, 0.9e-7));
    EXPECT_FALSE(Finds(none, 1.1e-7));
  }
}

TEST(BuiltinRule, TakesParametersAsTexts) {
  EXPECT_TRUE(Finds(R"({"threshold": "0.5"})", 0.4));
  EXPECT_FALSE(Finds(R"({"threshold": "1e-3"})", 0.4));
}

TEST(BuiltinRule, TakesParametersAsNumbersAndSwitches) {
  EXPECT_TRUE(Finds(R"({"threshold": 0.5})", 0.4));
  EXPECT_TRUE(Finds(R"({"threshold": 1})", 0.4));
  EXPECT_FALSE(Finds(R"({"threshold": 1e-3})", 0.4));
  const auto given =
      Parameters::FromJson(R"({"a": 0.1, "b": -3, "c": true, "d": 1e300, "e": false})");
  ASSERT_TRUE(given.IsOk());
  EXPECT_EQ(*given,
            (Parameters::Given{
                {"a", "0.1"}, {"b", "-3"}, {"c", "true"}, {"d", "1e+300"}, {"e", "false"}}));
}

TEST(BuiltinRule, SaysWhichRulesThereAre) {
  const Status status = Refusal("VanishingGradients", "");
  EXPECT_EQ(status.GetCode(), Code::kInvalidArgument);
  EXPECT_THAT(status.Message(), HasSubstr("did you mean 'VanishingGradient'?"));
  EXPECT_EQ(Refusal("", "").GetCode(), Code::kInvalidArgument);
  EXPECT_THAT(Refusal("CreateXgboostReport", "").Message(),
              HasSubstr("smdebug report TRIAL writes its page"));
}

TEST(BuiltinRule, NamesABadParameter) {
  const Status unknown = Refusal("VanishingGradient", R"({"treshold": "1"})");
  EXPECT_EQ(unknown.GetCode(), Code::kInvalidConfig);
  EXPECT_THAT(unknown.Message(), HasSubstr("did you mean 'threshold'?"));
  for (const char *value : {"-1", "0", "nan", "x", ""}) {
    const Status status =
        Refusal("VanishingGradient", StrCat(R"({"threshold": ")", value, R"("})"));
    EXPECT_EQ(status.GetCode(), Code::kInvalidConfig) << value;
    EXPECT_THAT(status.Message(), HasSubstr("threshold")) << value;
  }
}

TEST(BuiltinRule, RefusesOtherThanAnObjectOfValues) {
  for (const char *json : {"nonsense", "[]", "5", R"({"threshold": [5]})", R"({"threshold": null})",
                           R"({"threshold": 1e999})"}) {
    EXPECT_EQ(Refusal("VanishingGradient", json).GetCode(), Code::kInvalidConfig) << json;
  }
}

TEST(BuiltinRules, HaveNamesSummariesAndDefaultsThatTheyTake) {
  for (const RuleSpec *rule : BuiltinRules()) {
    EXPECT_FALSE(rule->summary.empty()) << rule->name;
    for (const ParameterSpec &parameter : rule->parameters) {
      EXPECT_FALSE(parameter.meaning.empty()) << rule->name << " " << parameter.name;
    }
  }
}

// The rules that a profile's defaults are not enough for.
std::vector<std::string> NotMade(Profile profile) {
  std::vector<std::string> names;
  for (const RuleSpec *spec : BuiltinRules()) {
    const auto make = BuiltinRule(spec->name, {}, profile);
    if (make.IsOk()) {
      const std::unique_ptr<Rule> rule = (*make)();
      EXPECT_EQ(rule->Name(), spec->name);
      EXPECT_FALSE(rule->HasEvaluated()) << spec->name;
      EXPECT_FALSE(rule->Missing().empty()) << spec->name;
      continue;
    }
    EXPECT_EQ(make.GetStatus().GetCode(), Code::kInvalidConfig) << spec->name;
    EXPECT_THAT(make.GetStatus().Message(), HasSubstr(spec->name));
    names.emplace_back(spec->name);
  }
  return names;
}

TEST(BuiltinRules, AreMadeOfTheirDefaults) {
  EXPECT_EQ(BuiltinRules().size(), 49U);
  EXPECT_THAT(NotMade(Profile::kAws),
              ElementsAre("AllZero", "TensorVariance", "UnchangedTensor", "SimilarAcrossRuns"))
      << "which the service documents with a required parameter";
  EXPECT_THAT(NotMade(Profile::kCalibrated), ElementsAre("SimilarAcrossRuns"));
}

TEST(BuiltinRules, TakeWhatTheirDefaultsSayAsParametersToo) {
  for (const Profile profile : {Profile::kAws, Profile::kCalibrated}) {
    for (const RuleSpec *rule : BuiltinRules()) {
      Parameters::Given given;
      for (const ParameterSpec &each : rule->parameters) {
        const bool is_aws = profile == Profile::kAws;
        given.emplace(each.name, is_aws ? each.aws : each.calibrated);
      }
      EXPECT_EQ(BuiltinRule(rule->name, given, profile).IsOk(),
                BuiltinRule(rule->name, {}, profile).IsOk())
          << rule->name;
    }
  }
}

}  // namespace
}  // namespace smdebug::rules::registry_test
