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

// A training that waits for cores longer than this part of its time lacks them: its steps are slow
// at random, and by as much as other programs are busy.
inline constexpr double kLacksCores = 0.15;

}  // namespace smdebug::profile_rules
