// Rules over the steps of workers.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/strings.h"
#include "profile_rules/calibrated_rules.h"
#include "profile_rules/finding_text.h"
#include "profile_rules/numbers.h"
#include "profile_rules/steady_steps.h"
#include "profile_rules/training_series.h"

namespace smdebug::profile_rules {
namespace {

constexpr std::string_view kNeedsSteps = "more steps after the warm-up";
constexpr int64_t kMostPatience = 1'000'000'000;

// A rule that looks at the steady steps of each worker.
class WorkerRule : public CalibratedRule {
 public:
  WorkerRule(std::string_view name, size_t patience) : CalibratedRule(name), patience_(patience) {}

  void Finish(const Summary &summary) override {
    for (const auto &[worker, steps] : summary.Workers()) {
      const std::span<const Cycle> cycles = Steady(steps);
      if (cycles.size() < patience_ || cycles.empty()) continue;
      NoteDatapoints(cycles.size());
      Evaluate(summary, worker, cycles);
    }
  }
  std::string_view Missing() const override { return kNeedsSteps; }

 protected:
  virtual void Evaluate(const Summary &summary, NameId worker, std::span<const Cycle> cycles) = 0;
  size_t Patience() const { return patience_; }

 private:
  const size_t patience_;
};

// Does not report what cannot be helped: short waits, which are about what it costs to pass a batch
// from another process, and waits of a training that lacks cores while its loader is idle.
class DataLoaderStarves final : public WorkerRule {
 public:
  DataLoaderStarves(double share, double shortest, size_t patience)
      : WorkerRule("DataLoaderStarves", patience), share_(share), shortest_(shortest) {}

 private:
  void Evaluate(const Summary &summary, NameId worker, std::span<const Cycle> cycles) override {
    const double share = ShareOf(cycles, Part::kDataWait);
    if (share <= share_) return;
    const double core_wait = LongestCoreWait(summary).share;
    const double wait = Mean(PartsOf(cycles, Part::kDataWait)) / 1e3;
    if (wait * (1 - core_wait) < shortest_) return;
    if (core_wait > kLacksCores && IsLoaderIdle(summary)) return;
    Add("", summary.Names().NameOf(worker), "data wait", share, share_,
        StrCat("steps wait for data in ", PercentOf(share), " of their time, ", Fixed(wait, 1),
               " ms of each; the limit is ", PercentOf(share_)));
  }

  // The processes of a loader that is too slow fetch all the time.
  static bool IsLoaderIdle(const Summary &summary) {
    double fetched = 0;
    double lived = 0;
    for (const auto &[worker, steps] : summary.Workers()) {
      for (const auto &[phase, time] : steps.Phases()) {
        if (summary.Names().NameOf(phase) != "DataLoaderWorker") continue;
        fetched += time.total;
        lived += steps.LastSpan() - steps.FirstSpan();
      }
    }
    return lived > 0 && fetched < kBusy * lived;
  }

  static constexpr double kBusy = 0.8;

  const double share_;
  const double shortest_;
};

class StepTimeSplit final : public WorkerRule {
 public:
  StepTimeSplit(double host, double device, size_t patience)
      : WorkerRule("StepTimeSplit", patience), host_(host), device_(device) {}

 private:
  void Evaluate(const Summary &summary, NameId worker, std::span<const Cycle> cycles) override {
    const std::string &name = summary.Names().NameOf(worker);
    // By medians: single stalls are the subject of other rules.
    const double length = MedianLength(cycles);
    if (length <= 0) return;
    const auto share = [&](Part part) { return MedianOf(cycles, part) / length; };
    const double named = share(Part::kHost);
    const double rest = LeastRest(summary) / length;
    const double idle = share(Part::kIdle);
    const double host = named + rest + idle;
    if (host > host_) {
      const Part largest = named >= rest && named >= idle ? Part::kHost
                           : rest >= idle                 ? Part::kRest
                                                          : Part::kIdle;
      const std::string culprit = largest == Part::kHost ? LargestHostPhase(summary, worker)
                                                         : std::string(PartName(largest));
      Add("host", name, culprit, host, host_,
          StrCat("work of the host outside of forward, backward, optimizer, data and communication "
                 "takes ",
                 PercentOf(host), " of a step, most of it in '", culprit, "'; the limit is ",
                 PercentOf(host_)));
      return;
    }
    const double busy = share(Part::kDeviceBusy);
    const double waits = share(Part::kDataWait) + share(Part::kCommunication);
    if (busy > 0 && busy + waits < device_) {
      Add("device", name, "device", busy, device_,
          StrCat("the device works in ", PercentOf(busy),
                 " of a step, and waits for the host in the rest; the limit is ",
                 PercentOf(device_)));
    }
  }

  // Of workers that wait for each other, a fast one may wait in the rest of its step, as
  // DistributedDataParallel does when it broadcasts buffers.  The slow one is a straggler.
  double LeastRest(const Summary &summary) const {
    double least = std::numeric_limits<double>::max();
    for (const auto &[worker, steps] : summary.Workers()) {
      const std::span<const Cycle> cycles = Steady(steps);
      if (cycles.size() >= Patience()) least = std::min(least, MedianOf(cycles, Part::kRest));
    }
    return least;
  }

