// Findings and results of rules.
#ifndef SMDEBUG_CPP_FINDING_HPP
#define SMDEBUG_CPP_FINDING_HPP

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "smdebug/cpp/handle.hpp"
#include "smdebug/cpp/types.hpp"
#include "smdebug/rule_set.h"

namespace smdebug {

// A rule's result over all steps that it has evaluated.
enum class RuleStatus : smd_rule_status {
  kPassed = SMD_RULE_PASSED,
  kHasFindings = SMD_RULE_HAS_FINDINGS,
  kNoTensors = SMD_RULE_NO_TENSORS,
  kNotEnoughData = SMD_RULE_NOT_ENOUGH_DATA,
  kWorthALook = SMD_RULE_WORTH_A_LOOK
};

// Actions that findings recommend; the most severe is the greatest.
enum class Action : smd_action {
  kContinue = SMD_ACTION_CONTINUE,
  kWarn = SMD_ACTION_WARN,
  kStop = SMD_ACTION_STOP
};

// How sure a finding is.
enum class Level : smd_level {
  kFinding = SMD_LEVEL_FINDING,
  kWorthALook = SMD_LEVEL_WORTH_A_LOOK  // may be wrong; its action is Action::kContinue
};

// Returns "finding", "worth_a_look"; "" for anything else.  smd_level_name().
inline const char *Name(Level level) noexcept {
  return smd_level_name(static_cast<smd_level>(level));
}

// Returns "passed", "no_tensors", ...; "" for anything else.  smd_rule_status_name().
inline const char *Name(RuleStatus status) noexcept {
  return smd_rule_status_name(static_cast<smd_rule_status>(status));
}

// Returns "continue", "warn", "stop"; "" for anything else.  smd_action_name().
inline const char *Name(Action action) noexcept {
  return smd_action_name(static_cast<smd_action>(action));
}

// A finding of a rule at one step.
struct Finding {
  std::string rule;
  std::string check;    // which of the rule's checks, or ""
  std::string tensor;   // the culprit, or ""
  std::string worker;   // or ""
  std::string message;  // all that in one sentence
  int64_t step = -1;    // the global step
  Mode mode = Mode::kGlobal;
  int64_t mode_step = -1;
  Action action = Action::kContinue;
  double value = std::numeric_limits<double>::quiet_NaN();  // NaN if nothing was measured
  double limit = std::numeric_limits<double>::quiet_NaN();  // NaN if there is none
  Level level = Level::kFinding;
};

// The summary of one rule.
struct RuleResult {
  std::string rule;
  RuleStatus status = RuleStatus::kPassed;
  int64_t finding_count = 0;     // of Level::kFinding
  std::string message;           // the first finding, or why there is none
  std::optional<Finding> first;  // the first finding; if there is none, the first worth a look
  int64_t look_count = 0;        // of Level::kWorthALook
};

namespace detail {

using FindingList = Handle<smd_findings, smd_findings_free>;
using RuleResultList = Handle<smd_rule_results, smd_rule_results_free>;

inline Finding ToFinding(const smd_finding &from) {
  Finding finding;
  finding.rule = from.rule;
  finding.check = from.check;
  finding.tensor = from.tensor;
  finding.worker = from.worker;
  finding.message = from.message;
  finding.step = from.step;
  finding.mode = static_cast<Mode>(from.mode);
  finding.mode_step = from.mode_step;
  finding.action = static_cast<Action>(from.action);
  finding.value = from.value;
  finding.limit = from.limit;
  finding.level = static_cast<Level>(from.level);
  return finding;
}

inline std::vector<Finding> ToVector(const FindingList &list) {
  std::vector<Finding> findings;
  const size_t count = smd_findings_count(list.get());
  findings.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    findings.push_back(ToFinding(*smd_findings_get(list.get(), i)));
  }
  return findings;
}

inline std::vector<RuleResult> ToVector(const RuleResultList &list) {
  std::vector<RuleResult> results(smd_rule_results_count(list.get()));
  for (size_t i = 0; i < results.size(); ++i) {
    const smd_rule_result &from = *smd_rule_results_get(list.get(), i);
    results[i].rule = from.rule;
    results[i].status = static_cast<RuleStatus>(from.status);
    results[i].finding_count = from.finding_count;
    results[i].message = from.message;
    results[i].look_count = from.look_count;
    if (from.first != nullptr) results[i].first = ToFinding(*from.first);
  }
  return results;
}

}  // namespace detail
}  // namespace smdebug

#endif  // SMDEBUG_CPP_FINDING_HPP
