// Defines what rules report about a job.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "rules/support/place.h"

namespace smdebug::rules {

// The state of a rule over all steps that it has evaluated.  The numbers are those of
// smd_rule_status.
enum class RuleStatus : int32_t {
  kPassed = 0,         // evaluated, without a finding
  kHasFindings = 1,    // found something at one step or more
  kNoTensors = 2,      // no tensor matches
  kNotEnoughData = 3,  // tensors match, but the rule needs more data
  kWorthALook = 4,     // nothing but findings worth a look
};

// The recommended action of a finding.  The numbers are those of smd_action.
enum class Action : int32_t { kContinue = 0, kWarn = 1, kStop = 2 };

// How sure a finding is.  The numbers are those of smd_level.
enum class Level : int32_t {
  kFinding = 0,    // something is wrong
  kWorthALook = 1  // may be wrong; never recommends an action, and never stops an evaluation
};

// Returns "has_findings", "warn", "worth_a_look" and so on, or "" for an unknown value.
const char *RuleStatusName(RuleStatus status);
const char *ActionName(Action action);
const char *LevelName(Level level);

inline constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

// Describes what a rule found at one step.
struct Finding {
  std::string rule;
  Level level = Level::kFinding;
  Action action = Action::kContinue;
  StepPlace place{-1, Mode::kGlobal, -1};
  std::string worker;
  std::string tensor;  // the culprit
  double value = kNoNumber;
  double limit = kNoNumber;
  std::string check;    // the check that failed, if the rule has several
  std::string message;  // one sentence
};

// Summarises one rule.
struct RuleResult {
  std::string rule;
  RuleStatus status = RuleStatus::kPassed;
  int64_t finding_count = 0;
  int64_t look_count = 0;  // findings worth a look, not in finding_count
  Finding first;           // the first finding; if there is none, the first worth a look
  std::string message;
};

}  // namespace smdebug::rules
