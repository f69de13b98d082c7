#include "rules/registry.h"

#include <algorithm>
#include <array>

#include "base/strings.h"
#include "rules/builtin/builtin_rules.h"
#include "rules/source.h"

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
    &kCollapsedOutput,
    &kUnchangedTensor,
    &kMissingActivation,
    &kLossNotDecreasing,
    &kRewardAtLowest,
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
    &kLossInput,
    &kInputScale,
    &kLeftInEvaluation,
    &kUnusualSettings,
    &kRepeatedBatch,
    &kSharedShard,
    &kTiedWeightsBroken,
    &kLowPrecisionUpdateLost,
    &kDeadExpert,
    &kStepRecompute,
    &kLossSpike,
    &kGradNormSpike,
    &kGradBlowup,
    &kUpdateRms,
    &kAttentionLogitGrowth,
    &kAttentionEntropyCollapse,
    &kRouterImbalance,
    &kGradientNotReset,
    &kFp8Range,
    &kAdamEpsDominates,
    &kSecondMomentStale,
    &kOutputLogitDrift,
    &kLearningRateJump,
};

Result<const RuleSpec *> FindRule(std::string_view name) {
  std::vector<std::string_view> names;
  for (const RuleSpec *rule : kRules) {
    if (rule->name == name) return rule;
    names.push_back(rule->name);
  }
  // This rule exists only in the service and has no condition.
  if (name == "CreateXgboostReport") {
    return InvalidArgument(
        "CreateXgboostReport has no condition to check; smdebug report TRIAL writes its page");
  }
  return InvalidArgument(
      StrCat("there is no built-in rule '", name.substr(0, 64), "'", DidYouMean(name, names)));
}

Result<std::unique_ptr<Rule>> Make(const RuleSpec &rule, const Parameters::Given &given,
                                   Profile profile) {
  SMD_ASSIGN_OR_RETURN(const Parameters parameters,
                       Parameters::Make(rule.name, rule.parameters, given, profile));
  SMD_ASSIGN_OR_RETURN(std::unique_ptr<Rule> made, rule.make(parameters));
  const bool has_sample =
      std::any_of(rule.parameters.begin(), rule.parameters.end(),
                  [](const ParameterSpec &each) { return each.name == kSample.name; });
  if (has_sample) {
    SMD_ASSIGN_OR_RETURN(const int64_t most, parameters.Whole(kSample.name, 0, int64_t{1} << 40));
    made->SetSampleSize(most);
  }
  return made;
}

using Jobs = std::vector<std::shared_ptr<Source>>;

Result<Jobs> OpenOthers(const Rule &rule, const OpenJob &open) {
  Jobs jobs;
  if (!open) return jobs;
  for (const std::string &path : rule.OtherJobs()) {
    SMD_ASSIGN_OR_RETURN(std::shared_ptr<Source> job, open(path));
    jobs.push_back(std::move(job));
  }
  return jobs;
}

}  // namespace

std::span<const RuleSpec *const> BuiltinRules() { return kRules; }

Result<RuleFactory> BuiltinRule(std::string_view rule, const Parameters::Given &given,
                                Profile profile, const OpenJob &open) {
  SMD_ASSIGN_OR_RETURN(const RuleSpec *spec, FindRule(rule));
  SMD_ASSIGN_OR_RETURN(const auto first, Make(*spec, given, profile));
  SMD_ASSIGN_OR_RETURN(const Jobs others, OpenOthers(*first, open));
  return RuleFactory([spec, given, profile, others] {
    std::unique_ptr<Rule> made = *Make(*spec, given, profile);
    for (const std::shared_ptr<Source> &job : others) made->CompareWith(job);
    return made;
  });
}

}  // namespace smdebug::rules
