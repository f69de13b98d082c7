#include "profile_rules/step_cycles.h"

#include <algorithm>
#include <utility>

namespace smdebug::profile_rules {
namespace {

// Spans that wait for the end of their cycle.  Jobs without steps have no cycles.
constexpr size_t kMostPending = 2'000'000;

Part PartOf(Category category) {
  switch (category) {
    case Category::kDataWait: return Part::kDataWait;
    case Category::kForward: return Part::kForward;
    case Category::kBackward: return Part::kBackward;
    case Category::kOptimizer: return Part::kOptimizer;
    case Category::kCommunication: return Part::kCommunication;
    case Category::kCheckpoint: return Part::kCheckpoint;
    case Category::kStep: return Part::kRest;
    default: return Part::kHost;
  }
}

bool IsCompute(Category category) {
  return category == Category::kForward || category == Category::kBackward ||
         category == Category::kOptimizer;
}

// Intervals that do not touch each other, in order.
class Intervals {
 public:
  // In the order of their begins.
  void Add(double begin, double end) {
    if (end <= begin) return;
    if (!all_.empty() && begin <= all_.back().second) {
      all_.back().second = std::max(all_.back().second, end);
    } else {
      all_.emplace_back(begin, end);
    }
  }
  bool IsEmpty() const { return all_.empty(); }
  double Length() const {
    double sum = 0;
    for (const auto &[begin, end] : all_) sum += end - begin;
    return sum;
  }
  double Overlap(const Intervals &other) const {
    double sum = 0;
    size_t i = 0;
    size_t k = 0;
    while (i < all_.size() && k < other.all_.size()) {
      const double begin = std::max(all_[i].first, other.all_[k].first);
      const double end = std::min(all_[i].second, other.all_[k].second);
      sum += std::max(0.0, end - begin);
      all_[i].second < other.all_[k].second ? ++i : ++k;
    }
    return sum;
  }

 private:
  std::vector<std::pair<double, double>> all_;
};

bool StartsBefore(const Span &left, const Span &right) {
  if (left.start != right.start) return left.start < right.start;
  return left.duration > right.duration;
}

}  // namespace

std::string_view PartName(Part part) {
  constexpr std::array<std::string_view, kPartCount> kNames = {
      "data wait",     "forward",     "backward", "optimizer",
      "communication", "checkpoint",  "host",     "rest of the step",
      "between steps", "device busy", "exchange", "exposed exchange"};
  return kNames[static_cast<size_t>(part)];
}

void WorkerSteps::Settle(size_t most) {
  std::stable_sort(pending_.begin(), pending_.end(), StartsBefore);
  const auto last = std::find_if(pending_.rbegin(), pending_.rend(),
                                 [](const Span &span) { return span.category == Category::kStep; });
  if (last != pending_.rend()) {
    CloseUntil(static_cast<size_t>(pending_.rend() - last) - 1, most);
  } else if (pending_.size() > kMostPending) {
    CloseUntil(pending_.size(), most);
  }
}

void WorkerSteps::Finish(size_t most) {
  Settle(most);
  CloseUntil(pending_.size(), most);
}

// Closes all cycles of the first `end` pending spans.  The span at `end`, if there is one, begins
// the next cycle.
void WorkerSteps::CloseUntil(size_t end, size_t most) {
  size_t step = SIZE_MAX;
  const std::span<const Span> all(pending_);
  const auto count = [&](size_t from, size_t to, double until) {
    if (step != SIZE_MAX) return Close(all[step], all.subspan(from, to - from), until, most);
    Cycle ignored;
    if (to > from) Sweep(all[from], all.subspan(from, to - from), all[from].start, &ignored);
  };
  size_t from = 0;
  for (size_t i = 0; i < end; ++i) {
    if (first_span_ == 0) first_span_ = all[i].start;
    last_span_ = std::max(last_span_, all[i].End());
    if (all[i].category != Category::kStep) continue;
    // A step inside a step belongs to it.
    if (step != SIZE_MAX && all[i].start < all[step].End() - all[step].duration / 2) continue;
    count(from, i, all[i].start);
    from = step = i;
  }
  if (end > from) {
    const bool has_next = end < all.size();
    count(from, end, has_next ? all[end].start : step == SIZE_MAX ? 0 : all[step].End());
  }
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(end));
}

void WorkerSteps::Close(const Span &step, std::span<const Span> spans, double end, size_t most) {
  // What came too late, or out of order.
  if (step.start < last_start_) return;
  last_start_ = step.start;
  if (first_step_ == 0) first_step_ = step.start;
  Cycle cycle;
  cycle.step = step.step;
  cycle.start = step.start;
  cycle.phase = step.phase;
  cycle.length = static_cast<float>(std::max(0.0, end - step.start));
  cycle.step_length = static_cast<float>(step.duration);
  Sweep(step, spans, end, &cycle);
  length_ += cycle.length;
  for (size_t i = 0; i < kPartCount; ++i) sums_[i] += cycle.parts[i];
  Keep(cycle, most);
}

void WorkerSteps::Credit(const Span &span, double time, Cycle *cycle) {
  phases_[span.phase].self += time;
  cycle->parts[static_cast<size_t>(PartOf(span.category))] += static_cast<float>(time);
}

// Each moment from the beginning of the first span to `end` belongs to the open span that began
// last.
void WorkerSteps::Sweep(const Span &step, std::span<const Span> spans, double end, Cycle *cycle) {
  std::vector<const Span *> open;
  Intervals device;
  Intervals exchange;
  Intervals compute;
  double now = step.start;
  const auto advance = [&](double until) {
    while (now < until && !open.empty()) {
      const Span &owner = *open.back();
      if (owner.End() <= now) {
        open.pop_back();
        continue;
      }
      const double next = std::min(owner.End(), until);
      Credit(owner, next - now, cycle);
      now = next;
    }
    if (now < until)
      cycle->parts[static_cast<size_t>(Part::kIdle)] += static_cast<float>(until - now);
    now = std::max(now, until);
  };
  for (const Span &span : spans) {
    PhaseTime &phase = phases_[span.phase];
    phase.category = span.category;
    ++phase.count;
    phase.total += span.duration;
    if (span.is_asynchronous || span.category == Category::kBackground) {
      phase.self += span.duration;
      Intervals &row = span.category == Category::kCommunication ? exchange : device;
      if (span.is_asynchronous) row.Add(span.start, std::min(span.End(), end));
      continue;
    }
    if (IsCompute(span.category)) compute.Add(span.start, std::min(span.End(), end));
    advance(std::min(span.start, end));
    open.push_back(&span);
  }
  advance(end);
  const double exchanged = exchange.Length();
  const double hidden = exchange.Overlap(device.IsEmpty() ? compute : device);
  cycle->parts[static_cast<size_t>(Part::kDeviceBusy)] = static_cast<float>(device.Length());
  cycle->parts[static_cast<size_t>(Part::kExchange)] = static_cast<float>(exchanged);
  cycle->parts[static_cast<size_t>(Part::kExposedExchange)] =
      static_cast<float>(exchanged - hidden);
}

void WorkerSteps::Keep(const Cycle &cycle, size_t most) {
  if (cycle_count_++ % stride_ == 0) cycles_.push_back(cycle);
  if (cycles_.size() <= most) return;
  size_t kept = 0;
  for (size_t i = 0; i < cycles_.size(); i += 2) cycles_[kept++] = cycles_[i];
  cycles_.resize(kept);
  stride_ *= 2;
}

}  // namespace smdebug::profile_rules
