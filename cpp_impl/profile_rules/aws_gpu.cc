// Rules of the original over GPUs.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "profile_rules/aws_rules.h"
#include "profile_rules/finding_text.h"
#include "profile_rules/numbers.h"

namespace smdebug::profile_rules {
namespace {

constexpr size_t kMostKept = 1'000'000;
constexpr int64_t kMostPatience = 1'000'000'000;

using Values = std::vector<double>;
using ByDevice = std::map<NameId, Values>;
using ByNode = std::map<NameId, ByDevice>;

// Adds a value; of a series without end, the older half is dropped.
void Keep(double value, Values *values) {
  if (values->size() >= kMostKept) {
    values->erase(values->begin(), values->begin() + static_cast<std::ptrdiff_t>(kMostKept / 2));
  }
  values->push_back(value);
}

class LowGpuUtilization final : public ProfileRule {
 public:
  LowGpuUtilization(double p95, double p5, size_t window, size_t patience, const NameTable *names)
      : p95_(p95), p5_(p5), window_(window), patience_(patience), names_(*names) {}

  void Observe(const Sample &sample) override {
    if (sample.metric == Metric::kGpuUse) Keep(sample.value, &values_[sample.node][sample.name]);
  }

  bool EndScan(const Scan &scan) override {
    bool has_fired = false;
    for (const auto &[node, devices] : values_) {
      for (const auto &[device, values] : devices) {
        MutableReport().datapoints = static_cast<int64_t>(values.size());
        if (values.size() <= patience_) continue;
        NoteEvaluated();
        const Quantiles window(Last(values, window_));
        const double high = window.At(0.95);
        const double low = window.At(0.05);
        const bool is_low = high < p95_;
        if (!is_low && !(high > p95_ && low < p5_)) continue;
        has_fired = true;
        Note(scan, node, device, values, high, low, is_low);
      }
    }
    return has_fired;
  }

  std::string_view Missing() const override { return "more samples of a GPU than its patience"; }

 private:
  void Note(const Scan &scan, NameId node, NameId device, const Values &values, double high,
            double low, bool is_low) {
    RuleReport &report = MutableReport();
    ++report.triggered;
    ++report.violations;
    const std::string &machine = names_.NameOf(node);
    const std::string &gpu = names_.NameOf(device);
    Json each = Json::Object();
    const Quantiles all(values);
    each["gpu_max"] = all.Most();
    each["gpu_95"] = high;
    each["gpu_5"] = low;
    AddBoxPlot(all, all.At(0.25), &each);
    report.details[machine][gpu] = std::move(each);
    report.details["last_timestamp"] = scan.begin;
    std::string message =
        is_low ? StrCat(gpu, " is used to ", Fixed(high, 1), " % or less in 95 % of the last ",
                        window_, " samples; the limit is ", Fixed(p95_, 0), " %")
               : StrCat(gpu, " fluctuates: in 5 % of the last ", window_, " samples it is used to ",
                        Fixed(low, 1), " % or less; the limit is ", Fixed(p5_, 0), " %");
    Findings().push_back(MakeFinding("LowGPUUtilization", is_low ? "low" : "fluctuation", machine,
                                     gpu, is_low ? high : low, is_low ? p95_ : p5_,
                                     std::move(message)));
  }

  const double p95_;
  const double p5_;
  const size_t window_;
  const size_t patience_;
  const NameTable &names_;
  ByNode values_;
};

class BatchSize final : public ProfileRule {
 public:
  BatchSize(double cpu, double gpu, double memory, size_t window, size_t patience,
            const NameTable *names)
      : cpu_limit_(cpu),
        gpu_limit_(gpu),
        memory_limit_(memory),
        window_(window),
        patience_(patience),
        names_(*names) {}

  void Observe(const Sample &sample) override {
    if (sample.metric == Metric::kGpuMemory) Keep(sample.value, &memory_[sample.node][sample.name]);
    if (sample.metric == Metric::kGpuUse) Keep(sample.value, &gpu_[sample.node][sample.name]);
    if (sample.metric == Metric::kCpuUse) {
      cores_[sample.node][sample.name].push_back(sample.value);
    }
  }

