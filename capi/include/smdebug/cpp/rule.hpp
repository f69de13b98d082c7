// Rules written by the caller.
#ifndef SMDEBUG_CPP_RULE_HPP
#define SMDEBUG_CPP_RULE_HPP

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "smdebug/cpp/finding.hpp"
#include "smdebug/cpp/handle.hpp"
#include "smdebug/cpp/trial.hpp"
#include "smdebug/rule_set.h"

namespace smdebug {

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

// Evaluates a step, on the thread that evaluates the set.  If it throws an Error with the code
// STEP_, TENSOR_, VALUE_ or SHAPE_UNAVAILABLE, the step is skipped for this rule; anything else
// that it throws ends the evaluation and is rethrown by RuleSet::Evaluate().  The RuleStep and its
// trial are borrowed during the call.
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

}  // namespace smdebug

#endif  // SMDEBUG_CPP_RULE_HPP
