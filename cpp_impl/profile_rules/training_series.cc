#include "profile_rules/training_series.h"

#include <algorithm>

#include "profile_rules/numbers.h"

namespace smdebug::profile_rules {
namespace {

// Fewer samples may all be of one moment in which another program was busy.
constexpr size_t kFewestWaits = 10;

}  // namespace

std::vector<Bucket> BucketsOfTraining(const Summary &summary, const MetricSeries &series) {
  double first = 0;
  for (const auto &[worker, steps] : summary.Workers()) {
    if (steps.FirstStep() > 0) {
      first = first == 0 ? steps.FirstStep() : std::min(first, steps.FirstStep());
    }
  }
  std::vector<Bucket> buckets = series.Buckets();
  std::erase_if(buckets, [&](const Bucket &bucket) { return bucket.Time() < first / 1e6; });
  return buckets;
}

std::vector<double> Means(const std::vector<Bucket> &buckets) {
  std::vector<double> means;
  means.reserve(buckets.size());
  for (const Bucket &bucket : buckets) means.push_back(bucket.Mean());
  return means;
}

CoreWait LongestCoreWait(const Summary &summary) {
  CoreWait longest;
  for (const auto &[key, series] : summary.Series()) {
    if (key.metric != Metric::kCoreWait) continue;
    const std::vector<double> waits = Means(BucketsOfTraining(summary, series));
    if (waits.size() < kFewestWaits) continue;
    const double share = Mean(waits) / 100;
    if (longest.samples > 0 && share <= longest.share) continue;
    longest = {key.node, share, waits.size()};
  }
  return longest;
}

}  // namespace smdebug::profile_rules
