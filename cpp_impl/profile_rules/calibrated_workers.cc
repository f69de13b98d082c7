// Rules that compare workers, and those over their communication.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "base/strings.h"
#include "profile_rules/aws_rules.h"
#include "profile_rules/calibrated_rules.h"
#include "profile_rules/finding_text.h"
#include "profile_rules/numbers.h"
#include "profile_rules/steady_steps.h"
#include "profile_rules/training_series.h"

namespace smdebug::profile_rules {
namespace {

constexpr int64_t kMostPatience = 1'000'000'000;
// Times of workers that wait for each other in every step differ by less than this factor.
constexpr double kEqual = 1.1;

using SteadyWorkers = std::map<NameId, std::span<const Cycle>>;

SteadyWorkers WorkersWithSteps(const Summary &summary, size_t patience) {
  SteadyWorkers workers;
  for (const auto &[worker, steps] : summary.Workers()) {
    const std::span<const Cycle> cycles = Steady(steps);
    if (cycles.size() >= patience && !cycles.empty()) workers.emplace(worker, cycles);
  }
  return workers;
}

// Waiting for the others is not a worker's own time.
double OwnTime(const Cycle &cycle) {
  return cycle.length - cycle.Of(Part::kCommunication) - cycle.Of(Part::kExposedExchange);
}

double MedianOwnTime(std::span<const Cycle> cycles) {
  std::vector<double> times;
  times.reserve(cycles.size());
  for (const Cycle &cycle : cycles) times.push_back(OwnTime(cycle));
  return QuantileOf(times, 0.5);
}

double MostOf(const std::map<NameId, double> &times) {
  double most = 0;
  for (const auto &[worker, time] : times) most = std::max(most, time);
  return most;
}

double LeastOf(const std::map<NameId, double> &times) {
  double least = std::numeric_limits<double>::max();
  for (const auto &[worker, time] : times) least = std::min(least, time);
  return least;
}

// Own times of all workers, by medians.  DistributedDataParallel exchanges gradients within
// backward, and buffers before forward: then the times of all are equal, since the fast ones wait
// there, and what these parts take longer than the shortest ones is a wait.
std::map<NameId, double> OwnTimes(const SteadyWorkers &workers) {
  std::map<NameId, double> times;
  for (const auto &[worker, cycles] : workers) times[worker] = MedianOwnTime(cycles);
  for (const Part part : {Part::kBackward, Part::kRest}) {
    if (MostOf(times) > kEqual * LeastOf(times)) break;
    std::map<NameId, double> of_part;
    for (const auto &[worker, cycles] : workers) of_part[worker] = MedianOf(cycles, part);
    const double least = LeastOf(of_part);
    for (auto &[worker, time] : times) time -= of_part[worker] - least;
  }
  return times;
}

double CommunicationShare(std::span<const Cycle> cycles) {
  return ShareOf(cycles, Part::kCommunication) + ShareOf(cycles, Part::kExposedExchange);
}

class Straggler final : public CalibratedRule {
 public:
  Straggler(double factor, double share, size_t patience)
      : CalibratedRule("Straggler"), factor_(factor), share_(share), patience_(patience) {}

  void Finish(const Summary &summary) override {
    const SteadyWorkers workers = WorkersWithSteps(summary, patience_);
    if (workers.size() < 2) return;
    const std::map<NameId, double> times = OwnTimes(workers);
    std::vector<double> lengths;
    for (const auto &[worker, cycles] : workers) {
      NoteDatapoints(cycles.size());
      lengths.push_back(MedianLength(cycles));
    }
    const double length = QuantileOf(lengths, 0.5);
    for (const auto &[worker, time] : times) {
      std::vector<double> others;
      for (const auto &[other, its] : times) {
        if (other != worker) others.push_back(its);
      }
      const double usual = QuantileOf(others, 0.5);
      const double share = (time - usual) / std::max(1.0, length);
      if (time <= usual * factor_ || share <= share_) continue;
      Report(summary, workers, worker, time / std::max(1.0, usual), share);
    }
  }
  std::string_view Missing() const override { return "steps of two workers"; }

 private:
  void Report(const Summary &summary, const SteadyWorkers &workers, NameId worker, double ratio,
              double share) {
    Part part = Part::kRest;
    double most = 0;
    for (size_t i = 0; i < kExclusiveParts; ++i) {
      const auto each = static_cast<Part>(i);
      if (each == Part::kCommunication) continue;
      std::vector<double> others;
      for (const auto &[other, cycles] : workers) {
        if (other != worker) others.push_back(MedianOf(cycles, each));
      }
      const double growth = MedianOf(workers.at(worker), each) - QuantileOf(others, 0.5);
      if (growth > most) {
        most = growth;
        part = each;
      }
    }
    Add("", summary.Names().NameOf(worker), PartName(part), ratio, factor_,
        StrCat("the worker takes ", Fixed(ratio, 2), " times as long as the others, most of it in ",
               PartName(part), "; the others wait for it in ", PercentOf(share), " of a step"));
  }

