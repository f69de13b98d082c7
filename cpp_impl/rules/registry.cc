#include "rules/registry.h"

#include <algorithm>
#include <array>

#include "base/strings.h"
#include "rules/builtin.h"
#include "rules/detector_rule.h"

namespace smdebug::rules {
namespace {

constexpr std::array kRules = {
    &kVanishingGradient,
    &kExplodingTensor,
    &kPoorWeightInitialization,
    &kSaturatedActivation,
    &kDeadRelu,
    &kWeightUpdateRatio,
    &kAllZero,
    &kTensorVariance,
    &kUnchangedTensor,
    &kLossNotDecreasing,
    &kOverfit,
    &kOvertraining,
    &kSimilarAcrossRuns,
    &kStalledTrainingRule,
    &kClassImbalance,
    &kConfusion,
    &kCheckInputImages,
    &kNlpSequenceRatio,
    &kFeatureImportanceOverweight,
    &kTreeDepth,
    &kFirstNonFinite,
    &kWorkerDivergence,
    &kUpdateNotApplied,
};

Result<const RuleSpec *> FindRule(std::string_view name) {
  std::vector<std::string_view> names;
  for (const RuleSpec *rule : kRules) {
    if (rule->name == name) return rule;
    names.push_back(rule->name);
  }
  // A rule for the service alone; here it would have nothing to judge.
  if (name == "CreateXgboostReport") {
    return InvalidArgument(
        "CreateXgboostReport does not judge: smdebug report TRIAL writes its page");
  }
  return InvalidArgument(
      StrCat("there is no built-in rule '", name.substr(0, 64), "'", DidYouMean(name, names)));
}

Result<std::unique_ptr<Detector>> Make(const RuleSpec &rule, Parameters::Given given,
                                       Profile profile) {
  SMD_ASSIGN_OR_RETURN(const Parameters parameters,
                       Parameters::Make(rule.name, rule.parameters, std::move(given), profile));
  SMD_ASSIGN_OR_RETURN(std::unique_ptr<Detector> detector, rule.make(parameters));
  const bool has_sample =
      std::any_of(rule.parameters.begin(), rule.parameters.end(),
                  [](const ParameterSpec &each) { return each.name == kSample.name; });
  if (has_sample) {
    SMD_ASSIGN_OR_RETURN(const int64_t most, parameters.Whole(kSample.name, 0, int64_t{1} << 40));
    detector->SetSampleSize(most);
  }
  return detector;
}

using Jobs = std::vector<std::shared_ptr<Source>>;

Result<Jobs> OpenOthers(const Detector &detector, const OpenJob &open) {
  Jobs jobs;
  if (!open) return jobs;
  for (const std::string &path : detector.OtherJobs()) {
    SMD_ASSIGN_OR_RETURN(std::shared_ptr<Source> job, open(path));
    jobs.push_back(std::move(job));
  }
  return jobs;
}

std::unique_ptr<Detector> With(std::unique_ptr<Detector> detector, const Jobs &others) {
  for (const std::shared_ptr<Source> &job : others) detector->CompareWith(job);
  return detector;
}

}  // namespace

std::span<const RuleSpec *const> BuiltinRules() { return kRules; }

Result<std::unique_ptr<Detector>> MakeDetector(std::string_view rule, Parameters::Given given,
                                               Profile profile, const OpenJob &open) {
  SMD_ASSIGN_OR_RETURN(const RuleSpec *spec, FindRule(rule));
  SMD_ASSIGN_OR_RETURN(auto detector, Make(*spec, std::move(given), profile));
  SMD_ASSIGN_OR_RETURN(const Jobs others, OpenOthers(*detector, open));
  return With(std::move(detector), others);
}

Result<std::unique_ptr<Rule>> MakeBuiltin(std::string_view rule, std::string_view parameters,
                                          Profile profile, const OpenJob &open) {
  SMD_ASSIGN_OR_RETURN(const RuleSpec *spec, FindRule(rule));
  SMD_ASSIGN_OR_RETURN(const Parameters::Given given, Parameters::FromJson(parameters));
  SMD_ASSIGN_OR_RETURN(const auto first, Make(*spec, given, profile));
  SMD_ASSIGN_OR_RETURN(const Jobs others, OpenOthers(*first, open));
  return std::unique_ptr<Rule>(std::make_unique<DetectorRule>(
      [spec, given, profile, others] { return With(*Make(*spec, given, profile), others); }));
}

}  // namespace smdebug::rules
