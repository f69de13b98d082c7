// Takes a panel through the steps of a job.
#pragma once

#include <cstdint>
#include <functional>

#include "base/clock.h"
#include "base/result.h"
#include "rules/panel.h"
#include "rules/runner.h"
#include "rules/source.h"

namespace smdebug::rules {

// Shows the panel every known step in turn, once: what comes before a range is shown, so
// that rules know it, but not reported.  For one thread.
class PanelRun {
 public:
  // Takes a verdict; false ends the run.
  using Report = std::function<bool(const Verdict &verdict)>;

  // `last_shown`: of an earlier run of the panel.
  PanelRun(Panel &panel, Source &source, int64_t last_shown = -1, Clock &clock = Clock::System())
      : panel_(panel), source_(source), last_shown_(last_shown), clock_(clock) {}

  // Judges the steps of the range that were not shown yet, waiting for each until the job
  // ends; with `waits` false only those that are there.  A step that cannot be read for
  // want of data is passed over.  RULE_CONDITION_MET if it was to stop at a finding.
  Status Run(const RunRange &range, bool waits, const Report &report);

  // The last step that was shown, or -1.
  int64_t LastShown() const { return last_shown_; }

 private:
  Status ShowEarlier(int64_t first);
  Result<std::vector<Verdict>> Show(int64_t step);
  // False ends the run.
  Result<bool> Tell(const std::vector<Verdict> &verdicts, const RunRange &range,
                    const Report &report);
  // Whether the step is worth looking for; what rules find while it does not come is told.
  Result<bool> Wait(int64_t step, const RunRange &range, const Report &report);

  Panel &panel_;
  Source &source_;
  int64_t last_shown_;
  Clock &clock_;
};

}  // namespace smdebug::rules
