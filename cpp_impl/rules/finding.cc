#include "rules/finding.h"

namespace smdebug::rules {

const char *RuleStatusName(RuleStatus status) {
  switch (status) {
    case RuleStatus::kPassed: return "passed";
    case RuleStatus::kHasFindings: return "has_findings";
    case RuleStatus::kNoTensors: return "no_tensors";
    case RuleStatus::kNotEnoughData: return "not_enough_data";
    case RuleStatus::kWorthALook: return "worth_a_look";
  }
  return "";
}

const char *ActionName(Action action) {
  switch (action) {
    case Action::kContinue: return "continue";
    case Action::kWarn: return "warn";
    case Action::kStop: return "stop";
  }
  return "";
}

const char *LevelName(Level level) {
  switch (level) {
    case Level::kFinding: return "finding";
    case Level::kWorthALook: return "worth_a_look";
  }
  return "";
}

}  // namespace smdebug::rules
