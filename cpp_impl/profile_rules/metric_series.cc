#include "profile_rules/metric_series.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace smdebug::profile_rules {
namespace {

void Merge(const Bucket &from, Bucket *to) {
  to->sum += from.sum;
  to->sum_of_times += from.sum_of_times;
  to->count += from.count;
  to->least = std::min(to->least, from.least);
  to->most = std::max(to->most, from.most);
}

}  // namespace

void MetricSeries::Widen() {
  for (size_t i = 0; i < buckets_.size(); ++i) {
    const Bucket each = buckets_[i];
    if (i % 2 == 0) {
      buckets_[i / 2] = each;
    } else {
      Merge(each, &buckets_[i / 2]);
    }
  }
  buckets_.resize((buckets_.size() + 1) / 2);
  width_ *= 2;
}

void MetricSeries::Add(double time, double value) {
  if (count_++ == 0) begin_ = time;
  // Samples of a clock that was set back count for the first bucket.
  double place = std::max(0.0, std::floor((time - begin_) / width_));
  // A clock that jumps by years would otherwise widen the buckets so much that all are one.
  if (place > static_cast<double>(kMost) * 1024) return;
  while (place >= static_cast<double>(kMost)) {
    Widen();
    place = std::floor((time - begin_) / width_);
  }
  const auto index = static_cast<size_t>(place);
  if (index >= buckets_.size()) buckets_.resize(index + 1);
  Bucket &bucket = buckets_[index];
  bucket.sum += value;
  bucket.sum_of_times += time;
  ++bucket.count;
  bucket.least = std::min(bucket.least, static_cast<float>(value));
  bucket.most = std::max(bucket.most, static_cast<float>(value));
}

std::vector<Bucket> MetricSeries::Buckets() const {
  std::vector<Bucket> filled;
  std::copy_if(buckets_.begin(), buckets_.end(), std::back_inserter(filled),
               [](const Bucket &bucket) { return bucket.count > 0; });
  return filled;
}

}  // namespace smdebug::profile_rules
