#include "rules/panel_run.h"

#include "base/strings.h"

namespace smdebug::rules {
namespace {

// How often rules that watch the time hear of it while no step comes.
constexpr Clock::Duration kLookAtTheClock = std::chrono::seconds(1);

Status ConditionMet(const Verdict &verdict) {
  return Status(Code::kRuleConditionMet,
                StrCat(verdict.rule, " is met at step ", verdict.place.step, ": ", verdict.message))
      .With("rule", verdict.rule)
      .With("step", std::to_string(verdict.place.step));
}

}  // namespace

Result<std::vector<Verdict>> PanelRun::Show(int64_t step) {
  const StandingStill standing_still(source_);
  SMD_ASSIGN_OR_RETURN(StepPlace place, source_.PlaceOf(step));
  if (panel_.NeedsTimes()) place.wall_seconds = source_.WallSecondsOf(step);
  const Membership &collections = source_.Collections();
  const Status visited = source_.VisitStep(
      step, [&](std::string_view tensor) { return panel_.Wants(tensor, collections); },
      [&](const Sample &sample) { panel_.Observe(sample, collections); });
  last_shown_ = step;
  // Also after a failure: what was seen of this step is not the next one's.
  std::vector<Verdict> verdicts = panel_.EndStep(place);
  if (!visited.IsOk() && !IsMissingData(visited)) return visited;
  return verdicts;
}

Status PanelRun::ShowEarlier(int64_t first) {
  while (last_shown_ + 1 < first) {
    SMD_ASSIGN_OR_RETURN(const std::optional<int64_t> next, source_.NextStep(last_shown_ + 1));
    if (!next || *next >= first) return Status::Ok();
    SMD_RETURN_IF_ERROR(Show(*next).GetStatus());
  }
  return Status::Ok();
}

Result<bool> PanelRun::Tell(const std::vector<Verdict> &verdicts, const RunRange &range,
                            const Report &report) {
  for (const Verdict &verdict : verdicts) {
    if (!report(verdict)) return false;
    if (range.stops_at_finding) return ConditionMet(verdict);
  }
  return true;
}

Result<bool> PanelRun::Wait(int64_t step, const RunRange &range, const Report &report) {
  while (true) {
    const Status status = panel_.NeedsTimes() ? source_.WaitForStepUntil(
                                                    step, Deadline::After(clock_, kLookAtTheClock))
                                              : source_.WaitForStep(step);
    const bool has_ended = status.GetCode() == Code::kNoMoreData;
    if (status.IsOk() || status.GetCode() == Code::kStepUnavailable || has_ended) {
      // Not before: until then earlier steps may still come.
      SMD_RETURN_IF_ERROR(ShowEarlier(range.first));
      return !has_ended;
    }
    if (status.GetCode() != Code::kTimeout) return status;
    SMD_ASSIGN_OR_RETURN(const bool goes_on,
                         Tell(panel_.NoteTime(clock_.WallSeconds()), range, report));
    if (!goes_on) return false;
  }
}

Status PanelRun::Run(const RunRange &range, bool waits, const Report &report) {
  if (!waits) SMD_RETURN_IF_ERROR(ShowEarlier(range.first));
  int64_t step = std::max(range.first, last_shown_ + 1);
  while (!range.end || step < *range.end) {
    if (waits) {
      SMD_ASSIGN_OR_RETURN(const bool goes_on, Wait(step, range, report));
      if (!goes_on) return Status::Ok();
    }
    SMD_ASSIGN_OR_RETURN(const std::optional<int64_t> next, source_.NextStep(step));
    if (!next && !waits) return Status::Ok();
    if (!next || *next != step) {
      step = next.value_or(step + 1);
      continue;
    }
    SMD_ASSIGN_OR_RETURN(const std::vector<Verdict> verdicts, Show(step));
    SMD_ASSIGN_OR_RETURN(const bool goes_on, Tell(verdicts, range, report));
    if (!goes_on) return Status::Ok();
    ++step;
  }
  return Status::Ok();
}

}  // namespace smdebug::rules
