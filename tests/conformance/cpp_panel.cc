// Panels of rules, while the scenario is recorded and of what was.
#include <cmath>

#include "cpp_record.h"

using smdebug::Action;
using smdebug::Verdict;
using smdebug::VerdictStatus;

const char *NameOf(Action action) {
  switch (action) {
    case Action::kContinue: return "CONTINUE";
    case Action::kWarn: return "WARN";
    case Action::kStop: return "STOP";
  }
  return "";
}

namespace {

const char *NameOfStatus(VerdictStatus status) {
  switch (status) {
    case VerdictStatus::kNoIssue: return "NO_ISSUE";
    case VerdictStatus::kFinding: return "FINDING";
    case VerdictStatus::kNoTensor: return "NO_TENSOR";
    case VerdictStatus::kNotEnoughData: return "NOT_ENOUGH_DATA";
  }
  return "";
}

Action ActionNamed(const std::string &name) {
  for (const Action action : {Action::kContinue, Action::kWarn, Action::kStop}) {
    if (name == NameOf(action)) return action;
  }
  throw std::runtime_error("no action is named " + name);
}

Json NumberOrNull(double number) {
  return Json(std::isnan(number) ? cJSON_CreateNull() : cJSON_CreateNumber(number));
}

Json Described(const Verdict &verdict) {
  Json described(cJSON_CreateObject());
  Put(described, "rule", Text(verdict.rule));
  Put(described, "status", Text(NameOfStatus(verdict.status)));
  Put(described, "action", Text(NameOf(verdict.action)));
  Put(described, "step", Number(verdict.step));
  Put(described, "mode", Text(ModeName(verdict.mode)));
  Put(described, "mode_step", Number(verdict.mode_step));
  Put(described, "worker", Text(verdict.worker));
  Put(described, "tensor", Text(verdict.tensor));
  Put(described, "value", NumberOrNull(verdict.value));
  Put(described, "limit", NumberOrNull(verdict.limit));
  Put(described, "label", Text(verdict.label));
  Put(described, "message", Text(verdict.message));
  return described;
}

}  // namespace

smdebug::Panel PanelOf(const cJSON *settings) {
  const bool is_aws = TextOf(Member(settings, "profile")) == "aws";
  smdebug::Panel panel(is_aws ? smdebug::Profile::kAws : smdebug::Profile::kCalibrated);
  panel.SetSaveConfig(SaveConfigOf(Member(settings, "save_every")));
  for (const cJSON *rule : Items(Member(settings, "rules"))) {
    panel.Add(TextOf(Member(rule, "rule")), Printed(Member(rule, "parameters")),
              ActionNamed(TextOf(Member(rule, "action"))));
  }
  return panel;
}

void Append(const Json &list, const std::vector<Verdict> &verdicts) {
  for (const Verdict &verdict : verdicts) Append(list, Described(verdict));
}
