#include "profile_rules/charts.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "profile_rules/numbers.h"
#include "profile_rules/steady_steps.h"

namespace smdebug::profile_rules {
namespace {

constexpr size_t kMostWorkers = 16;
constexpr size_t kMostPoints = 400;
constexpr size_t kFewestPoints = 50;
constexpr size_t kMostNumbers = 60'000;
constexpr size_t kMostSpans = 1'000;
constexpr size_t kMostSeries = 64;

double Rounded(double number, double steps) { return std::round(number * steps) / steps; }

// Each point is the mean of cycles that follow each other.
Json WorkerColumns(const std::string &name, const WorkerSteps &steps, size_t most) {
  const std::vector<Cycle> &cycles = steps.Cycles();
  const size_t points = std::min(cycles.size(), most);
  Json step = Json::Array();
  Json time = Json::Array();
  Json parts = Json::Array();
  for (size_t part = 0; part < kPartCount; ++part) {
    Json column = Json::Array();
    for (size_t i = 0; i < points; ++i) {
      const size_t first = i * cycles.size() / points;
      const size_t last = (i + 1) * cycles.size() / points;
      double sum = 0;
      for (size_t k = first; k < last; ++k) sum += cycles[k].parts[part];
      column.Add(Rounded(sum / 1e3 / static_cast<double>(last - first), 1e4));
    }
    parts.Add(std::move(column));
  }
  for (size_t i = 0; i < points; ++i) {
    const Cycle &cycle = cycles[i * cycles.size() / points];
    step.Add(cycle.step);
    time.Add(Rounded(cycle.start / 1e6, 1e3));
  }
  Json out = Json::Object();
  out["name"] = name;
  out["count"] = steps.CycleCount();
  out["step"] = std::move(step);
  out["time"] = std::move(time);
  out["parts"] = std::move(parts);
  return out;
}

Json SeriesColumns(const Summary &summary, const SeriesKey &key, const MetricSeries &series,
                   size_t most_points) {
  const std::vector<Bucket> all = series.Buckets();
  const size_t points = std::min(all.size(), most_points);
  Json time = Json::Array();
  Json mean = Json::Array();
  Json least = Json::Array();
  Json most = Json::Array();
  for (size_t i = 0; i < points; ++i) {
    Bucket sum;
    for (size_t k = i * all.size() / points; k < (i + 1) * all.size() / points; ++k) {
      sum.sum += all[k].sum;
      sum.sum_of_times += all[k].sum_of_times;
      sum.count += all[k].count;
      sum.least = std::min(sum.least, all[k].least);
      sum.most = std::max(sum.most, all[k].most);
    }
    time.Add(Rounded(sum.Time(), 1e3));
    mean.Add(Rounded(sum.Mean(), 1e2));
    least.Add(Rounded(sum.least, 1e2));
    most.Add(Rounded(sum.most, 1e2));
  }
  const bool is_core = key.metric == Metric::kCpuUse || key.metric == Metric::kIoWait;
  Json out = Json::Object();
  out["metric"] = MetricName(key.metric);
  out["node"] = summary.Names().NameOf(key.node);
  out["name"] = is_core ? std::string("cores") : summary.Names().NameOf(key.name);
  out["time"] = std::move(time);
  out["mean"] = std::move(mean);
  out["least"] = std::move(least);
  out["most"] = std::move(most);
  return out;
}

// The depth is the number of earlier spans that are still open.
Json FlameSpans(std::vector<Span> spans, const Cycle &cycle, const NameTable &names) {
  std::stable_sort(spans.begin(), spans.end(), [](const Span &left, const Span &right) {
    if (left.start != right.start) return left.start < right.start;
    return left.duration > right.duration;
  });
  if (spans.size() > kMostSpans) spans.resize(kMostSpans);
  std::vector<double> ends;
  std::vector<double> device_ends;
  Json out = Json::Array();
  for (const Span &span : spans) {
    std::vector<double> &open = span.is_asynchronous ? device_ends : ends;
    size_t depth = 0;
    while (depth < open.size() && open[depth] > span.start) ++depth;
    depth == open.size() ? open.push_back(span.End()) : void(open[depth] = span.End());
    Json each = Json::Object();
    each["name"] = names.NameOf(span.name);
    each["phase"] = names.NameOf(span.phase);
    each["category"] = CategoryName(span.category);
    each["start"] = Rounded((span.start - cycle.start) / 1e3, 1e4);
    each["duration"] = Rounded(span.duration / 1e3, 1e4);
    each["depth"] = depth;
    each["beside"] = span.is_asynchronous;
    out.Add(std::move(each));
  }
  return out;
}

Status AddFlame(const Summary &summary, ProfileReader *reader, NameId worker, const Cycle &cycle,
                const char *title, Json *flames) {
  const auto begin = static_cast<int64_t>(cycle.start);
  const auto length = static_cast<double>(cycle.length);
  SMD_ASSIGN_OR_RETURN(Events events, reader->Between(begin, begin + static_cast<int64_t>(length)));
  std::erase_if(events.spans, [&](const Span &span) {
    const bool is_inside = span.start >= cycle.start && span.start < cycle.start + length;
    const bool is_shown = span.category != Category::kBackground || span.is_asynchronous;
    return span.worker != worker || !is_inside || !is_shown;
  });
  Json flame = Json::Object();
  flame["title"] = title;
  flame["worker"] = summary.Names().NameOf(worker);
  flame["step"] = cycle.step;
  flame["length"] = Rounded(length / 1e3, 1e4);
  flame["spans"] = FlameSpans(std::move(events.spans), cycle, summary.Names());
  flames->Add(std::move(flame));
  return Status::Ok();
}

auto SlowestOf(std::span<const Cycle> cycles) {
  return std::max_element(cycles.begin(), cycles.end(), [](const Cycle &left, const Cycle &right) {
    return left.length < right.length;
  });
}

// A usual step and the slowest one of the worker with the most steps; of several, of the worker
// with the slowest step.
Status AddFlames(const Summary &summary, ProfileReader *reader, Json *flames) {
  const auto worker = std::max_element(
      summary.Workers().begin(), summary.Workers().end(), [](const auto &left, const auto &right) {
        const auto rank = [](const WorkerSteps &steps) {
          const std::span<const Cycle> steady = Steady(steps);
          const double slowest =
              steady.empty() ? 0 : static_cast<double>(SlowestOf(steady)->length);
          return std::pair(steps.CycleCount(), slowest);
        };
        return rank(left.second) < rank(right.second);
      });
  if (worker == summary.Workers().end()) return Status::Ok();
  const std::span<const Cycle> cycles = Steady(worker->second);
  if (cycles.empty()) return Status::Ok();
  const double median = MedianLength(cycles);
  const auto usual =
      std::min_element(cycles.begin(), cycles.end(), [&](const Cycle &left, const Cycle &right) {
        return std::abs(left.length - median) < std::abs(right.length - median);
      });
  const auto slowest = SlowestOf(cycles);
  SMD_RETURN_IF_ERROR(AddFlame(summary, reader, worker->first, *usual, "a usual step", flames));
  return AddFlame(summary, reader, worker->first, *slowest, "the slowest step", flames);
}

// Returns the number of points of each column, so that all columns have about kMostNumbers.
size_t PointsFor(const Summary &summary) {
  constexpr size_t kColumnsOfWorker = kPartCount + 2;
  constexpr size_t kColumnsOfSeries = 4;
  const size_t columns = kColumnsOfWorker * std::min(summary.Workers().size(), kMostWorkers) +
                         kColumnsOfSeries * std::min(summary.Series().size(), kMostSeries);
  return std::clamp(kMostNumbers / std::max<size_t>(columns, 1), kFewestPoints, kMostPoints);
}

}  // namespace

Result<Json> Charts(const Summary &summary, ProfileReader *reader) {
  const size_t points = PointsFor(summary);
  Json out = Json::Object();
  out["begin"] = summary.Begin();
  out["end"] = summary.End();
  Json parts = Json::Array();
  for (size_t i = 0; i < kPartCount; ++i) parts.Add(PartName(static_cast<Part>(i)));
  out["parts"] = std::move(parts);
  out["exclusive"] = kExclusiveParts;
  Json workers = Json::Array();
  for (const auto &[worker, steps] : summary.Workers()) {
    if (steps.CycleCount() == 0 || workers.Size() >= kMostWorkers) continue;
    workers.Add(WorkerColumns(summary.Names().NameOf(worker), steps, points));
  }
  out["workers"] = std::move(workers);
  Json series = Json::Array();
  for (const auto &[key, each] : summary.Series()) {
    if (series.Size() < kMostSeries) series.Add(SeriesColumns(summary, key, each, points));
  }
  out["series"] = std::move(series);
  Json flames = Json::Array();
  SMD_RETURN_IF_ERROR(AddFlames(summary, reader, &flames));
  out["flames"] = std::move(flames);
  return out;
}

}  // namespace smdebug::profile_rules
