// Takes a panel through the steps of a job.
#pragma once

#include <cstdint>
#include <functional>

#include "base/result.h"
#include "rules/panel.h"
#include "rules/runner.h"
#include "rules/source.h"

namespace smdebug::rules {

enum class Reach {
  kComplete,  // up to the first step that some worker may still write to
  kKnown,     // all steps that are there
};

// Shows the panel every step that it looks at in turn, once: what comes before a range is
// shown, so that rules know it, but not reported.  For one thread.
class PanelRun {
 public:
  using Report = std::function<void(const Verdict &verdict)>;

  // `last_shown`: of an earlier run of the panel.
  PanelRun(Panel &panel, Source &source, int64_t last_shown = -1)
      : panel_(panel), source_(source), last_shown_(last_shown) {}

  // Judges the steps of the range that are there now and were not shown yet.  One that
  // cannot be read for want of data is passed over.  RULE_CONDITION_MET if it was to stop
  // at a finding.
  Status Run(const RunRange &range, Reach reach, const Report &report);

  // The last step that was shown, or -1.
  int64_t LastShown() const { return last_shown_; }

 private:
  // What was found at the step, if that is to be reported.
  Result<std::vector<Verdict>> Show(int64_t step, bool is_reported);

  Panel &panel_;
  Source &source_;
  int64_t last_shown_;
};

// Reports them; RULE_CONDITION_MET at the first one if the run is to stop there.
Status Tell(const std::vector<Verdict> &verdicts, const RunRange &range,
            const PanelRun::Report &report);

}  // namespace smdebug::rules
