// Creates rule sets of the scenario, and converts their results to JSON.
#include <cmath>

#include "cpp_record.h"

using smdebug::Action;
using smdebug::Finding;
using smdebug::RuleResult;
using smdebug::RuleStatus;

const char *NameOf(Action action) {
  switch (action) {
    case Action::kContinue: return "CONTINUE";
    case Action::kWarn: return "WARN";
    case Action::kStop: return "STOP";
  }
  return "";
}

namespace {

const char *NameOfStatus(RuleStatus status) {
  switch (status) {
    case RuleStatus::kPassed: return "PASSED";
    case RuleStatus::kHasFindings: return "HAS_FINDINGS";
    case RuleStatus::kNoTensors: return "NO_TENSORS";
    case RuleStatus::kNotEnoughData: return "NOT_ENOUGH_DATA";
    case RuleStatus::kWorthALook: return "WORTH_A_LOOK";
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

Json Described(const Finding &finding) {
  Json described(cJSON_CreateObject());
  Put(described, "rule", Text(finding.rule));
  Put(described, "check", Text(finding.check));
  Put(described, "tensor", Text(finding.tensor));
  Put(described, "worker", Text(finding.worker));
  Put(described, "message", Text(finding.message));
  Put(described, "step", Number(finding.step));
  Put(described, "mode", Text(ModeName(finding.mode)));
  Put(described, "mode_step", Number(finding.mode_step));
  Put(described, "action", Text(NameOf(finding.action)));
  Put(described, "value", NumberOrNull(finding.value));
  Put(described, "limit", NumberOrNull(finding.limit));
  const bool is_finding = finding.level == smdebug::Level::kFinding;
  Put(described, "level", Text(is_finding ? "FINDING" : "WORTH_A_LOOK"));
  return described;
}

Json Described(const RuleResult &result) {
  Json described(cJSON_CreateObject());
  Put(described, "rule", Text(result.rule));
  Put(described, "status", Text(NameOfStatus(result.status)));
  Put(described, "finding_count", Number(result.finding_count));
  Put(described, "look_count", Number(result.look_count));
  Put(described, "message", Text(result.message));
  Put(described, "first", result.first ? Described(*result.first) : Json(cJSON_CreateNull()));
  return described;
}

Json Described(const smdebug::Cause &cause) {
  Json described(cJSON_CreateObject());
  Put(described, "id", Text(cause.id));
  Put(described, "title", Text(cause.title));
  Put(described, "confidence", NumberOrNull(cause.confidence));
  Put(described, "advice", Text(cause.advice));
  Put(described, "link", Text(cause.link));
  Json all(cJSON_CreateArray());
  for (const smdebug::Evidence &each : cause.evidence) {
    Json evidence(cJSON_CreateObject());
    Put(evidence, "first", Described(each.first));
    Put(evidence, "finding_count", Number(each.finding_count));
    Put(evidence, "tensor_count", Number(each.tensor_count));
    Append(all, std::move(evidence));
  }
  Put(described, "evidence", std::move(all));
  Json missing(cJSON_CreateArray());
  for (const std::string &rule : cause.missing) Append(missing, Text(rule));
  Put(described, "missing", std::move(missing));
  return described;
}

// Finds the steps at which the rule's tensor was saved.
smdebug::RuleFunction Saved(const cJSON *rule) {
  const cJSON *until = Member(rule, "until");
  return [tensor = TextOf(Member(rule, "tensor")),
          last = until == nullptr ? -1 : NumberOf(until)](smdebug::RuleStep &step) {
    step.Trial().Tensor(tensor).Value(step.Step());
    step.Report("it was saved");
    Finding place;
    place.tensor = tensor;
    place.check = "place";
    place.worker = "worker_1";
    place.message = "it has a step";
    place.action = Action::kWarn;
    place.value = static_cast<double>(step.Step());
    place.limit = 0.5;
    step.Report(place);
    Finding look;
    look.message = "it is large";
    look.action = Action::kStop;
    look.level = smdebug::Level::kWorthALook;
    step.Report(look);
    if (step.Step() == last) step.Finish();
  };
}

}  // namespace

smdebug::RuleSet RuleSetOf(const cJSON *settings) {
  const bool is_aws = TextOf(Member(settings, "profile")) == "aws";
  smdebug::RuleSet set(is_aws ? smdebug::Profile::kAws : smdebug::Profile::kCalibrated);
  set.SetSaveConfig(SaveConfigOf(Member(settings, "save_every")));
  for (const cJSON *rule : Items(Member(settings, "rules"))) {
    const Action action = ActionNamed(TextOf(Member(rule, "action")));
    if (const cJSON *function = Member(rule, "function"); function != nullptr) {
      set.AddFunction(TextOf(function), Saved(rule), action);
    } else {
      set.Add(TextOf(Member(rule, "rule")), Printed(Member(rule, "parameters")), action);
    }
  }
  return set;
}

void Append(const Json &list, const std::vector<Finding> &findings) {
  for (const Finding &finding : findings) Append(list, Described(finding));
}

void Append(const Json &list, const std::vector<RuleResult> &results) {
  for (const RuleResult &result : results) Append(list, Described(result));
}

void Append(const Json &list, const std::vector<smdebug::Cause> &causes) {
  for (const smdebug::Cause &cause : causes) Append(list, Described(cause));
}
