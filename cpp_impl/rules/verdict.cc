#include "rules/verdict.h"

namespace smdebug::rules {

const char *VerdictStatusName(VerdictStatus status) {
  switch (status) {
    case VerdictStatus::kNoIssue: return "no_issue";
    case VerdictStatus::kFinding: return "finding";
    case VerdictStatus::kNoTensor: return "no_tensor";
    case VerdictStatus::kNotEnoughData: return "not_enough_data";
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
