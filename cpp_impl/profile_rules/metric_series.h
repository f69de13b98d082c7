// Samples of the machine over the time of a job, in buckets.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "profile_rules/name_table.h"
#include "profile_rules/span.h"

namespace smdebug::profile_rules {

struct Bucket {
  double sum = 0;
  double sum_of_times = 0;
  int64_t count = 0;
  float least = std::numeric_limits<float>::max();
  float most = std::numeric_limits<float>::lowest();

  double Mean() const { return sum / static_cast<double>(count); }
  double Time() const { return sum_of_times / static_cast<double>(count); }
};

// Buckets become wider as time goes by.  For one thread at a time.
class MetricSeries {
 public:
  static constexpr size_t kMost = 1024;

  // `width`: seconds of a bucket at first.
  explicit MetricSeries(double width = 1) : width_(width) {}

  void Add(double time, double value);
  // Those with samples, in the order of time.
  std::vector<Bucket> Buckets() const;
  int64_t Count() const { return count_; }

 private:
  void Widen();

  std::vector<Bucket> buckets_;
  double begin_ = 0;
  double width_;  // seconds
  int64_t count_ = 0;
};

// Cores of a node share a series, whose buckets have their mean and extremes.
struct SeriesKey {
  Metric metric = Metric::kOther;
  NameId node = 0;
  NameId name = 0;  // the device; 0 for cores

  auto operator<=>(const SeriesKey &) const = default;
};

}  // namespace smdebug::profile_rules
