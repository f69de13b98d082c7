// Rules of the original over whole machines: bottlenecks of CPU and I/O, and the overall usage.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "base/strings.h"
#include "profile_rules/aws_rules.h"
#include "profile_rules/finding_text.h"
#include "profile_rules/framework_times.h"
#include "profile_rules/numbers.h"

namespace smdebug::profile_rules {
namespace {

// Readings of one snapshot are taken by threads that wake apart.
constexpr double kSnapshotSeconds = 0.02;
constexpr size_t kMostKept = 1'000'000;
constexpr int64_t kMostPatience = 1'000'000'000;

struct BottleneckKind {
  std::string_view rule;
  Metric metric;
  std::string_view limit;  // name of the parameter
  std::string_view what;
};
constexpr BottleneckKind kCpu = {"CPUBottleneck", Metric::kCpuUse, "cpu_threshold",
                                 "the GPU is idle while a core is busy"};
constexpr BottleneckKind kIo = {"IOBottleneck", Metric::kIoWait, "io_threshold",
                                "the GPU is idle while a core waits for input or output"};

// Counts snapshots in which a GPU is idle and a core is not.
class Bottleneck final : public ProfileRule {
 public:
  Bottleneck(const BottleneckKind &kind, double threshold, double gpu_limit, double limit,
             int64_t patience, const NameTable *names)
      : kind_(kind),
        threshold_(threshold),
        gpu_limit_(gpu_limit),
        limit_(limit),
        patience_(patience),
        times_(names) {}

  void Observe(const Sample &sample) override {
    if (std::abs(snapshot_ - sample.time) > kSnapshotSeconds) {
      snapshot_ = sample.time;
      ++MutableReport().datapoints;
    }
    if (sample.metric == Metric::kGpuUse && sample.value < gpu_limit_) {
      low_gpu_ += gpus_[snapshot_]++ == 0;
    } else if (sample.metric == kind_.metric && sample.value > limit_) {
      ++cores_[snapshot_];
    }
    has_decided_ = false;
  }

  void Observe(const Span &span) override {
    Decide();
    if (!has_fired_) return;
    const auto first = std::upper_bound(new_.begin(), new_.end(), span.start);
    const auto last = std::lower_bound(first, new_.end(), span.End());
    if (first < last) times_.Add(span, static_cast<double>(last - first));
  }

  bool EndScan(const Scan &) override {
    Decide();
    gpus_.clear();
    cores_.clear();
    has_decided_ = false;
    if (Report().datapoints > patience_) NoteEvaluated();
    if (!has_fired_) return false;
    ++MutableReport().triggered;
    const double share = Share();
    Findings().push_back(
        MakeFinding(kind_.rule, "", "", "", share, threshold_,
                    StrCat("in ", Fixed(share, 1), " % of ", Report().datapoints, " snapshots ",
                           kind_.what, "; more than ", Fixed(threshold_, 0), " % is the limit")));
    return true;
  }

  void WriteReport() override {
    RuleReport &report = MutableReport();
    report.violations = static_cast<int64_t>(found_.size());
    report.details["low_gpu_utilization"] = low_gpu_;
    Json bottlenecks = Json::Object();
    for (const auto &[time, counts] : found_) {
      Json each = Json::Object();
      each["GPUs"] = counts.first;
      each["CPUs"] = counts.second;
      bottlenecks[PythonNumber(time)] = std::move(each);
    }
    report.details["bottlenecks"] = std::move(bottlenecks);
    if (has_times_) times_.Write(true, &report.details);
  }

  std::string_view Missing() const override { return "more snapshots than its patience"; }

 private:
  double Share() const {
    return static_cast<double>(found_.size()) / static_cast<double>(Report().datapoints) * 100;
  }

  // Finds the snapshots in which cores are busy and GPUs are idle.  The spans that follow are
  // compared with them, so all samples come first.
  void Decide() {
    if (std::exchange(has_decided_, true)) return;
    if (found_.size() > kMostKept) found_.clear();
    new_.clear();
    for (const auto &[time, count] : cores_) {
      const auto idle = gpus_.find(time);
      if (idle == gpus_.end()) continue;
      found_[time] = {idle->second, count};
      new_.push_back(time * 1e6);
    }
    has_fired_ = Report().datapoints > patience_ && Share() > threshold_;
    if (has_fired_ && !new_.empty()) has_times_ = true;
  }

