// What a profile says as a whole, in bounded memory.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "profile_rules/metric_series.h"
#include "profile_rules/name_table.h"
#include "profile_rules/profile_reader.h"
#include "profile_rules/step_cycles.h"

namespace smdebug::profile_rules {

// For one thread at a time.
class Summary {
 public:
  explicit Summary(const NameTable *names) : names_(*names) {}

  void Add(const Events &events);
  void Finish();

  const NameTable &Names() const { return names_; }
  const std::map<NameId, WorkerSteps> &Workers() const { return workers_; }
  const std::map<SeriesKey, MetricSeries> &Series() const { return series_; }
  size_t CoresOf(NameId node) const;
  // Times of the first and the last sample or span, in seconds since 1970; 0: there is none.
  double Begin() const { return begin_; }
  double End() const { return end_; }
  // Minutes from the first sample to a time, in seconds since 1970, without those that a clock
  // jumped over; those from Begin() if there are no samples.
  double MinutesUntil(double time) const;
  int64_t EventCount() const { return event_count_; }

 private:
  void Note(double seconds);

  const NameTable &names_;
  std::map<NameId, WorkerSteps> workers_;
  std::map<SeriesKey, MetricSeries> series_;
  std::map<NameId, std::set<NameId>> cores_;
  std::set<int64_t> sampled_;  // minutes since 1970
  double begin_ = 0;
  double end_ = 0;
  int64_t event_count_ = 0;
};

}  // namespace smdebug::profile_rules
