// What rules say of a job.
#pragma once

#include <limits>
#include <string>

#include "rules/place.h"

namespace smdebug::rules {

// The numbers are those of smd_verdict_status.
enum class VerdictStatus : int32_t {
  kNoIssue = 0,        // of a whole run: judged, and nothing found
  kFinding = 1,        // at one step
  kNoTensor = 2,       // of a whole run: no tensor is of those it looks at
  kNotEnoughData = 3,  // of a whole run: what it looks at was not enough to judge by
};

// What is to be done about a rule's findings; the numbers are those of smd_action.
enum class Action : int32_t { kContinue = 0, kWarn = 1, kStop = 2 };

// "finding", "warn"; "" for anything else.
const char *VerdictStatusName(VerdictStatus status);
const char *ActionName(Action action);

inline constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

struct Verdict {
  std::string rule;
  VerdictStatus status = VerdictStatus::kNoIssue;
  Action action = Action::kContinue;
  StepPlace place{-1, Mode::kGlobal, -1};  // of a finding
  std::string worker;
  std::string tensor;  // the one that did it
  double value = kNoNumber;
  double limit = kNoNumber;
  std::string label;    // which of the rule's checks, where it has several
  std::string message;  // one sentence
  bool ends_rule = false;
};

}  // namespace smdebug::rules
