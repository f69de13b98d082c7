#include "rules/runner.h"

#include "base/strings.h"

namespace smdebug::rules {
namespace {

Result<Judgement> JudgeStandingStill(Rule &rule, Source &source, int64_t step) {
  const StandingStill standing_still(source);
  return rule.Judge(source, step);
}

// The step to go on with after one that was not saved.
Result<int64_t> SkipFrom(Source &source, int64_t step) {
  SMD_ASSIGN_OR_RETURN(const std::optional<int64_t> next, source.NextStep(step + 1));
  return next.value_or(step + 1);
}

}  // namespace

RunResult Run(Rule &rule, Source &source, const RunRange &range) {
  RunResult findings;
  int64_t step = range.first;
  while (!range.end || step < *range.end) {
    Status status = source.WaitForStep(step);
    if (status.GetCode() == Code::kNoMoreData) return findings;
    if (status.GetCode() == Code::kStepUnavailable) {
      auto next = SkipFrom(source, step);
      status = next.GetStatus();
      if (next.IsOk()) {
        step = *next;
        continue;
      }
    }
    if (!status.IsOk()) {
      findings.status = status;
      return findings;
    }
    auto verdict = JudgeStandingStill(rule, source, step);
    if (!verdict.IsOk() && !IsMissingData(verdict.GetStatus())) {
      findings.status = verdict.GetStatus();
      return findings;
    }
    if (verdict.IsOk() && verdict->is_finding) {
      findings.steps.push_back(step);
      findings.last_message = verdict->message;
      if (range.stops_at_finding) {
        findings.status = Status(Code::kRuleConditionMet, StrCat(rule.Name(), " is met at step ",
                                                                 step, ": ", verdict->message))
                              .With("rule", rule.Name())
                              .With("step", std::to_string(step));
        return findings;
      }
      if (verdict->ends_rule) return findings;
    }
    ++step;
  }
  return findings;
}

}  // namespace smdebug::rules