  static std::string LargestHostPhase(const Summary &summary, NameId worker) {
    const PhaseTime *largest = nullptr;
    NameId name = 0;
    for (const auto &[phase, time] : summary.Workers().at(worker).Phases()) {
      if (time.category != Category::kHost) continue;
      if (largest == nullptr || time.self > largest->self) {
        largest = &time;
        name = phase;
      }
    }
    return largest == nullptr ? std::string() : summary.Names().NameOf(name);
  }

  const double host_;
  const double device_;
};

class StepTimeDrift final : public WorkerRule {
 public:
  StepTimeDrift(double factor, size_t patience)
      : WorkerRule("StepTimeDrift", patience), factor_(factor) {}

 private:
  void Evaluate(const Summary &summary, NameId worker, std::span<const Cycle> cycles) override {
    const size_t part = cycles.size() * 3 / 10;
    const auto early = cycles.first(part);
    const auto late = cycles.last(part);
    const Quantiles before(Lengths(early));
    const Quantiles after(Lengths(late));
    // Other programs slow down all parts; that is no drift.
    const bool lacks_cores = LongestCoreWait(summary).share > kLacksCores;
    const double ratio =
        after.At(0.5) / std::max(1.0, before.At(0.5)) / (lacks_cores ? Slowdown(early, late) : 1);
    // The quarters must not overlap: steps of different lengths are no drift.
    if (ratio <= factor_ || after.At(0.25) <= before.At(0.75)) return;
    const Growth growth = LargestGrowth(early, late);
    const double share = (after.At(0.5) - before.At(0.5)) / after.At(0.5);
    auto &finding =
        Add("", summary.Names().NameOf(worker), PartName(growth.part), ratio, factor_,
            StrCat("steps became ", Fixed(ratio, 2), " times as long, from ",
                   Duration(before.At(0.5)), " to ", Duration(after.At(0.5)), ", most of it in ",
                   PartName(growth.part), " (", PercentOf(share), " of a step is new)"));
    finding.place.step = late.front().step;
  }

  // The factor by which the time without the part that grew most became longer.
  static double Slowdown(std::span<const Cycle> early, std::span<const Cycle> late) {
    const Part part = LargestGrowth(early, late).part;
    const auto others = [&](std::span<const Cycle> cycles) {
      std::vector<double> times;
      for (const Cycle &cycle : cycles) times.push_back(cycle.length - cycle.Of(part));
      return QuantileOf(times, 0.5);
    };
    return std::max(1.0, others(late) / std::max(1.0, others(early)));
  }

  const double factor_;
};

class StepOutlier final : public WorkerRule {
 public:
  StepOutlier(double factor, double share, size_t count, size_t patience)
      : WorkerRule("StepOutlier", patience), factor_(factor), share_(share), count_(count) {}

 private:
  void Evaluate(const Summary &summary, NameId worker, std::span<const Cycle> cycles) override {
    const Slow slow = FindSlow(cycles, factor_);
    // Steps of a training that waits for cores are slow at random.
    const double limit = share_ + LongestCoreWait(summary).share;
    if (slow.indices.size() < count_ || slow.excess_share <= limit) return;
    auto &finding = Add(
        "", summary.Names().NameOf(worker), PartName(slow.part), slow.excess_share, share_,
        StrCat(slow.indices.size(), " of ", cycles.size(), " steps took longer than ",
               Duration(slow.limit), ", ", Fixed(factor_, 1), " times the median; they cost ",
               PercentOf(slow.excess_share), " of the time, most of it in ", PartName(slow.part)));
    finding.place.step = cycles[slow.indices.front()].step;
  }

  const double factor_;
  const double share_;
  const size_t count_;
};

class CheckpointStalls final : public WorkerRule {
 public:
  CheckpointStalls(double share, double factor, size_t patience)
      : WorkerRule("CheckpointStalls", patience), share_(share), factor_(factor) {}

 private:
  void Evaluate(const Summary &summary, NameId worker, std::span<const Cycle> cycles) override {
    const std::string &name = summary.Names().NameOf(worker);
    const double named = ShareOf(cycles, Part::kCheckpoint);
    if (named > share_) {
      Add("named", name, "checkpoint", named, share_,
          StrCat("steps wait for checkpoints in ", PercentOf(named), " of the time; the limit is ",
                 PercentOf(share_)));
      return;
    }
    const Slow slow = FindHostStalls(cycles, factor_);
    if (!slow.is_periodic || slow.excess_share <= share_) return;
    auto &finding = Add("periodic", name, PartName(slow.part), slow.excess_share, share_,
                        StrCat("every ", Fixed(slow.period, 0), " steps one takes more than ",
                               Duration(slow.limit), ", in ", PartName(slow.part),
                               ", as with checkpoints: ", PercentOf(slow.excess_share),
                               " of the time; the limit is ", PercentOf(share_)));
    finding.place.step = cycles[slow.indices.front()].step;
  }

