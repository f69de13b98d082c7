// Rules of the original over the steps and phases of a job.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/strings.h"
#include "profile_rules/aws_rules.h"
#include "profile_rules/finding_text.h"
#include "profile_rules/framework_times.h"
#include "profile_rules/numbers.h"

namespace smdebug::profile_rules {
namespace {

constexpr double kMicroseconds = 1e6;
constexpr size_t kMostKept = 1'000'000;
constexpr size_t kMostLoaders = 1000;
constexpr size_t kLeastSteps = 100;

class MaxInitializationTime final : public ProfileRule {
 public:
  explicit MaxInitializationTime(double minutes) : minutes_(minutes) {
    MutableReport().details["step_num"] = Json::Object();
  }

  void Observe(const Sample &sample) override {
    begin_ = std::min(begin_, sample.time);
    end_ = std::max(end_, sample.time);
  }

  void Observe(const Span &span) override {
    if (!span.names_step) return;
    NoteEvaluated();
    ++MutableReport().datapoints;
    Json &steps = MutableReport().details["step_num"];
    steps[steps.Has("first") ? "last" : "first"] = static_cast<int64_t>(span.start);
  }

  bool EndScan(const Scan &scan) override {
    const bool has_steps = MutableReport().details["step_num"].Size() > 0;
    const auto waited = static_cast<double>(scan.begin - scan.first_time);
    if (waited <= minutes_ * 60 * kMicroseconds || has_steps) return false;
    NoteEvaluated();
    ++MutableReport().triggered;
    ++MutableReport().violations;
    Findings().push_back(
        MakeFinding("MaxInitializationTime", "", "", "", waited / 60 / kMicroseconds, minutes_,
                    StrCat("no step has begun after ", Fixed(waited / 60 / kMicroseconds, 1),
                           " minutes; the limit is ", Fixed(minutes_, 1))));
    return true;
  }

  void WriteReport() override {
    if (end_ == 0) return;
    MutableReport().details["job_start"] = begin_;
    MutableReport().details["job_end"] = end_;
  }

  std::string_view Missing() const override { return "a step, or a longer time"; }

 private:
  const double minutes_;
  double begin_ = std::numeric_limits<double>::infinity();
  double end_ = 0;
};

class StepOutlier final : public ProfileRule {
 public:
  StepOutlier(double deviations, std::string mode, size_t most, const NameTable *names)
      : deviations_(deviations),
        mode_(std::move(mode)),
        most_(most),
        names_(*names),
        times_(names) {
    MutableReport().details["step_details"] = Json::Object();
  }

  void Observe(const Span &span) override {
    scan_.push_back(span);
    if (!span.names_step && (mode_.empty() || names_.NameOf(span.name) != mode_)) return;
    ++MutableReport().datapoints;
    Steps &steps = steps_[span.worker][span.name];
    if (steps.durations.size() >= kMostKept) steps = Steps();
    steps.durations.push_back(span.duration / kMicroseconds);
    steps.numbers.push_back(span.step);
    intervals_[span.worker].emplace(span.step, std::pair(span.start, span.End()));
  }

  bool EndScan(const Scan &) override {
    bool has_fired = false;
    for (const auto &[worker, by_name] : steps_) {
      for (const auto &[name, steps] : by_name) {
        if (steps.durations.size() <= kLeastSteps) continue;
        NoteEvaluated();
        has_fired |= Evaluate(worker, name, steps);
      }
    }
    scan_.clear();
    intervals_.clear();
    return has_fired;
  }

  void WriteReport() override {
    if (has_times_) times_.Write(true, &MutableReport().details);
  }

  std::string_view Missing() const override { return "more than 100 steps"; }

 private:
  struct Steps {
    std::vector<double> durations;  // seconds
    std::vector<int64_t> numbers;
  };

