#include "rules/named_sets.h"

#include <array>

#include "rules/registry.h"

namespace smdebug::rules {
namespace {

// Rules without a threshold come first.
constexpr std::array kLlm = {
    // Masks make logits of attention infinite.
    NamedSetRule{"ExplodingTensor",
                 R"({"growth": "None", "collection_names": "losses,gradients,weights,biases"})"},
    NamedSetRule{"WorkerDivergence", R"({"bitwise": "true"})"},
    // LowPrecisionUpdateLost finds what is rounded away.
    NamedSetRule{"UpdateNotApplied", R"({"rounded": "false"})"},
    NamedSetRule{"RepeatedBatch", "{}"},
    NamedSetRule{"SharedShard", "{}"},
    NamedSetRule{"TiedWeightsBroken", "{}"},
    NamedSetRule{"LowPrecisionUpdateLost", "{}"},
    NamedSetRule{"DeadExpert", "{}"},
    NamedSetRule{"StepRecompute", "{}"},
    NamedSetRule{"GradientNotReset", "{}"},
    // The check of single elements alone, of more elements than a check of a whole weight needs.
    NamedSetRule{"WeightUpdateRatio",
                 R"({"large_threshold": 1e300, "small_threshold": 0, "usual": "None",
                    "tiny": "None", "sample": 16384})"},
    NamedSetRule{"LossSpike", "{}"},
    NamedSetRule{"GradNormSpike", "{}"},
    NamedSetRule{"GradBlowup", "{}"},
    NamedSetRule{"UpdateRMS", "{}"},
    NamedSetRule{"AttentionLogitGrowth", "{}"},
    NamedSetRule{"AttentionEntropyCollapse", "{}"},
    NamedSetRule{"RouterImbalance", "{}"},
    NamedSetRule{"Fp8Range", "{}"},
    NamedSetRule{"AdamEpsDominates", "{}"},
    NamedSetRule{"SecondMomentStale", "{}"},
    NamedSetRule{"OutputLogitDrift", "{}"},
    NamedSetRule{"LearningRateJump", "{}"},
};

using Makes = std::vector<RuleFactory>;

Result<Makes> MakesOfSet(std::string_view name, Profile profile) {
  Makes makes;
  for (const NamedSetRule &each : RulesOfSet(name)) {
    SMD_ASSIGN_OR_RETURN(const Parameters::Given given, Parameters::FromJson(each.parameters));
    SMD_ASSIGN_OR_RETURN(makes.emplace_back(), BuiltinRule(each.rule, given, profile));
  }
  return makes;
}

// Returns the rules whose defaults suffice.
Result<Makes> MakesOfDefaults(Profile profile) {
  Makes makes;
  for (const RuleSpec *spec : BuiltinRules()) {
    if (!spec->set.empty()) continue;
    Result<RuleFactory> make = BuiltinRule(spec->name, {}, profile);
    if (make.IsOk()) {
      makes.push_back(*std::move(make));
    } else if (make.GetStatus().GetCode() != Code::kInvalidConfig) {
      return make.GetStatus();
    }
  }
  return makes;
}

}  // namespace

std::span<const NamedSetRule> RulesOfSet(std::string_view set) {
  if (set == "llm") return kLlm;
  return {};
}

Status AddAllRules(std::string_view name, Profile profile, Action action, RuleSet *set) {
  const bool has_name = !RulesOfSet(name).empty();
  SMD_ASSIGN_OR_RETURN(const Makes makes,
                       has_name ? MakesOfSet(name, profile) : MakesOfDefaults(profile));
  return set->AddMissing(makes, action);
}

}  // namespace smdebug::rules
