// Rules over the samples of machines.
#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "base/strings.h"
#include "profile_rules/calibrated_rules.h"
#include "profile_rules/finding_text.h"
#include "profile_rules/numbers.h"
#include "profile_rules/steady_steps.h"
#include "profile_rules/training_series.h"
#include "profile_rules/trend.h"

namespace smdebug::profile_rules {
namespace {

constexpr int64_t kMostPatience = 1'000'000'000;
// A jump beyond 100 points never happens: the rule reports leaks only.
constexpr double kNoJump = 101;

// The series of a metric, by node and device.
template <class Visit>
void ForEach(const Summary &summary, Metric metric, Visit visit) {
  for (const auto &[key, series] : summary.Series()) {
    if (key.metric == metric) visit(key, series);
  }
}

const MetricSeries *Find(const Summary &summary, const SeriesKey &key) {
  const auto found = summary.Series().find(key);
  return found == summary.Series().end() ? nullptr : &found->second;
}

// Of the seconds in which a GPU is idle, those in which cores are busy, or wait.
class Bottleneck : public CalibratedRule {
 public:
  Bottleneck(std::string_view name, Metric metric, double threshold, double gpu, double limit,
             size_t patience)
      : CalibratedRule(name),
        metric_(metric),
        threshold_(threshold),
        gpu_(gpu),
        limit_(limit),
        patience_(patience) {}

  void Finish(const Summary &summary) override {
    ForEach(summary, metric_, [&](const SeriesKey &key, const MetricSeries &series) {
      const std::vector<Bucket> cores = BucketsOfTraining(summary, series);
      if (cores.size() < patience_) return;
      const std::map<int64_t, double> gpus = LeastUseOfGpus(summary, key.node);
      if (metric_ == Metric::kCpuUse && gpus.empty()) return;
      NoteDatapoints(cores.size());
      size_t count = 0;
      for (const Bucket &bucket : cores) {
        const auto gpu = gpus.find(static_cast<int64_t>(bucket.Time()));
        const bool is_idle = gpus.empty() || (gpu != gpus.end() && gpu->second < gpu_);
        const double load = metric_ == Metric::kCpuUse ? bucket.most : bucket.Mean();
        count += is_idle && load > limit_;
      }
      Report(summary, key.node, static_cast<double>(count) / static_cast<double>(cores.size()));
    });
  }
  std::string_view Missing() const override {
    return metric_ == Metric::kCpuUse ? "samples of cores and GPUs" : "samples of waits for I/O";
  }

 private:
  // By second.
  static std::map<int64_t, double> LeastUseOfGpus(const Summary &summary, NameId node) {
    std::map<int64_t, double> least;
    ForEach(summary, Metric::kGpuUse, [&](const SeriesKey &key, const MetricSeries &series) {
      if (key.node != node) return;
      for (const Bucket &bucket : series.Buckets()) {
        const auto second = static_cast<int64_t>(bucket.Time());
        const auto [place, is_new] = least.emplace(second, bucket.Mean());
        if (!is_new) place->second = std::min(place->second, bucket.Mean());
      }
    });
    return least;
  }

  void Report(const Summary &summary, NameId node, double share) {
    if (share * 100 <= threshold_) return;
    const bool is_cpu = metric_ == Metric::kCpuUse;
    Add("", summary.Names().NameOf(node), is_cpu ? "CPU" : "I/O", share * 100, threshold_,
        StrCat(is_cpu ? "a GPU is idle while a core is busy in " : "cores wait for I/O in ",
               PercentOf(share), " of the time; the limit is ", Fixed(threshold_, 0), " %"));
  }

  const Metric metric_;
  const double threshold_;
  const double gpu_;
  const double limit_;
  const size_t patience_;
};

// Also without a GPU: the training's own thread waits for a core.
class CpuBottleneck final : public Bottleneck {
 public:
  CpuBottleneck(double threshold, double gpu, double limit, double wait, size_t patience)
      : Bottleneck("CPUBottleneck", Metric::kCpuUse, threshold, gpu, limit, patience),
        wait_(wait) {}

  void Finish(const Summary &summary) override {
    Bottleneck::Finish(summary);
    const CoreWait wait = LongestCoreWait(summary);
    if (wait.samples == 0) return;
    NoteDatapoints(wait.samples);
    if (wait.share * 100 <= wait_) return;
    Add("contention", summary.Names().NameOf(wait.node), "CPU", wait.share * 100, wait_,
        StrCat("the training waits for a core in ", PercentOf(wait.share),
               " of its time, since other programs, or its own processes and threads, are more "
               "than there are cores; the limit is ",
               Fixed(wait_, 0), " %"));
  }
  std::string_view Missing() const override {
    return "samples of cores and GPUs, or of a process that waits for cores";
  }

