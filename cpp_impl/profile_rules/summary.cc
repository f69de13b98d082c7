#include "profile_rules/summary.h"

#include <algorithm>
#include <iterator>

namespace smdebug::profile_rules {
namespace {

// Cycles that are kept of all workers together, and at least of each.
constexpr size_t kMostCycles = size_t{1} << 19;
constexpr size_t kLeastOfWorker = 512;
constexpr size_t kMostOfWorker = size_t{1} << 16;
constexpr size_t kMostMinutes = size_t{1} << 16;

// Patience in rules over machines is counted in buckets of a second.  A process is sampled finer,
// so that rules find leaks and contention in a few seconds.
double WidthOf(Metric metric) {
  return metric == Metric::kResident || metric == Metric::kCoreWait ? 0.1 : 1;
}

// Times of a foreign file can be any number.
int64_t MinuteOf(double seconds) {
  constexpr double kLast = 1e12;
  return seconds > -kLast && seconds < kLast ? static_cast<int64_t>(seconds / 60) : 0;
}

}  // namespace

void Summary::Note(double seconds) {
  begin_ = begin_ == 0 ? seconds : std::min(begin_, seconds);
  end_ = std::max(end_, seconds);
}

void Summary::Add(const Events &events) {
  event_count_ += static_cast<int64_t>(events.samples.size() + events.spans.size());
  for (const Sample &sample : events.samples) {
    Note(sample.time);
    if (sampled_.size() < kMostMinutes) sampled_.insert(MinuteOf(sample.time));
    SeriesKey key{sample.metric, sample.node, sample.name};
    if (sample.metric == Metric::kCpuUse || sample.metric == Metric::kIoWait) {
      cores_[sample.node].insert(sample.name);
      key.name = 0;
    }
    if (sample.metric == Metric::kOther) continue;
    series_.try_emplace(key, WidthOf(sample.metric)).first->second.Add(sample.time, sample.value);
  }
  for (const Span &span : events.spans) {
    Note(span.start / 1e6);
    Note(span.End() / 1e6);
    workers_[span.worker].Add(span);
  }
  const size_t most =
      std::clamp(kMostCycles / std::max<size_t>(1, workers_.size()), kLeastOfWorker, kMostOfWorker);
  for (auto &[worker, steps] : workers_) steps.Settle(most);
}

void Summary::Finish() {
  for (auto &[worker, steps] : workers_) steps.Finish(kMostOfWorker);
}

double Summary::MinutesUntil(double time) const {
  const double all = (time - begin_) / 60;
  if (sampled_.empty() || sampled_.size() == kMostMinutes) return all;
  const auto end = sampled_.upper_bound(MinuteOf(time));
  return std::min(all, static_cast<double>(std::distance(sampled_.begin(), end)));
}

size_t Summary::CoresOf(NameId node) const {
  const auto found = cores_.find(node);
  return found == cores_.end() ? 0 : found->second.size();
}

}  // namespace smdebug::profile_rules