  bool EndScan(const Scan &scan) override {
    for (auto &[node, cores] : cores_) AddMeans(node, &cores);
    bool has_fired = false;
    for (const auto &[node, cpu] : cpu_) {
      MutableReport().datapoints = static_cast<int64_t>(cpu.size());
      if (cpu.size() <= window_ || cpu.size() <= patience_) continue;
      NoteEvaluated();
      const double cpu_p95 = QuantileOf(Last(cpu, window_), 0.95);
      if (cpu_p95 >= cpu_limit_) continue;
      for (const auto &[device, values] : gpu_[node]) {
        const Values &memory = memory_[node][device];
        if (values.size() <= window_ || memory.empty()) continue;
        const double p95 = QuantileOf(Last(values, window_), 0.95);
        if (p95 >= gpu_limit_ || QuantileOf(Last(memory, window_), 0.95) >= memory_limit_) continue;
        has_fired = true;
        Note(scan, node, device, p95);
      }
    }
    return has_fired;
  }

  std::string_view Missing() const override {
    return "more samples of cores than its window and its patience";
  }

 private:
  // The mean over cores, for each time.
  void AddMeans(NameId node, ByDevice *cores) {
    size_t count = SIZE_MAX;
    for (const auto &[core, values] : *cores) count = std::min(count, values.size());
    for (size_t i = 0; i < count; ++i) {
      double sum = 0;
      for (const auto &[core, values] : *cores) sum += values[i];
      Keep(sum / static_cast<double>(cores->size()), &cpu_[node]);
    }
    for (auto &[core, values] : *cores) values.clear();
  }

  void Note(const Scan &scan, NameId node, NameId device, double p95) {
    RuleReport &report = MutableReport();
    ++report.triggered;
    ++report.violations;
    const std::string &machine = names_.NameOf(node);
    const std::string &gpu = names_.NameOf(device);
    Json &details = report.details[machine];
    const Quantiles cpu(cpu_[node]);
    const Quantiles use(gpu_[node][device]);
    const Quantiles memory(memory_[node][device]);
    details["cpu"] = Json::Object();
    AddBoxPlot(cpu, cpu.At(0.25), &details["cpu"]);
    details[gpu] = Json::Object();
    AddBoxPlot(use, use.At(0.25), &details[gpu]);
    // The original's box of the memory begins at the quartile of the use.
    const std::string key = StrCat(gpu, "_memory");
    details[key] = Json::Object();
    AddBoxPlot(memory, use.At(0.25), &details[key]);
    report.details["last_timestamp"] = scan.begin;
    Findings().push_back(MakeFinding("BatchSize", "", machine, gpu, p95, gpu_limit_,
                                     StrCat("CPU, memory and use of ", gpu, " (", Fixed(p95, 1),
                                            " %) are below their limits in "
                                            "95 % of the last ",
                                            window_, " samples: the batch may be too small")));
  }

  const double cpu_limit_;
  const double gpu_limit_;
  const double memory_limit_;
  const size_t window_;
  const size_t patience_;
  const NameTable &names_;
  ByNode memory_;
  ByNode gpu_;
  ByNode cores_;  // of this scan
  std::map<NameId, Values> cpu_;
};

// Compares the mean of the last window with that of the window before, at each sample.  The
// original compares windows that overlap but for two samples, which no rise but one of about 50
// points within a sample exceeds.
class GpuMemoryIncrease final : public ProfileRule {
 public:
  GpuMemoryIncrease(double increase, size_t window, size_t patience, const NameTable *names)
      : increase_(increase), window_(window), patience_(patience), names_(*names) {}

  void Observe(const Sample &sample) override {
    if (sample.metric != Metric::kGpuMemory) return;
    Values &values = values_[sample.node][sample.name];
    Keep(sample.value, &values);
    MutableReport().datapoints = static_cast<int64_t>(values.size());
    if (values.size() < 2 * window_ || values.size() <= patience_) return;
    NoteEvaluated();
    const std::span<const double> all(values);
    const double before = Mean(all.subspan(values.size() - 2 * window_, window_));
    const double rise = Mean(all.last(window_)) - before;
    if (rise > increase_) Note(sample, rise);
  }

