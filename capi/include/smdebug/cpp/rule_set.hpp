// Rule sets: rules that evaluate one job together, stored or running.
#ifndef SMDEBUG_CPP_RULE_SET_HPP
#define SMDEBUG_CPP_RULE_SET_HPP

#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "smdebug/cpp/diagnosis.hpp"
#include "smdebug/cpp/finding.hpp"
#include "smdebug/cpp/handle.hpp"
#include "smdebug/cpp/rule.hpp"
#include "smdebug/cpp/trial.hpp"
#include "smdebug/rule_set.h"

namespace smdebug {

// Which defaults the parameters of built-in rules have: ours (kCalibrated), which rarely report
// anything on a healthy run, or those that the training service documents.
// kLlm: a set that holds the rules for large trainings.
enum class Profile { kAws, kCalibrated, kLlm };

namespace detail {
inline const char *NameOf(Profile profile) noexcept {
  switch (profile) {
    case Profile::kAws: return "aws";
    case Profile::kLlm: return "llm";
    case Profile::kCalibrated: break;
  }
  return "calibrated";
}
}  // namespace detail

// Selects the steps that RuleSet::Evaluate() evaluates.
struct EvaluateOptions {
  int64_t first = 0;    // the first global step to report on
  int64_t end = -1;     // the step to stop before; -1: all
  bool follow = false;  // SMD_EVALUATE_FOLLOW: wait for each step until the job ends
  // SMD_EVALUATE_STOP_AT_FINDING: throw RuleConditionMet at the first; see Require()
  bool stop_at_finding = false;
  bool incomplete = false;  // SMD_EVALUATE_INCOMPLETE: also steps that a worker may write to
};

// Results(), Diagnose() and Evaluate() may be called from any thread, the others by one at a time.
// While a call evaluates, another fails with WRONG_STATE.  A hook that the set is attached to keeps
// its rules.
class RuleSet {
 public:
  using Owner = detail::Handle<smd_rule_set, smd_rule_set_free>;

  // Makes an empty set.  smd_rule_set_new().
  explicit RuleSet(Profile profile = Profile::kCalibrated)
      : handle_(detail::Make<Owner>(smd_rule_set_new, detail::NameOf(profile))) {}
  // Takes ownership of `set`.
  explicit RuleSet(smd_rule_set *set) noexcept : handle_(set) {}

  // Adds a built-in rule, such as "VanishingGradient"; `parameters` is a JSON object.
  // smd_rule_set_add().
  RuleSet &Add(const CString &rule, const CString &parameters = nullptr,
               Action action = Action::kWarn) {
    detail::Check(
        smd_rule_set_add(Get(), rule.Get(), parameters.Get(), static_cast<smd_action>(action)));
    return *this;
  }

  // Adds every built-in rule that needs no parameter and that the set does not hold.
  // smd_rule_set_add_all().
  RuleSet &AddAll(Action action = Action::kWarn) {
    detail::Check(smd_rule_set_add_all(Get(), static_cast<smd_action>(action)));
    return *this;
  }

  // Adds a rule of the caller's.  smd_rule_set_add_function().
  RuleSet &AddFunction(const CString &name, RuleFunction function, Action action = Action::kWarn) {
    if (function == nullptr) throw Error(SMD_INVALID_ARGUMENT, "a rule needs a function");
    auto state = std::make_unique<detail::RuleState>(std::move(function), calls_);
    smd_rule_ops ops = SMD_RULE_OPS_INIT;
    ops.invoke = detail::RuleState::Invoke;
    ops.destroy = detail::RuleState::Destroy;
    detail::Check(smd_rule_set_add_function(Get(), name.Get(), &ops, state.release(),
                                            static_cast<smd_action>(action)));
    return *this;
  }

  // Evaluates only the steps that `config` (a copy) selects.  smd_rule_set_set_save_config().
  RuleSet &SetSaveConfig(const SaveConfig &config) {
    detail::Check(smd_rule_set_set_save_config(Get(), config.Get()));
    return *this;
  }

  // Evaluates the steps that `options` selects and that were not evaluated yet.  Appends the
  // findings to `found`, also those before a failure.  smd_rule_set_evaluate().
  void Evaluate(const Trial &trial, const EvaluateOptions &options, std::vector<Finding> *found);

