// Rule sets: rules that evaluate one job together, stored or running.
#ifndef SMDEBUG_CPP_RULE_SET_HPP
#define SMDEBUG_CPP_RULE_SET_HPP

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "smdebug/cpp/finding.hpp"
#include "smdebug/cpp/handle.hpp"
#include "smdebug/cpp/trial.hpp"
#include "smdebug/rule_set.h"

namespace smdebug {

// Which defaults the parameters of built-in rules have: those that the training service documents,
// or ours, which rarely report anything on a healthy run.
enum class Profile { kAws, kCalibrated };

// One step of one trial, as a rule's function sees it.  Valid during the call.
class RuleStep {
 public:
  RuleStep(const Trial &trial, int64_t step, smd_findings *findings)
      : trial_(trial), step_(step), findings_(findings) {}

  const Trial &GetTrial() const noexcept { return trial_; }
  int64_t Step() const noexcept { return step_; }  // global

  // Reports a finding; the library fills in its rule, step and mode.  smd_findings_add().
  void Report(const Finding &finding) const {
    smd_finding view = SMD_FINDING_INIT;
    view.check = finding.check.c_str();
    view.tensor = finding.tensor.c_str();
    view.worker = finding.worker.c_str();
    view.message = finding.message.c_str();
    view.action = static_cast<smd_action>(finding.action);
    view.value = finding.value;
    view.limit = finding.limit;
    detail::Check(smd_findings_add(findings_, &view));
  }
  void Report(std::string message) const {
    Finding finding;
    finding.message = std::move(message);
    Report(finding);
  }
  // Ends the rule: its function is not called again.
  void Finish() noexcept { is_finished_ = true; }
  bool IsFinished() const noexcept { return is_finished_; }

 private:
  const Trial &trial_;
  const int64_t step_;
  smd_findings *const findings_;
  bool is_finished_ = false;
};

// Evaluates a step, on the thread that evaluates the set.  If it throws an Error that says a step,
// tensor or value is unavailable, the step is skipped; anything else that it throws ends the
// evaluation and is rethrown by RuleSet::Evaluate().
using RuleFunction = std::function<void(RuleStep &step)>;

namespace detail {

// What functions of one set share during an evaluation.
struct RuleCalls {
  const Trial *trial = nullptr;
  std::exception_ptr thrown;
  smd_code code = SMD_OK;
};

// A rule's function.
class RuleState {
 public:
  RuleState(RuleFunction function, std::shared_ptr<RuleCalls> calls)
      : function_(std::move(function)), calls_(std::move(calls)) {}

  static int32_t Invoke(void *self, smd_trial *, int64_t step, smd_findings *findings,
                        smd_error **error) noexcept {
    RuleState &state = *static_cast<RuleState *>(self);
    RuleCalls &calls = *state.calls_;
    calls.thrown = nullptr;
    try {
      RuleStep now(*calls.trial, step, findings);
      state.function_(now);
      return now.IsFinished() ? SMD_RULE_FINISHED : SMD_RULE_CONTINUE;
    } catch (const Error &thrown) {
      return Carry(thrown.Code(), thrown.what(), &calls, error);
    } catch (const std::exception &thrown) {
      return Carry(SMD_CALLBACK_FAILED, thrown.what(), &calls, error);
    } catch (...) {
      return Carry(SMD_CALLBACK_FAILED, "the rule threw", &calls, error);
    }
  }

  static void Destroy(void *self) noexcept { delete static_cast<RuleState *>(self); }

 private:
  static int32_t Carry(smd_code code, const char *message, RuleCalls *calls,
                       smd_error **error) noexcept {
    calls->thrown = std::current_exception();
    *error = smd_error_new(code, message);
    calls->code = smd_error_code(*error);
    return -1;
  }

  RuleFunction function_;
  std::shared_ptr<RuleCalls> calls_;
};

}  // namespace detail

// Results() may be called from any thread, the others by one at a time.  A hook that the set is
// attached to keeps its rules.
class RuleSet {
 public:
  using Owner = detail::Handle<smd_rule_set, smd_rule_set_free>;

  // Makes an empty set.  smd_rule_set_new().
  explicit RuleSet(Profile profile = Profile::kAws)
      : handle_(detail::Make<Owner>(smd_rule_set_new,
                                    profile == Profile::kAws ? "aws" : "calibrated")) {}
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

  // Evaluates the global steps first <= s < end (-1: all) that all workers have written and that
  // were not evaluated yet; returns the findings.  smd_rule_set_evaluate().
  std::vector<Finding> Evaluate(const Trial &trial, int64_t first = 0, int64_t end = -1) {
    return Evaluate(trial, first, end, 0);
  }

  // The same, but waits for steps until the job ends.
  std::vector<Finding> Follow(const Trial &trial, int64_t first = 0, int64_t end = -1) {
    return Evaluate(trial, first, end, SMD_EVALUATE_FOLLOW);
  }

  // The same as Follow(), but throws RuleConditionMet at the first finding.
  void Require(const Trial &trial, int64_t first = 0, int64_t end = -1) {
    Evaluate(trial, first, end, SMD_EVALUATE_FOLLOW | SMD_EVALUATE_STOP_AT_FINDING);
  }

  // Returns the summary of each rule, in the order in which they were added.
  // smd_rule_set_results().
  std::vector<RuleResult> Results() const {
    return detail::MakeVector<detail::RuleResultList>(smd_rule_set_results, Get());
  }

  // Forgets the trial and the results, keeps the rules.  smd_rule_set_reset().
  void Reset() { detail::Check(smd_rule_set_reset(Get())); }

  smd_rule_set *Get() const noexcept { return handle_.get(); }

 private:
  std::vector<Finding> Evaluate(const Trial &trial, int64_t first, int64_t end, uint32_t flags) {
    smd_findings *found = nullptr;
    const std::shared_ptr<detail::RuleCalls> calls =
        calls_ == nullptr ? std::make_shared<detail::RuleCalls>() : calls_;  // if moved from
    calls->trial = &trial;
    detail::Handle<smd_error, smd_error_free> error(
        smd_rule_set_evaluate(Get(), trial.Get(), first, end, flags, &found));
    const detail::FindingList findings(found);
    const std::exception_ptr thrown = std::exchange(calls->thrown, nullptr);
    if (error != nullptr && thrown != nullptr && smd_error_code(error.get()) == calls->code) {
      std::rethrow_exception(thrown);
    }
    detail::Check(error.release());
    return detail::ToVector(findings);
  }

  std::shared_ptr<detail::RuleCalls> calls_ = std::make_shared<detail::RuleCalls>();
  Owner handle_;
};

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
};

// Returns all built-in rules.  smd_builtin_rule().
inline std::vector<RuleInfo> BuiltinRules() {
  std::vector<RuleInfo> rules;
  for (size_t i = 0; i < smd_builtin_rule_count(); ++i) {
    const smd_rule_info &from = *smd_builtin_rule(i);
    RuleInfo &info = rules.emplace_back();
    info.name = from.name;
    info.summary = from.summary;
    for (size_t k = 0; k < from.parameter_count; ++k) {
      const smd_rule_parameter &each = *from.parameters[k];
      info.parameters.push_back({each.name, each.aws, each.calibrated, each.meaning});
    }
  }
  return rules;
}

}  // namespace smdebug

#endif  // SMDEBUG_CPP_RULE_SET_HPP
