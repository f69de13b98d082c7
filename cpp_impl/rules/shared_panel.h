// A panel that several threads and handles have.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/mutex.h"
#include "rules/panel.h"
#include "rules/panel_run.h"

namespace smdebug::rules {

struct SharedPanel {
  Mutex mutex;
  Panel panel SMD_GUARDED_BY(mutex);
  int64_t last_shown SMD_GUARDED_BY(mutex) = -1;
};

// As PanelRun::Run() with complete steps; with `waits` it also waits for those to come, until
// the job or the range ends, and reports what rules find while none comes.  Others can use the
// panel while it waits.
Status JudgeSteps(SharedPanel &shared, Source &source, const RunRange &range, bool waits,
                  const PanelRun::Report &report, Clock &clock = Clock::System());

}  // namespace smdebug::rules
