// Trends in series of samples.
#pragma once

#include <cstddef>
#include <vector>

#include "profile_rules/metric_series.h"

namespace smdebug::profile_rules {

// How a metric rose over a job.
struct Rise {
  bool is_leak = false;  // it rises all the time
  bool is_jump = false;  // it rose at once, and stayed
  double points = 0;     // by so much
  double per_hour = 0;   // of a leak
  double begin = 0;      // values before and after
  double end = 0;
  double time = 0;     // of a jump, in seconds since 1970
  size_t windows = 0;  // that were compared; too few for an answer: 0
};

// Compares the least values of windows, so that peaks between them do not count; the first tenth,
// in which a job allocates, is left out.  `leak` and `jump` are the least rises.
Rise FindRise(const std::vector<Bucket> &buckets, double leak, double jump);

}  // namespace smdebug::profile_rules
