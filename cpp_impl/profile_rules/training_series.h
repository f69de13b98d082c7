// Samples of the machine while the job trains.
#pragma once

#include <vector>

#include "profile_rules/summary.h"

namespace smdebug::profile_rules {

// Returns the buckets of a series from the first step on, or all if there are no steps.
std::vector<Bucket> BucketsOfTraining(const Summary &summary, const MetricSeries &series);

std::vector<double> Means(const std::vector<Bucket> &buckets);

// Of the training's time, the part in which a process was ready and waited for a core.
struct CoreWait {
  NameId node = 0;
  double share = 0;
  size_t samples = 0;  // 0: not sampled, or for too short a time
};

// Returns the wait of the node where it is longest.
CoreWait LongestCoreWait(const Summary &summary);

// Returns the mean part of a range of time, in microseconds since 1970, in which processes waited
// for cores; 0 if it was not sampled.
double CoreWaitBetween(const Summary &summary, double begin, double end);

}  // namespace smdebug::profile_rules
