// Rules: a question asked of a trial at one step after another.
#ifndef SMDEBUG_CPP_RULE_HPP
#define SMDEBUG_CPP_RULE_HPP

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "smdebug/cpp/handle.hpp"
#include "smdebug/cpp/trial.hpp"
#include "smdebug/rule.h"

namespace smdebug {

// What a rule says of a step.
enum class Judgement : int32_t {
  kNoFinding = SMD_RULE_NO_FINDING,
  kFinding = SMD_RULE_FINDING,
  kFindingAndEnd = SMD_RULE_FINDING_AND_END
};

// Judges a global step, on the thread that runs the rule.  An Error that says a step or tensor
// is not there skips the step; whatever else it throws ends the run and comes out of Rule::Run().
using RuleFunction = std::function<Judgement(const Trial &trial, int64_t step)>;

namespace detail {

// A rule's function, and what it threw at the step judged last.
class RuleState {
 public:
  explicit RuleState(RuleFunction judge) : judge_(std::move(judge)) {}

  // What Invoke() judges: the trial that the rule is run over.
  void SetTrial(const Trial *trial) noexcept { trial_ = trial; }

  static int32_t Invoke(void *self, smd_trial *, int64_t step, smd_error **error) noexcept {
    RuleState &state = *static_cast<RuleState *>(self);
    state.thrown_ = nullptr;
    try {
      return static_cast<int32_t>(state.judge_(*state.trial_, step));
    } catch (const Error &thrown) {
      return state.Carry(thrown.Code(), thrown.what(), error);
    } catch (const std::exception &thrown) {
      return state.Carry(SMD_CALLBACK_FAILED, thrown.what(), error);
    } catch (...) {
      return state.Carry(SMD_CALLBACK_FAILED, "the rule threw", error);
    }
  }

  static void Destroy(void *self) noexcept { delete static_cast<RuleState *>(self); }

  // Throws what the rule threw if that is what `error` came of.
  void Rethrow(const smd_error *error) {
    const std::exception_ptr thrown = std::exchange(thrown_, nullptr);
    if (thrown != nullptr && smd_error_code(error) == code_) std::rethrow_exception(thrown);
  }

 private:
  int32_t Carry(smd_code code, const char *message, smd_error **error) noexcept {
    thrown_ = std::current_exception();
    *error = smd_error_new(code, message);
    code_ = smd_error_code(*error);
    return -1;
  }

  RuleFunction judge_;
  const Trial *trial_ = nullptr;
  std::exception_ptr thrown_;
  smd_code code_ = SMD_OK;
};

}  // namespace detail

// One thread at a time.
class Rule {
 public:
  using Owner = detail::Handle<smd_rule, smd_rule_free>;

  // A rule of the caller's.  smd_rule_new().
  Rule(const CString &name, RuleFunction judge) {
    if (judge == nullptr) throw Error(SMD_INVALID_ARGUMENT, "a rule needs a function");
    auto state = std::make_unique<detail::RuleState>(std::move(judge));
    smd_rule_ops ops = SMD_RULE_OPS_INIT;
    ops.invoke = detail::RuleState::Invoke;
    ops.destroy = detail::RuleState::Destroy;
    state_ = state.release();
    handle_ = detail::Make<Owner>(smd_rule_new, name.Get(), &ops, static_cast<void *>(state_));
  }
  // Takes `rule`.
  explicit Rule(smd_rule *rule) noexcept : handle_(rule) {}
  Rule(Rule &&other) noexcept
      : state_(std::exchange(other.state_, nullptr)), handle_(std::move(other.handle_)) {}
  Rule &operator=(Rule &&other) noexcept {
    state_ = std::exchange(other.state_, nullptr);
    handle_ = std::move(other.handle_);
    return *this;
  }

  // A rule of the library's, as "VanishingGradient"; `parameters` is a JSON object of strings.
  // smd_rule_new_builtin().
  static Rule BuiltIn(const CString &name, const CString &parameters = nullptr) {
    return detail::MakeObject<Rule>(smd_rule_new_builtin, name.Get(), parameters.Get());
  }

  // Judges the global steps first <= s < end (-1: until the job ends); returns those with a
  // finding.  smd_rule_run().
  std::vector<int64_t> Run(const Trial &trial, int64_t first = 0, int64_t end = -1) {
    return Run(trial, first, end, false);
  }

  // The same, but the first finding is thrown as RuleConditionMet.
  void Require(const Trial &trial, int64_t first = 0, int64_t end = -1) {
    Run(trial, first, end, true);
  }

  // The last finding's sentence.  smd_rule_last_finding().
  std::string LastFinding() const { return smd_rule_last_finding(Get()); }

  smd_rule *Get() const noexcept { return handle_.get(); }

 private:
  std::vector<int64_t> Run(const Trial &trial, int64_t first, int64_t end, bool stop_at_finding) {
    if (state_ != nullptr) state_->SetTrial(&trial);
    smd_steps *found = nullptr;
    detail::Handle<smd_error, smd_error_free> error(
        smd_rule_run(Get(), trial.Get(), first, end, stop_at_finding, &found));
    const detail::Steps findings(found);
    if (error != nullptr && state_ != nullptr) state_->Rethrow(error.get());
    detail::Check(error.release());
    return detail::ToVector(findings);
  }

  detail::RuleState *state_ = nullptr;  // the rule's; NULL for those of the library
  Owner handle_;
};

}  // namespace smdebug

#endif  // SMDEBUG_CPP_RULE_HPP