 private:
  const double wait_;
};

class MemoryRise : public CalibratedRule {
 public:
  MemoryRise(std::string_view name, Metric metric, double leak, double jump)
      : CalibratedRule(name), metric_(metric), leak_(leak), jump_(jump) {}

  void Finish(const Summary &summary) override {
    ForEach(summary, metric_, [&](const SeriesKey &key, const MetricSeries &series) {
      const Rise rise = FindRise(series.Buckets(), leak_, jump_);
      if (rise.windows == 0) return;
      NoteDatapoints(static_cast<size_t>(series.Count()));
      const std::string &node = summary.Names().NameOf(key.node);
      const std::string &device = summary.Names().NameOf(key.name);
      const std::string what =
          metric_ == Metric::kGpuMemory ? StrCat("memory of ", device) : "memory of the machine";
      const std::string range = StrCat(Fixed(rise.begin, 1), " % to ", Fixed(rise.end, 1), " %");
      if (rise.is_leak) {
        const double hours = rise.per_hour > 0 ? (100 - rise.end) / rise.per_hour : 0;
        Add("leak", node, device, rise.points, leak_,
            StrCat("the ", what, " rises all the time, from ", range, ", which is ",
                   Fixed(rise.per_hour, 1), " points an hour: it is full in ", Fixed(hours, 1),
                   " hours"));
      } else if (rise.is_jump) {
        Add("jump", node, device, rise.points, jump_,
            StrCat("the ", what, " rose from ", range, " at ", TimeText(rise.time), " and stays"))
            .place.wall_seconds = rise.time;
      }
    });
  }
  std::string_view Missing() const override { return "samples of memory for a longer time"; }

 private:
  const Metric metric_;
  const double leak_;
  const double jump_;
};

// The process that samples shows a leak sooner than its machine, whose memory others use too.
class HostMemoryLeak final : public MemoryRise {
 public:
  HostMemoryLeak(double points, double process)
      : MemoryRise("HostMemoryLeak", Metric::kHostMemory, points, kNoJump), process_(process) {}

  void Finish(const Summary &summary) override {
    MemoryRise::Finish(summary);
    ForEach(summary, Metric::kResident, [&](const SeriesKey &key, const MetricSeries &series) {
      const std::vector<Bucket> buckets = BucketsOfTraining(summary, series);
      if (buckets.empty()) return;
      const double usual = buckets[buckets.size() / 10].Mean();
      const Rise rise =
          FindRise(buckets, std::max(kLeastRise, usual * process_ / 100), kNoJumpOfProcess);
      if (rise.windows == 0) return;
      NoteDatapoints(static_cast<size_t>(series.Count()));
      if (!rise.is_leak) return;
      Add("process", summary.Names().NameOf(key.node), "process", 100 * rise.points / rise.begin,
          process_,
          StrCat("the memory of the process rises all the time, from ", Fixed(rise.begin / 1e6, 0),
                 " MB to ", Fixed(rise.end / 1e6, 0), " MB, which is ",
                 Fixed(rise.per_hour / 1e9, 1), " GB an hour"));
    });
  }

 private:
  static constexpr double kLeastRise = 32e6;  // bytes: allocators keep what was freed
  static constexpr double kNoJumpOfProcess = 1e30;

  const double process_;
};

class LoadBalancing final : public CalibratedRule {
 public:
  LoadBalancing(double points, size_t patience)
      : CalibratedRule("LoadBalancing"), points_(points), patience_(patience) {}

  void Finish(const Summary &summary) override {
    std::map<NameId, std::map<NameId, std::vector<double>>> nodes;
    ForEach(summary, Metric::kGpuUse, [&](const SeriesKey &key, const MetricSeries &series) {
      std::vector<double> means = Means(BucketsOfTraining(summary, series));
      if (means.size() >= patience_) nodes[key.node][key.name] = std::move(means);
    });
    for (const auto &[node, devices] : nodes) {
      if (devices.size() < 2) continue;
      auto least = devices.begin();
      auto most = devices.begin();
      for (auto each = devices.begin(); each != devices.end(); ++each) {
        NoteDatapoints(each->second.size());
        if (Mean(each->second) < Mean(least->second)) least = each;
        if (Mean(each->second) > Mean(most->second)) most = each;
      }
      Compare(summary, node, *least, *most);
    }
  }
  std::string_view Missing() const override { return "samples of two GPUs of a node"; }

 private:
  using Device = std::pair<const NameId, std::vector<double>>;