  bool EndScan(const Scan &scan) override {
    for (const auto &[place, rise] : rises_) {
      const std::string &gpu = names_.NameOf(place.second);
      const Values &values = values_[place.first][place.second];
      Json each = Json::Object();
      const Quantiles all(values);
      each["increase"] = rise;
      each["gpu_max"] = all.Most();
      each["p05"] = all.At(0.05);
      AddBoxPlot(all, all.At(0.25), &each);
      MutableReport().details[names_.NameOf(place.first)][gpu] = std::move(each);
      MutableReport().details["last_timestamp"] = scan.begin;
    }
    const bool has_fired = !rises_.empty();
    rises_.clear();
    return has_fired;
  }

  std::string_view Missing() const override { return "more samples of a GPU than its patience"; }

 private:
  // One rise lasts for many samples.
  void Note(const Sample &sample, double rise) {
    ++MutableReport().triggered;
    ++MutableReport().violations;
    const bool is_new = rises_.insert_or_assign({sample.node, sample.name}, rise).second;
    if (!is_new) return;
    const std::string &gpu = names_.NameOf(sample.name);
    Findings().push_back(
        MakeFinding("GPUMemoryIncrease", "", names_.NameOf(sample.node), gpu, rise, increase_,
                    StrCat("the memory of ", gpu, " rose by ", Fixed(rise, 1),
                           " points from one window to the next, to ", Fixed(sample.value, 1),
                           " % at ", TimeText(sample.time))));
    Findings().back().place.wall_seconds = sample.time;
  }

  const double increase_;
  const size_t window_;
  const size_t patience_;
  const NameTable &names_;
  ByNode values_;
  std::map<std::pair<NameId, NameId>, double> rises_;  // of this scan, by node and device
};

constexpr size_t kLoadBins = 50;
using LoadHistogram = std::array<double, kLoadBins>;

// The square root of the Jensen-Shannon divergence.
double Distance(const LoadHistogram &left, const LoadHistogram &right) {
  double left_sum = 0;
  double right_sum = 0;
  for (size_t i = 0; i < kLoadBins; ++i) {
    left_sum += left[i];
    right_sum += right[i];
  }
  double sum = 0;
  for (size_t i = 0; i < kLoadBins; ++i) {
    const double p = left[i] / left_sum;
    const double q = right[i] / right_sum;
    const double middle = (p + q) / 2;
    if (p > 0) sum += p * std::log(p / middle);
    if (q > 0) sum += q * std::log(q / middle);
  }
  return std::sqrt(std::max(0.0, sum / 2));
}

Json ToJson(const LoadHistogram &histogram) {
  Json out = Json::Array();
  for (const double count : histogram) out.Add(static_cast<int64_t>(count));
  return out;
}

// Compares every pair of GPUs of a node; the original compares none.
class LoadBalancing final : public ProfileRule {
 public:
  LoadBalancing(double threshold, int64_t patience, const NameTable *names)
      : threshold_(threshold), patience_(patience), names_(*names) {}

  void Observe(const Sample &sample) override {
    if (sample.metric != Metric::kGpuUse) return;
    auto &[histogram, count] = loads_[sample.node][sample.name];
    const double bin = std::clamp(sample.value, 0.0, 100.0) / 2;
    histogram[std::min(static_cast<size_t>(bin), kLoadBins - 1)] += 1;
    MutableReport().datapoints = ++count;
  }

  bool EndScan(const Scan &) override {
    bool has_fired = false;
    for (const auto &[node, devices] : loads_) {
      for (auto left = devices.begin(); left != devices.end(); ++left) {
        for (auto right = std::next(left); right != devices.end(); ++right) {
          has_fired |= Compare(node, *left, *right);
        }
      }
    }
    return has_fired;
  }

  std::string_view Missing() const override {
    return "more samples of two GPUs of a node than its patience";
  }