  const double factor_;
  const double share_;
  const size_t patience_;
};

// The worker that waits least shows what communication costs: the others also wait for workers.
class CommunicationOverlap final : public CalibratedRule {
 public:
  CommunicationOverlap(double share, size_t patience)
      : CalibratedRule("CommunicationOverlap"), share_(share), patience_(patience) {}

  void Finish(const Summary &summary) override {
    const SteadyWorkers workers = WorkersWithSteps(summary, patience_);
    double least = 1;
    NameId fastest = 0;
    for (const auto &[worker, cycles] : workers) {
      NoteDatapoints(cycles.size());
      const double share = CommunicationShare(cycles);
      if (share < least) {
        least = share;
        fastest = worker;
      }
    }
    // If a worker waits for a core, the others wait for that worker.
    if (workers.empty() || least <= share_ + LongestCoreWait(summary).share) return;
    const std::span<const Cycle> cycles = workers.at(fastest);
    const double all = ShareOf(cycles, Part::kCommunication) + ShareOf(cycles, Part::kExchange);
    const double hidden = all > 0 ? 1 - least / all : 0;
    Add("", summary.Names().NameOf(fastest), "communication", least, share_,
        StrCat("communication that no computation overlaps takes ", PercentOf(least),
               " of a step also on the worker that waits least; ", PercentOf(hidden),
               " of communication is overlapped"));
  }
  std::string_view Missing() const override { return "more steps after the warm-up"; }

 private:
  const double share_;
  const size_t patience_;
};

// As in the original's definition, but only if steps wait for data.
class Dataloader final : public CalibratedRule {
 public:
  Dataloader(std::unique_ptr<ProfileRule> counter, double share)
      : CalibratedRule("Dataloader"), counter_(std::move(counter)), share_(share) {}

  void Observe(const Sample &sample) override { counter_->Observe(sample); }
  void Observe(const Span &span) override { counter_->Observe(span); }
  bool EndScan(const Scan &scan) override { return counter_->EndScan(scan) && false; }

  void Finish(const Summary &summary) override {
    if (!counter_->HasEvaluated()) return;
    NoteDatapoints(static_cast<size_t>(counter_->Report().datapoints));
    double most = 0;
    for (const auto &[worker, steps] : summary.Workers()) {
      most = std::max(most, ShareOf(Steady(steps), Part::kDataWait));
    }
    if (counter_->Findings().empty() || most <= share_) return;
    const rules::Finding &last = counter_->Findings().back();
    Add(last.check, "", "data wait", last.value, last.limit,
        StrCat(last.message, "; steps wait for data in ", PercentOf(most), " of their time"));
  }
  std::string_view Missing() const override { return "events of a data loader"; }

 private:
  const std::unique_ptr<ProfileRule> counter_;
  const double share_;
};

}  // namespace

MadeRule MakeStraggler(const rules::Parameters &parameters, const NameTable *) {
  SMD_ASSIGN_OR_RETURN(const double factor, parameters.Number("factor", 1, 1e6));
  SMD_ASSIGN_OR_RETURN(const double share, parameters.Number("share", 0, 1));
  SMD_ASSIGN_OR_RETURN(const int64_t patience, parameters.Whole("patience", 1, kMostPatience));
  return MadeRule(std::make_unique<Straggler>(factor, share, static_cast<size_t>(patience)));
}

MadeRule MakeCommunicationOverlap(const rules::Parameters &parameters, const NameTable *) {
  SMD_ASSIGN_OR_RETURN(const double share, parameters.Number("share", 0, 1));
  SMD_ASSIGN_OR_RETURN(const int64_t patience, parameters.Whole("patience", 1, kMostPatience));
  return MadeRule(std::make_unique<CommunicationOverlap>(share, static_cast<size_t>(patience)));
}

MadeRule MakeDataloader(const rules::Parameters &parameters, const NameTable *names) {
  SMD_ASSIGN_OR_RETURN(const double share, parameters.Number("share", 0, 1));
  SMD_ASSIGN_OR_RETURN(std::unique_ptr<ProfileRule> counter, MakeAwsDataloader(parameters, names));
  return MadeRule(std::make_unique<Dataloader>(std::move(counter), share));
}

}  // namespace smdebug::profile_rules