  const double share_;
  const double factor_;
};

class MaxInitializationTime final : public CalibratedRule {
 public:
  explicit MaxInitializationTime(double minutes)
      : CalibratedRule("MaxInitializationTime"), minutes_(minutes) {}

  void Finish(const Summary &summary) override {
    double first = 0;
    for (const auto &[worker, steps] : summary.Workers()) {
      if (steps.FirstStep() == 0) continue;
      first = first == 0 ? steps.FirstStep() : std::min(first, steps.FirstStep());
    }
    const double end = first == 0 ? summary.End() : first / 1e6;
    const double minutes = summary.MinutesUntil(end);
    if (first == 0 && minutes <= minutes_) return;
    NoteDatapoints(1);
    if (minutes <= minutes_) return;
    Add(first == 0 ? "no step" : "late", "", "", minutes, minutes_,
        StrCat(first == 0 ? "no step has begun after " : "the first step began after ",
               Fixed(minutes, 1), " minutes; the limit is ", Fixed(minutes_, 1)));
  }
  std::string_view Missing() const override { return "a step, or a longer time"; }

 private:
  const double minutes_;
};

Result<size_t> Count(const rules::Parameters &parameters, std::string_view name) {
  SMD_ASSIGN_OR_RETURN(const int64_t count, parameters.Whole(name, 1, kMostPatience));
  return static_cast<size_t>(count);
}

}  // namespace

rules::Finding &CalibratedRule::Add(std::string_view check, std::string_view worker,
                                    std::string_view culprit, double value, double limit,
                                    std::string message) {
  RuleReport &report = MutableReport();
  ++report.triggered;
  ++report.violations;
  Json each = Json::Object();
  each["check"] = check;
  each["worker"] = worker;
  each["culprit"] = culprit;
  each["value"] = value;
  each["limit"] = limit;
  each["message"] = std::string_view(message);
  report.details["findings"].Add(std::move(each));
  Findings().push_back(
      MakeFinding(name_, check, worker, culprit, value, limit, std::move(message)));
  return Findings().back();
}

MadeRule MakeDataLoaderStarves(const rules::Parameters &parameters, const NameTable *) {
  SMD_ASSIGN_OR_RETURN(const double share, parameters.Number("share", 0, 1));
  SMD_ASSIGN_OR_RETURN(const double shortest, parameters.Number("shortest_ms", 0, 1e9));
  SMD_ASSIGN_OR_RETURN(const size_t patience, Count(parameters, "patience"));
  return MadeRule(std::make_unique<DataLoaderStarves>(share, shortest, patience));
}

MadeRule MakeStepTimeSplit(const rules::Parameters &parameters, const NameTable *) {
  SMD_ASSIGN_OR_RETURN(const double host, parameters.Number("host_share", 0, 1));
  SMD_ASSIGN_OR_RETURN(const double device, parameters.Number("device_share", 0, 1));
  SMD_ASSIGN_OR_RETURN(const size_t patience, Count(parameters, "patience"));
  return MadeRule(std::make_unique<StepTimeSplit>(host, device, patience));
}

MadeRule MakeStepTimeDrift(const rules::Parameters &parameters, const NameTable *) {
  SMD_ASSIGN_OR_RETURN(const double factor, parameters.Number("factor", 1, 1e6));
  SMD_ASSIGN_OR_RETURN(const size_t patience, Count(parameters, "patience"));
  return MadeRule(std::make_unique<StepTimeDrift>(factor, patience));
}

MadeRule MakeStepOutlier(const rules::Parameters &parameters, const NameTable *) {
  SMD_ASSIGN_OR_RETURN(const double factor, parameters.Number("factor", 1, 1e6));
  SMD_ASSIGN_OR_RETURN(const double share, parameters.Number("share", 0, 1));
  SMD_ASSIGN_OR_RETURN(const size_t count, Count(parameters, "n_outliers"));
  SMD_ASSIGN_OR_RETURN(const size_t patience, Count(parameters, "patience"));
  return MadeRule(std::make_unique<StepOutlier>(factor, share, count, patience));
}

MadeRule MakeCheckpointStalls(const rules::Parameters &parameters, const NameTable *) {
  SMD_ASSIGN_OR_RETURN(const double share, parameters.Number("share", 0, 1));
  SMD_ASSIGN_OR_RETURN(const double factor, parameters.Number("factor", 1, 1e6));
  SMD_ASSIGN_OR_RETURN(const size_t patience, Count(parameters, "patience"));
  return MadeRule(std::make_unique<CheckpointStalls>(share, factor, patience));
}

MadeRule MakeMaxInitializationTime(const rules::Parameters &parameters, const NameTable *) {
  SMD_ASSIGN_OR_RETURN(const double minutes, parameters.Number("threshold", 0, 1e6));
  return MadeRule(std::make_unique<MaxInitializationTime>(minutes));
}

}  // namespace smdebug::profile_rules