  void Compare(const Summary &summary, NameId node, const Device &least, const Device &most) {
    const size_t count = std::min(least.second.size(), most.second.size());
    size_t agrees = 0;
    for (size_t i = 0; i < count; ++i) agrees += most.second[i] > least.second[i];
    const double low = Mean(least.second);
    const double high = Mean(most.second);
    const bool is_steady = static_cast<double>(agrees) >= 0.7 * static_cast<double>(count);
    if (high - low <= points_ || !is_steady) return;
    const std::string &idle = summary.Names().NameOf(least.first);
    Add("", summary.Names().NameOf(node), idle, high - low, points_,
        StrCat(idle, " is used to ", Fixed(low, 0), " %, ", summary.Names().NameOf(most.first),
               " to ", Fixed(high, 0), " %; they may differ by ", Fixed(points_, 0), " points"));
  }

  const double points_;
  const size_t patience_;
};

class LowGpuUtilization final : public CalibratedRule {
 public:
  LowGpuUtilization(double p95, double p5, size_t patience)
      : CalibratedRule("LowGPUUtilization"), p95_(p95), p5_(p5), patience_(patience) {}

  void Finish(const Summary &summary) override {
    ForEach(summary, Metric::kGpuUse, [&](const SeriesKey &key, const MetricSeries &series) {
      const std::vector<double> means = Means(BucketsOfTraining(summary, series));
      if (means.size() < patience_) return;
      NoteDatapoints(means.size());
      const Quantiles all(means);
      const std::string &node = summary.Names().NameOf(key.node);
      const std::string &gpu = summary.Names().NameOf(key.name);
      if (all.At(0.95) < p95_) {
        Add("low", node, gpu, all.At(0.95), p95_,
            StrCat(gpu, " is used to ", Fixed(all.At(0.95), 0),
                   " % or less in 95 % of the time; the limit is ", Fixed(p95_, 0), " %"));
      } else if (all.At(0.2) < p5_) {
        Add("fluctuation", node, gpu, all.At(0.2), p5_,
            StrCat(gpu, " is used to ", Fixed(all.At(0.2), 0),
                   " % or less in a fifth of the time; the limit is ", Fixed(p5_, 0), " %"));
      }
    });
  }
  std::string_view Missing() const override { return "samples of a GPU for a longer time"; }

 private:
  const double p95_;
  const double p5_;
  const size_t patience_;
};

// Steps so short that their fixed costs prevail, or a GPU whose use and memory are both low.
class BatchSize final : public CalibratedRule {
 public:
  BatchSize(double gpu, double memory, double shortest, size_t patience)
      : CalibratedRule("BatchSize"),
        gpu_(gpu),
        memory_(memory),
        shortest_(shortest),
        patience_(patience) {}

  void Finish(const Summary &summary) override {
    bool has_gpu = false;
    ForEach(summary, Metric::kGpuUse, [&](const SeriesKey &key, const MetricSeries &series) {
      has_gpu = true;
      const MetricSeries *memory = Find(summary, {Metric::kGpuMemory, key.node, key.name});
      const std::vector<double> use = Means(BucketsOfTraining(summary, series));
      if (memory == nullptr || use.size() < patience_) return;
      NoteDatapoints(use.size());
      const double use_p95 = QuantileOf(use, 0.95);
      const double memory_p95 = QuantileOf(Means(BucketsOfTraining(summary, *memory)), 0.95);
      if (use_p95 >= gpu_ || memory_p95 >= memory_) return;
      const std::string &gpu = summary.Names().NameOf(key.name);
      Add("gpu", summary.Names().NameOf(key.node), gpu, use_p95, gpu_,
          StrCat(gpu, " is used to ", Fixed(use_p95, 0), " % and its memory to ",
                 Fixed(memory_p95, 0), " % in 95 % of the time: a larger batch fits"));
    });
    if (!has_gpu) FinishSteps(summary);
  }
  std::string_view Missing() const override { return "samples of a GPU, or more steps"; }

 private:
  void FinishSteps(const Summary &summary) {
    for (const auto &[worker, steps] : summary.Workers()) {
      const std::span<const Cycle> cycles = Steady(steps);
      if (cycles.size() < patience_ || cycles.empty()) continue;
      NoteDatapoints(cycles.size());
      std::vector<double> computes;
      for (const Cycle &cycle : cycles) computes.push_back(cycle.Compute());
      // Fixed costs are in each step; other programs make most steps longer.
      const double compute = QuantileOf(computes, 0.1) / 1e3;
      if (compute <= 0 || compute >= shortest_) continue;
      Add("step", summary.Names().NameOf(worker), "batch", compute, shortest_,
          StrCat("forward, backward and optimizer take ", Fixed(compute, 2),
                 " ms of a fast step: fixed costs prevail below ", Fixed(shortest_, 2), " ms"));
    }
  }

