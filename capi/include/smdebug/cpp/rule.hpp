// Rules written by the caller.
#ifndef SMDEBUG_CPP_RULE_HPP
#define SMDEBUG_CPP_RULE_HPP

#include <algorithm>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "smdebug/cpp/finding.hpp"
#include "smdebug/cpp/handle.hpp"
#include "smdebug/cpp/trial.hpp"
#include "smdebug/rule_set.h"

namespace smdebug {

// One step of one trial, as a rule's function sees it.  Valid during the call.
class RuleStep {
 public:
  RuleStep(const smdebug::Trial &trial, int64_t step, smd_findings *findings)
      : trial_(trial), step_(step), findings_(findings) {}

  const smdebug::Trial &Trial() const noexcept { return trial_; }
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
    view.level = static_cast<smd_level>(finding.level);
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
  const smdebug::Trial &trial_;
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

// The calls of RuleSet::Evaluate() on one set.  The library refuses all but one, and calls the
// functions on the thread of that one.
class RuleCalls {
 public:
  // One call, while it lasts.
  class Call {
   public:
    explicit Call(std::shared_ptr<RuleCalls> calls) : calls_(std::move(calls)) {
      const std::lock_guard lock(calls_->mutex_);
      calls_->running_.push_back(this);
    }
    ~Call() {
      const std::lock_guard lock(calls_->mutex_);
      calls_->running_.erase(std::find(calls_->running_.begin(), calls_->running_.end(), this));
    }
    Call(const Call &) = delete;
    Call &operator=(const Call &) = delete;

    // The exception of a function that has ended the evaluation, or null.
    const std::exception_ptr &Thrown() const noexcept { return thrown_; }

   private:
    friend class RuleCalls;
    const std::shared_ptr<RuleCalls> calls_;
    const std::thread::id thread_ = std::this_thread::get_id();
    std::exception_ptr thrown_;
  };

  // Keeps the current exception for the call on this thread, unless C evaluates the set.
  void Keep() noexcept {
    const std::lock_guard lock(mutex_);
    for (Call *call : running_) {
      if (call->thread_ == std::this_thread::get_id()) call->thrown_ = std::current_exception();
    }
  }

 private:
  std::mutex mutex_;
  std::vector<Call *> running_;
};

// A rule's function.
class RuleState {
 public:
  RuleState(RuleFunction function, std::shared_ptr<RuleCalls> calls)
      : function_(std::move(function)), calls_(std::move(calls)) {}

  static int32_t Invoke(void *self, smd_trial *trial, int64_t step, smd_findings *findings,
                        smd_error **error) noexcept {
    const RuleState &state = *static_cast<RuleState *>(self);
    try {
      const Borrowed borrowed(trial);
      RuleStep now(borrowed.trial, step, findings);
      state.function_(now);
      return now.IsFinished() ? SMD_RULE_FINISHED : SMD_RULE_CONTINUE;
    } catch (const Error &thrown) {
      return state.Fail(thrown.Code(), thrown.what(), error);
    } catch (const std::exception &thrown) {
      return state.Fail(SMD_CALLBACK_FAILED, thrown.what(), error);
    } catch (...) {
      return state.Fail(SMD_CALLBACK_FAILED, "the rule threw", error);
    }
  }

  static void Destroy(void *self) noexcept { delete static_cast<RuleState *>(self); }

 private:
  // A trial that the library frees.
  struct Borrowed {
    explicit Borrowed(smd_trial *handle) noexcept : trial(handle) {}
    ~Borrowed() { static_cast<void>(trial.handle_.release()); }
    Borrowed(const Borrowed &) = delete;
    Borrowed &operator=(const Borrowed &) = delete;
    Trial trial;
  };

  // Called where an exception is handled.
  int32_t Fail(smd_code code, const char *message, smd_error **error) const noexcept {
    *error = smd_error_new(code, message);
    switch (smd_error_code(*error)) {
      case SMD_STEP_UNAVAILABLE:
      case SMD_TENSOR_UNAVAILABLE:
      case SMD_VALUE_UNAVAILABLE:
      case SMD_SHAPE_UNAVAILABLE: break;  // the step is skipped
      default: calls_->Keep();
    }
    return -1;
  }

  const RuleFunction function_;
  const std::shared_ptr<RuleCalls> calls_;
};

}  // namespace detail

}  // namespace smdebug

#endif  // SMDEBUG_CPP_RULE_HPP