  bool Evaluate(NameId worker, NameId name, const Steps &steps) {
    const double mean = Mean(steps.durations);
    const double deviation = Deviation(steps.durations);
    const double limit = mean + deviation * deviations_;
    std::vector<double> normal;
    std::vector<int64_t> outliers;
    for (size_t i = 0; i < steps.durations.size(); ++i) {
      if (steps.durations[i] < limit) normal.push_back(steps.durations[i]);
      if (steps.durations[i] > limit) outliers.push_back(steps.numbers[i]);
    }
    Json each = Describe(steps, mean);
    each["number_of_outliers"] = outliers.size();
    each["phase"] = names_.NameOf(name);
    each["stddev"] = std::round(deviation * 100) / 100;
    AddHistogram(normal, &each);
    Json numbers = Json::Array();
    for (const int64_t step : outliers) numbers.Add(std::to_string(step).c_str());
    each["step_numbers"] = std::move(numbers);
    MutableReport().details["step_details"][names_.NameOf(worker)] = std::move(each);
    if (outliers.size() <= most_) return false;
    MutableReport().violations += static_cast<int64_t>(outliers.size());
    ++MutableReport().triggered;
    AddTimes(worker, outliers);
    Findings().push_back(MakeFinding(
        "StepOutlier", "", names_.NameOf(worker), names_.NameOf(name), limit, limit,
        StrCat(outliers.size(), " of ", steps.durations.size(), " steps took longer than ",
               Duration(limit * kMicroseconds), ", which is ", Fixed(deviations_, 1),
               " standard deviations above the mean")));
    Findings().back().place.step = outliers.front();
    return true;
  }

  static Json Describe(const Steps &steps, double mean) {
    const Quantiles all(steps.durations);
    Json stats = Json::Object();
    stats["mean"] = mean;
    stats["max"] = all.Most();
    stats["p99"] = all.At(0.99);
    stats["p95"] = all.At(0.95);
    stats["p50"] = all.At(0.5);
    stats["min"] = all.Least();
    Json each = Json::Object();
    each["step_stats"] = std::move(stats);
    return each;
  }

  // What the slow steps of this scan spent their time on.
  void AddTimes(NameId worker, const std::vector<int64_t> &outliers) {
    for (const int64_t step : outliers) {
      const auto interval = intervals_[worker].find(step);
      if (interval == intervals_[worker].end()) continue;
      has_times_ = true;
      const auto [begin, end] = interval->second;
      for (const Span &span : scan_) {
        if (span.start >= begin && span.End() <= end) times_.Add(span, 1);
      }
    }
  }

  const double deviations_;
  const std::string mode_;
  const size_t most_;
  const NameTable &names_;
  std::vector<Span> scan_;
  std::map<NameId, std::map<NameId, Steps>> steps_;                           // by worker and name
  std::map<NameId, std::map<int64_t, std::pair<double, double>>> intervals_;  // of this scan
  FrameworkTimes times_;
  bool has_times_ = false;
};

class Dataloader final : public ProfileRule {
 public:
  Dataloader(double least, double most, size_t patience, const NameTable *names)
      : least_(least), most_(most), patience_(patience), names_(*names) {}

  void Observe(const Sample &sample) override {
    if (knows_cores_ || sample.metric != Metric::kCpuUse) return;
    cores_.insert(sample.name);
  }

  void Observe(const Span &span) override {
    const std::string &phase = names_.NameOf(span.phase);
    if (names_.NameOf(span.name).find("Prefetch") != std::string::npos) prefetches_ = true;
    if (!phase.starts_with("DataLoader")) return;
    if (phase == "DataLoaderIterInitialize") {
      if (span.pins_memory >= 0) pins_memory_ = span.pins_memory != 0;
      if (span.loader_workers >= 0) workers_ = span.loader_workers;
    }
    if (phase != "DataLoaderWorker" && phase != "DataLoaderIter") return;
    NoteEvaluated();
    ++MutableReport().datapoints;
    if (times_.size() < kMostKept) times_.push_back(span.duration / kMicroseconds);
    auto &loaders = seconds_[static_cast<int64_t>(span.start / kMicroseconds)];
    if (span.process >= 0) loaders.insert(span.process);
    prefetches_.reset();
  }

  bool EndScan(const Scan &) override {
    knows_cores_ = !cores_.empty();
    if (counts_.size() > kMostLoaders) counts_.clear();
    bool has_fired = false;
    if (!seconds_.empty()) {
      for (const auto &[second, loaders] : seconds_) {
        counts_.push_back(static_cast<double>(loaders.size()));
      }
      median_ = std::floor(QuantileOf(counts_, 0.5));
      has_fired = Evaluate();
    }
    seconds_.clear();
    return has_fired;
  }

