#include "rules/shared_panel.h"

#include <algorithm>
#include <chrono>

namespace smdebug::rules {
namespace {

// How often rules that watch the time hear of it while no step comes.
constexpr Clock::Duration kLookAtTheClock = std::chrono::seconds(1);

// Takes the panel through what is there; the step to wait for next.
Result<int64_t> JudgeKnown(SharedPanel &shared, Source &source, const RunRange &range,
                           const PanelRun::Report &report) {
  const MutexLock lock(shared.mutex);
  PanelRun run(shared.panel, source, shared.last_shown);
  const Status status = run.Run(range, Reach::kComplete, report);
  shared.last_shown = run.LastShown();
  if (!status.IsOk()) return status;
  return std::max(range.first, shared.last_shown + 1);
}

// As Source::WaitForStep(); what rules find while the step does not come is told.
Status Wait(SharedPanel &shared, Source &source, int64_t step, const RunRange &range,
            const PanelRun::Report &report, Clock &clock) {
  bool needs_times = false;
  {
    const MutexLock lock(shared.mutex);
    needs_times = shared.panel.NeedsTimes();
  }
  if (!needs_times) return source.WaitForStep(step);
  while (true) {
    Status status = source.WaitForStepUntil(step, Deadline::After(clock, kLookAtTheClock));
    if (status.GetCode() != Code::kTimeout) return status;
    const MutexLock lock(shared.mutex);
    SMD_RETURN_IF_ERROR(Tell(shared.panel.NoteTime(clock.WallSeconds()), range, report));
  }
}

}  // namespace

Status JudgeSteps(SharedPanel &shared, Source &source, const RunRange &range, bool waits,
                  const PanelRun::Report &report, Clock &clock) {
  SMD_ASSIGN_OR_RETURN(int64_t step, JudgeKnown(shared, source, range, report));
  while (waits && (!range.end || step < *range.end)) {
    const Status status = Wait(shared, source, step, range, report, clock);
    if (status.GetCode() == Code::kNoMoreData) return Status::Ok();
    if (status.GetCode() == Code::kStepUnavailable) {
      SMD_ASSIGN_OR_RETURN(const std::optional<int64_t> next, source.NextStep(step + 1));
      step = next.value_or(step + 1);
      continue;
    }
    SMD_RETURN_IF_ERROR(status);
    SMD_ASSIGN_OR_RETURN(const int64_t next, JudgeKnown(shared, source, range, report));
    step = std::max(step + 1, next);
  }
  return Status::Ok();
}

}  // namespace smdebug::rules