 private:
  using Load = std::pair<LoadHistogram, int64_t>;

  bool Compare(NameId node, const std::pair<const NameId, Load> &left,
               const std::pair<const NameId, Load> &right) {
    if (left.second.second <= patience_ || right.second.second <= patience_) return false;
    NoteEvaluated();
    const double distance = Distance(left.second.first, right.second.first);
    if (distance <= threshold_) return false;
    RuleReport &report = MutableReport();
    ++report.triggered;
    ++report.violations;
    const std::string &machine = names_.NameOf(node);
    const std::string &one = names_.NameOf(left.first);
    const std::string &other = names_.NameOf(right.first);
    Json &details = report.details[machine];
    details["workloads"][one] = ToJson(left.second.first);
    details["workloads"][other] = ToJson(right.second.first);
    details["distances"][one][other] = distance;
    Findings().push_back(
        MakeFinding("LoadBalancing", "", machine, StrCat(one, ", ", other), distance, threshold_,
                    StrCat("the loads of ", one, " and ", other, " differ by ", Fixed(distance, 2),
                           "; the limit is ", Fixed(threshold_, 2))));
    return true;
  }

  const double threshold_;
  const int64_t patience_;
  const NameTable &names_;
  std::map<NameId, std::map<NameId, Load>> loads_;
};

Result<size_t> Count(const rules::Parameters &parameters, std::string_view name, int64_t least) {
  SMD_ASSIGN_OR_RETURN(const int64_t count, parameters.Whole(name, least, kMostPatience));
  return static_cast<size_t>(count);
}

}  // namespace

MadeRule MakeAwsLowGpuUtilization(const rules::Parameters &parameters, const NameTable *names) {
  SMD_ASSIGN_OR_RETURN(const double p95, parameters.Number("threshold_p95", 0, 100));
  SMD_ASSIGN_OR_RETURN(const double p5, parameters.Number("threshold_p5", 0, 100));
  SMD_ASSIGN_OR_RETURN(const size_t window, Count(parameters, "window", 1));
  SMD_ASSIGN_OR_RETURN(const size_t patience, Count(parameters, "patience", 0));
  return MadeRule(std::make_unique<LowGpuUtilization>(p95, p5, window, patience, names));
}

MadeRule MakeAwsBatchSize(const rules::Parameters &parameters, const NameTable *names) {
  SMD_ASSIGN_OR_RETURN(const double cpu, parameters.Number("cpu_threshold_p95", 0, 100));
  SMD_ASSIGN_OR_RETURN(const double gpu, parameters.Number("gpu_threshold_p95", 0, 100));
  SMD_ASSIGN_OR_RETURN(const double memory, parameters.Number("gpu_memory_threshold_p95", 0, 100));
  SMD_ASSIGN_OR_RETURN(const size_t window, Count(parameters, "window", 1));
  SMD_ASSIGN_OR_RETURN(const size_t patience, Count(parameters, "patience", 0));
  return MadeRule(std::make_unique<BatchSize>(cpu, gpu, memory, window, patience, names));
}

MadeRule MakeAwsGpuMemoryIncrease(const rules::Parameters &parameters, const NameTable *names) {
  SMD_ASSIGN_OR_RETURN(const double increase, parameters.Number("increase", 0, 100));
  SMD_ASSIGN_OR_RETURN(const size_t window, Count(parameters, "window", 1));
  SMD_ASSIGN_OR_RETURN(const size_t patience, Count(parameters, "patience", 0));
  return MadeRule(std::make_unique<GpuMemoryIncrease>(increase, window, patience, names));
}

MadeRule MakeAwsLoadBalancing(const rules::Parameters &parameters, const NameTable *names) {
  SMD_ASSIGN_OR_RETURN(const double threshold, parameters.Number("threshold", 0, 1));
  SMD_ASSIGN_OR_RETURN(const size_t patience, Count(parameters, "patience", 0));
  return MadeRule(
      std::make_unique<LoadBalancing>(threshold, static_cast<int64_t>(patience), names));
}

}  // namespace smdebug::profile_rules