  void WriteReport() override {
    if (counts_.empty()) return;
    Json &details = MutableReport().details;
    if (pins_memory_) details["pin_memory"] = *pins_memory_;
    if (workers_) details["num_workers"] = int64_t{*workers_};
    if (prefetches_) details["prefetch"] = *prefetches_;
    details["cores"] = cores_.size();
    details["dataloaders"] = static_cast<int64_t>(median_);
    Json time = Json::Object();
    const Quantiles all(times_);
    time["p25"] = all.At(0.25);
    time["p50"] = all.At(0.5);
    time["p95"] = all.At(0.95);
    AddHistogram(times_, &time);
    details["dataloading_time"] = std::move(time);
  }

  std::string_view Missing() const override { return "events of a data loader"; }

 private:
  bool Evaluate() {
    if (counts_.size() <= patience_) return false;
    const auto cores = static_cast<double>(cores_.size());
    const bool has_few = median_ < cores * least_ / 100;
    const bool has_many = median_ > cores * most_ / 100;
    if (!has_few && !has_many) return false;
    ++MutableReport().violations;
    MutableReport().triggered = 1;
    Findings().push_back(
        MakeFinding("Dataloader", has_few ? "few" : "many", "", "", median_,
                    cores * (has_few ? least_ : most_) / 100,
                    StrCat("about ", Fixed(median_, 0), " processes load data at once on ",
                           cores_.size(), " cores, which is too ", has_few ? "few" : "many")));
    return true;
  }

  const double least_;
  const double most_;
  const size_t patience_;
  const NameTable &names_;
  std::set<NameId> cores_;
  bool knows_cores_ = false;
  std::map<int64_t, std::set<int64_t>> seconds_;  // processes of each second of this scan
  std::vector<double> counts_;                    // processes, for each second
  double median_ = 0;
  std::vector<double> times_;
  std::optional<bool> pins_memory_;
  std::optional<int32_t> workers_;
  std::optional<bool> prefetches_ = false;
};

// Never reports a finding.
class OverallFrameworkMetrics final : public ProfileRule {
 public:
  explicit OverallFrameworkMetrics(const NameTable *names) : times_(names) {}

  void Observe(const Span &span) override {
    NoteEvaluated();
    const bool is_step = times_.KindOf(span) == FrameworkTimes::Kind::kStep;
    if (is_step && span.step >= 0) {
      if (!begin_) begin_ = span.start;
      end_ = span.End();
    }
    times_.Add(span, 1);
    // As the original does: time from the first step's begin to this step's end that is in no step
    // counts as "others".
    if (is_step && begin_) {
      times_.SetOthers((end_ - *begin_) - times_.SumOfSteps() / times_.GpuCount());
    }
  }

  void WriteReport() override { times_.Write(false, &MutableReport().details); }

  std::string_view Missing() const override { return "events of a timeline"; }

 private:
  FrameworkTimes times_;
  std::optional<double> begin_;
  double end_ = 0;
};

}  // namespace

MadeRule MakeAwsMaxInitializationTime(const rules::Parameters &parameters, const NameTable *) {
  SMD_ASSIGN_OR_RETURN(const double minutes, parameters.Number("threshold", 0, 1e6));
  return MadeRule(std::make_unique<MaxInitializationTime>(minutes));
}

MadeRule MakeAwsStepOutlier(const rules::Parameters &parameters, const NameTable *names) {
  SMD_ASSIGN_OR_RETURN(const double deviations, parameters.Number("stddev", 0, 1e6));
  SMD_ASSIGN_OR_RETURN(const int64_t most, parameters.Whole("n_outliers", 0, 1'000'000'000));
  return MadeRule(std::make_unique<StepOutlier>(deviations, parameters.Text("mode"),
                                                static_cast<size_t>(most), names));
}

MadeRule MakeAwsDataloader(const rules::Parameters &parameters, const NameTable *names) {
  SMD_ASSIGN_OR_RETURN(const double least, parameters.Number("min_threshold", 0, 1e6));
  SMD_ASSIGN_OR_RETURN(const double most, parameters.Number("max_threshold", 0, 1e6));
  SMD_ASSIGN_OR_RETURN(const int64_t patience, parameters.Whole("patience", 0, 1'000'000'000));
  return MadeRule(std::make_unique<Dataloader>(least, most, static_cast<size_t>(patience), names));
}

MadeRule MakeOverallFrameworkMetrics(const rules::Parameters &, const NameTable *names) {
  return MadeRule(std::make_unique<OverallFrameworkMetrics>(names));
}

}  // namespace smdebug::profile_rules
