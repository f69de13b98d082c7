#include "rules/finding.h"

namespace smdebug::rules {

const char *RuleStatusName(RuleStatus status) {
  switch (status) {
    case RuleStatus::kPassed: return "passed";
    case RuleStatus::kHasFindings: return "has_findings";
    case RuleStatus::kNoTensors: return "no_tensors";
    case RuleStatus::kNotEnoughData: return "not_enough_data";
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

}  // namespace smdebug::rules
