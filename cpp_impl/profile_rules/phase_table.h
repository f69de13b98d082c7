// The table of what steps spend their time on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile_rules/summary.h"

namespace smdebug::profile_rules {

// A row.  Times are in microseconds; quantiles are those of a step's time, from its beginning to
// that of the next step.
struct PhaseRow {
  std::string worker;
  std::string name;
  // "step" (the whole), "part" (parts add up to the whole), "overlap" (beside the parts), or
  // "phase" (a row of the timeline: its own time, without what is inside of it)
  std::string kind;
  int64_t count = 0;
  double share = 0;  // of the steps' time
  double total = 0;
  double p50 = 0;
  double p95 = 0;
  double p99 = 0;
  double most = 0;
};

std::vector<PhaseRow> PhaseTable(const Summary &summary);

}  // namespace smdebug::profile_rules
