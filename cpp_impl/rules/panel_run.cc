#include "rules/panel_run.h"

#include "base/strings.h"

namespace smdebug::rules {
namespace {

Status ConditionMet(const Verdict &verdict) {
  return Status(Code::kRuleConditionMet,
                StrCat(verdict.rule, " is met at step ", verdict.place.step, ": ", verdict.message))
      .With("rule", verdict.rule)
      .With("step", std::to_string(verdict.place.step));
}

}  // namespace

Status Tell(const std::vector<Verdict> &verdicts, const RunRange &range,
            const PanelRun::Report &report) {
  for (const Verdict &verdict : verdicts) {
    report(verdict);
    if (range.stops_at_finding) return ConditionMet(verdict);
  }
  return Status::Ok();
}

Result<std::vector<Verdict>> PanelRun::Show(int64_t step, bool is_reported) {
  SMD_ASSIGN_OR_RETURN(StepPlace place, source_.PlaceOf(step));
  if (!panel_.LooksAt(place)) {
    last_shown_ = step;
    return std::vector<Verdict>();
  }
  if (panel_.NeedsTimes()) place.wall_seconds = source_.WallSecondsOf(step);
  const Membership &collections = source_.Collections();
  const Status visited = source_.VisitStep(
      step, [&](std::string_view tensor) { return panel_.Wants(tensor, collections); },
      [&](const Sample &sample) { panel_.Observe(sample, collections); });
  last_shown_ = step;
  // Also after a failure: what was seen of this step is not the next one's.
  std::vector<Verdict> verdicts;
  if (is_reported) {
    verdicts = panel_.EndStep(place);
  } else {
    panel_.PassStep(place);
  }
  if (!visited.IsOk() && !IsMissingData(visited)) return visited;
  return verdicts;
}

Status PanelRun::Run(const RunRange &range, Reach reach, const Report &report) {
  SMD_ASSIGN_OR_RETURN(std::optional<int64_t> step, source_.NextStep(last_shown_ + 1));
  // Looking for news once is enough.
  const StandingStill standing_still(source_);
  while (step && (!range.end || *step < *range.end)) {
    if (reach == Reach::kComplete) {
      SMD_ASSIGN_OR_RETURN(const bool is_complete, source_.IsComplete(*step));
      if (!is_complete) break;
    }
    SMD_ASSIGN_OR_RETURN(const std::vector<Verdict> verdicts, Show(*step, *step >= range.first));
    SMD_RETURN_IF_ERROR(Tell(verdicts, range, report));
    SMD_ASSIGN_OR_RETURN(step, source_.NextStep(*step + 1));
  }
  return Status::Ok();
}

}  // namespace smdebug::rules