  // Evaluates the global steps first <= s < end (-1: all) that all workers have written and that
  // were not evaluated yet; returns the findings.  If it throws, those before the failure are lost,
  // except from Results(): pass a vector as above to keep them.
  std::vector<Finding> Evaluate(const Trial &trial, int64_t first = 0, int64_t end = -1) {
    std::vector<Finding> found;
    Evaluate(trial, {first, end, false, false, false}, &found);
    return found;
  }

  // The same, but waits for steps until the job ends.
  std::vector<Finding> Follow(const Trial &trial, int64_t first = 0, int64_t end = -1) {
    std::vector<Finding> found;
    Evaluate(trial, {first, end, true, false, false}, &found);
    return found;
  }

  // The same as Follow(), but throws RuleConditionMet at the first finding.  If a function throws
  // at that step, its exception is nested: see std::rethrow_if_nested().
  void Require(const Trial &trial, int64_t first = 0, int64_t end = -1) {
    std::vector<Finding> found;
    Evaluate(trial, {first, end, true, true, false}, &found);
  }

  // Returns the summary of each rule, in the order in which they were added.
  // smd_rule_set_results().
  std::vector<RuleResult> Results() const {
    return detail::MakeVector<detail::RuleResultList>(smd_rule_set_results, Get());
  }

  // Returns the likely causes of what was found so far, at most three, the likeliest first.
  // smd_rule_set_diagnose().
  std::vector<Cause> Diagnose() const {
    return detail::MakeVector<detail::DiagnosisList>(smd_rule_set_diagnose, Get());
  }

  // Forgets the trial and the results, keeps the rules.  smd_rule_set_reset().
  void Reset() { detail::Check(smd_rule_set_reset(Get())); }

  smd_rule_set *Get() const noexcept { return handle_.get(); }

 private:
  std::shared_ptr<detail::RuleCalls> calls_ = std::make_shared<detail::RuleCalls>();
  Owner handle_;
};

inline void RuleSet::Evaluate(const Trial &trial, const EvaluateOptions &options,
                              std::vector<Finding> *found) {
  const uint32_t flags = (options.follow ? SMD_EVALUATE_FOLLOW : 0) |
                         (options.stop_at_finding ? SMD_EVALUATE_STOP_AT_FINDING : 0) |
                         (options.incomplete ? SMD_EVALUATE_INCOMPLETE : 0);
  smd_findings *list = nullptr;
  const detail::RuleCalls::Call call(calls_ == nullptr ? std::make_shared<detail::RuleCalls>()
                                                       : calls_);  // null if moved from
  detail::Handle<smd_error, smd_error_free> error(
      smd_rule_set_evaluate(Get(), trial.Get(), options.first, options.end, flags, &list));
  const detail::FindingList findings(list);
  for (Finding &finding : detail::ToVector(findings)) found->push_back(std::move(finding));
  if (error == nullptr) return;
  if (call.Thrown() == nullptr) detail::Throw(error.release());
  const bool has_stopped = options.stop_at_finding && smd_findings_count(findings.get()) > 0;
  if (!has_stopped) std::rethrow_exception(call.Thrown());
  try {
    std::rethrow_exception(call.Thrown());
  } catch (...) {
    std::throw_with_nested(RuleConditionMet(error.release()));
  }
}

// A parameter of a built-in rule; a default of "" means none.
struct RuleParameter {
  std::string name;
  std::string aws;
  std::string calibrated;
  std::string meaning;
};

struct RuleInfo {
  std::string name;
  std::string summary;  // when the rule finds something, in one sentence
  std::vector<RuleParameter> parameters;
  std::string set;  // the set that alone evaluates the rule unasked, as "llm"; "" for any set
};

// Returns all built-in rules.  smd_builtin_rule().
inline std::vector<RuleInfo> BuiltinRules() {
  std::vector<RuleInfo> rules;
  for (size_t i = 0; i < smd_builtin_rule_count(); ++i) {
    const smd_rule_info &from = *smd_builtin_rule(i);
    RuleInfo &info = rules.emplace_back();
    info.name = from.name;
    info.summary = from.summary;
    info.set = from.set;
    for (size_t k = 0; k < from.parameter_count; ++k) {
      const smd_rule_parameter &each = *from.parameters[k];
      info.parameters.push_back({each.name, each.aws, each.calibrated, each.meaning});
    }
  }
  return rules;
}

}  // namespace smdebug

#endif  // SMDEBUG_CPP_RULE_SET_HPP