  const double gpu_;
  const double memory_;
  const double shortest_;
  const size_t patience_;
};

Result<size_t> Count(const rules::Parameters &parameters, std::string_view name) {
  SMD_ASSIGN_OR_RETURN(const int64_t count, parameters.Whole(name, 1, kMostPatience));
  return static_cast<size_t>(count);
}

}  // namespace

MadeRule MakeCpuBottleneck(const rules::Parameters &parameters, const NameTable *) {
  SMD_ASSIGN_OR_RETURN(const double threshold, parameters.Number("threshold", 0, 100));
  SMD_ASSIGN_OR_RETURN(const double gpu, parameters.Number("gpu_threshold", 0, 100));
  SMD_ASSIGN_OR_RETURN(const double limit, parameters.Number("cpu_threshold", 0, 100));
  SMD_ASSIGN_OR_RETURN(const double wait, parameters.Number("wait_threshold", 0, 100));
  SMD_ASSIGN_OR_RETURN(const size_t patience, Count(parameters, "patience"));
  return MadeRule(std::make_unique<CpuBottleneck>(threshold, gpu, limit, wait, patience));
}

MadeRule MakeIoBottleneck(const rules::Parameters &parameters, const NameTable *) {
  SMD_ASSIGN_OR_RETURN(const double threshold, parameters.Number("threshold", 0, 100));
  SMD_ASSIGN_OR_RETURN(const double gpu, parameters.Number("gpu_threshold", 0, 100));
  SMD_ASSIGN_OR_RETURN(const double limit, parameters.Number("io_threshold", 0, 100));
  SMD_ASSIGN_OR_RETURN(const size_t patience, Count(parameters, "patience"));
  return MadeRule(std::make_unique<Bottleneck>("IOBottleneck", Metric::kIoWait, threshold, gpu,
                                               limit, patience));
}

MadeRule MakeGpuMemoryIncrease(const rules::Parameters &parameters, const NameTable *) {
  SMD_ASSIGN_OR_RETURN(const double increase, parameters.Number("increase", 0, 100));
  return MadeRule(
      std::make_unique<MemoryRise>("GPUMemoryIncrease", Metric::kGpuMemory, increase, increase));
}

MadeRule MakeHostMemoryLeak(const rules::Parameters &parameters, const NameTable *) {
  SMD_ASSIGN_OR_RETURN(const double increase, parameters.Number("increase", 0, 100));
  SMD_ASSIGN_OR_RETURN(const double process, parameters.Number("process_increase", 0, 1e6));
  return MadeRule(std::make_unique<HostMemoryLeak>(increase, process));
}

MadeRule MakeDeviceMemoryLeak(const rules::Parameters &parameters, const NameTable *) {
  SMD_ASSIGN_OR_RETURN(const double increase, parameters.Number("increase", 0, 100));
  return MadeRule(
      std::make_unique<MemoryRise>("DeviceMemoryLeak", Metric::kGpuMemory, increase, kNoJump));
}

MadeRule MakeLoadBalancing(const rules::Parameters &parameters, const NameTable *) {
  SMD_ASSIGN_OR_RETURN(const double points, parameters.Number("points", 0, 100));
  SMD_ASSIGN_OR_RETURN(const size_t patience, Count(parameters, "patience"));
  return MadeRule(std::make_unique<LoadBalancing>(points, patience));
}

MadeRule MakeLowGpuUtilization(const rules::Parameters &parameters, const NameTable *) {
  SMD_ASSIGN_OR_RETURN(const double p95, parameters.Number("threshold_p95", 0, 100));
  SMD_ASSIGN_OR_RETURN(const double p5, parameters.Number("threshold_p5", 0, 100));
  SMD_ASSIGN_OR_RETURN(const size_t patience, Count(parameters, "patience"));
  return MadeRule(std::make_unique<LowGpuUtilization>(p95, p5, patience));
}

MadeRule MakeBatchSize(const rules::Parameters &parameters, const NameTable *) {
  SMD_ASSIGN_OR_RETURN(const double gpu, parameters.Number("gpu_threshold_p95", 0, 100));
  SMD_ASSIGN_OR_RETURN(const double memory, parameters.Number("gpu_memory_threshold_p95", 0, 100));
  SMD_ASSIGN_OR_RETURN(const double shortest, parameters.Number("shortest_ms", 0, 1e9));
  SMD_ASSIGN_OR_RETURN(const size_t patience, Count(parameters, "patience"));
  return MadeRule(std::make_unique<BatchSize>(gpu, memory, shortest, patience));
}

}  // namespace smdebug::profile_rules