  const BottleneckKind &kind_;
  const double threshold_;
  const double gpu_limit_;
  const double limit_;
  const int64_t patience_;
  double snapshot_ = 0;
  int64_t low_gpu_ = 0;
  // Of this scan, by snapshot.
  std::map<double, int64_t> gpus_;
  std::map<double, int64_t> cores_;
  std::vector<double> new_;  // microseconds, in order
  bool has_decided_ = false;
  bool has_fired_ = false;
  std::map<double, std::pair<int64_t, int64_t>> found_;
  FrameworkTimes times_;
  bool has_times_ = false;
};

MadeRule MakeBottleneck(const BottleneckKind &kind, const rules::Parameters &parameters,
                        const NameTable *names) {
  SMD_ASSIGN_OR_RETURN(const double threshold, parameters.Number("threshold", 0, 100));
  SMD_ASSIGN_OR_RETURN(const double gpu, parameters.Number("gpu_threshold", 0, 100));
  SMD_ASSIGN_OR_RETURN(const double limit, parameters.Number(kind.limit, 0, 100));
  SMD_ASSIGN_OR_RETURN(const int64_t patience, parameters.Whole("patience", 0, kMostPatience));
  return MadeRule(std::make_unique<Bottleneck>(kind, threshold, gpu, limit, patience, names));
}

// Rounds as numpy does.
double Hundredths(double number) {
  if (!std::isfinite(number)) return number;
  return std::max(0.0, std::rint(number * 100) / 100);
}

// Sums the readings of one time over cores or devices, for each node.
class UsageByNode {
 public:
  void Add(const Sample &sample) {
    auto &[times, sums] = nodes_[sample.node];
    if (!times.empty() && times.back() == sample.time) {
      sums.back() += sample.value;
    } else if (sums.size() < kMostKept) {
      times.push_back(sample.time);
      sums.push_back(sample.value);
    }
  }
  bool IsEmpty() const { return nodes_.empty(); }
  size_t Count() const { return nodes_.begin()->second.second.size(); }
  Json ToJson(const NameTable &names, double devices) const {
    Json out = Json::Object();
    for (const auto &[node, series] : nodes_) {
      const Quantiles values(series.second);
      Json each = Json::Object();
      each["max"] = Hundredths(values.Most() / devices);
      for (const auto &[key, share] :
           {std::pair{"p99", 0.99}, std::pair{"p95", 0.95}, std::pair{"p50", 0.5}}) {
        each[key] = Hundredths(values.At(share) / devices);
      }
      each["min"] = Hundredths(values.Least() / devices);
      out[names.NameOf(node)] = std::move(each);
    }
    return out;
  }

 private:
  std::map<NameId, std::pair<std::vector<double>, std::vector<double>>> nodes_;
};

// Never reports a finding.
class OverallSystemUsage final : public ProfileRule {
 public:
  explicit OverallSystemUsage(const NameTable *names) : names_(*names) {}

  void Observe(const Sample &sample) override {
    if (sample.metric == Metric::kGpuUse) gpus_.insert(sample.name);
    if (sample.metric == Metric::kCpuUse) cores_.insert(sample.name);
    usage_[static_cast<size_t>(sample.metric)].Add(sample);
    NoteEvaluated();
  }

  void WriteReport() override {
    const UsageByNode &cpu = Of(Metric::kCpuUse);
    if (!cpu.IsEmpty()) MutableReport().datapoints = static_cast<int64_t>(cpu.Count());
    Json &details = MutableReport().details;
    const auto gpus = static_cast<double>(gpus_.size());
    const auto cores = static_cast<double>(cores_.size());
    details["Network"] = Of(Metric::kNetwork).ToJson(names_, 1);
    details["GPU"] = Of(Metric::kGpuUse).ToJson(names_, gpus);
    details["CPU"] = Of(Metric::kCpuUse).ToJson(names_, cores);
    details["CPU memory"] = Of(Metric::kHostMemory).ToJson(names_, 1);
    details["GPU memory"] = Of(Metric::kGpuMemory).ToJson(names_, gpus);
    details["I/O"] = Of(Metric::kIoWait).ToJson(names_, cores);
  }

  std::string_view Missing() const override { return "system metrics"; }

 private:
  const UsageByNode &Of(Metric metric) const { return usage_[static_cast<size_t>(metric)]; }

  const NameTable &names_;
  std::set<NameId> gpus_;
  std::set<NameId> cores_;
  UsageByNode usage_[kMetricCount];
};

}  // namespace

MadeRule MakeAwsCpuBottleneck(const rules::Parameters &parameters, const NameTable *names) {
  return MakeBottleneck(kCpu, parameters, names);
}

MadeRule MakeAwsIoBottleneck(const rules::Parameters &parameters, const NameTable *names) {
  return MakeBottleneck(kIo, parameters, names);
}

MadeRule MakeOverallSystemUsage(const rules::Parameters &, const NameTable *names) {
  return MadeRule(std::make_unique<OverallSystemUsage>(names));
}

}  // namespace smdebug::profile_rules
