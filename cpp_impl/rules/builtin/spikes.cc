// Finds losses and gradients that leave the range of the last steps.
#include <cmath>
#include <deque>
#include <map>
#include <vector>

#include "base/strings.h"
#include "rules/builtin/builtin_rules.h"
#include "rules/support/culprits.h"
#include "rules/support/loss_names.h"
#include "rules/support/sample_states.h"
#include "rules/support/tensor_names.h"
#include "rules/support/told.h"
#include "rules/support/words.h"

namespace smdebug::rules {
namespace {

struct Limits {
  double deviations;
  size_t window;
  size_t least;
  double rise;
};

// Holds the last values of a loss or norm.
class Window {
 public:
  struct Spike {
    double mean;
    double limit;
  };

  // Returns the usual value and its limit if the value is above it, then adds the value.
  std::optional<Spike> Add(double value, const Limits &limits) {
    if (!std::isfinite(value)) return std::nullopt;
    std::optional<Spike> spike;
    if (IsEnough(limits)) {
      const double mean = Mean();
      const double limit =
          mean + std::max(limits.deviations * Deviation(mean), limits.rise * std::abs(mean));
      if (value > limit) spike = Spike{mean, limit};
    }
    values_.push_back(value);
    if (values_.size() > limits.window) values_.pop_front();
    return spike;
  }
  bool IsEnough(const Limits &limits) const { return values_.size() >= limits.least; }

 private:
  double Mean() const {
    double sum = 0;
    for (const double each : values_) sum += each;
    return sum / static_cast<double>(values_.size());
  }
  double Deviation(double mean) const {
    double squares = 0;
    for (const double each : values_) squares += (each - mean) * (each - mean);
    return std::sqrt(squares / static_cast<double>(values_.size() - 1));
  }

  std::deque<double> values_;
};

class LossSpike final : public Rule {
 public:
  LossSpike(Selector selector, const Limits &limits)
      : Rule("LossSpike"), selector_(std::move(selector)), limits_(limits) {}

  bool Wants(std::string_view tensor, const Membership &membership) const override {
    return selector_.Matches(tensor, membership);
  }

  void Observe(const Sample &sample, Findings &) override {
    const std::optional<double> loss = LossOf(sample);
    if (!loss || !IsTraining(sample.Place().mode)) return;
    Window &window = windows_.Of(sample);
    if (window.IsEnough(limits_)) NoteEvaluated();
    const std::optional<Window::Spike> spike = window.Add(*loss, limits_);
    if (!spike) return;
    culprits_.Offer(sample, {*loss - spike->limit, *loss, spike->limit}, [&] {
      return StrCat("the loss '", sample.Tensor(), "' is ", Shortest(*loss),
                    ", its mean over the last steps ", Shortest(spike->mean));
    });
  }

  void EndStep(Findings &findings) override { culprits_.Report(findings); }

  std::string Missing() const override {
    return StrCat("a loss at more than ", limits_.least, " training steps");
  }

 private:
  const Selector selector_;
  const Limits limits_;
  SampleStates<Window> windows_;
  Culprits culprits_;
};

class GradNormSpike final : public Rule {
 public:
  GradNormSpike(Selector selector, const Limits &limits)
      : Rule("GradNormSpike"), selector_(std::move(selector)), limits_(limits) {}

  bool Wants(std::string_view tensor, const Membership &membership) const override {
    return selector_.Matches(tensor, membership);
  }

  void Observe(const Sample &sample, Findings &) override {
    const std::optional<double> norm = sample.Reduce({tensor::ReductionKind::kL2, false});
    if (!norm || !IsTraining(sample.Place().mode)) return;
    Worker &worker = workers_[std::string(sample.Worker())];
    worker.squares += *norm * *norm;
    ++worker.count;
    // The culprit is the gradient that grew most.
    double &usual = usual_.Of(sample);
    const double growth = usual > 0 ? *norm / usual : 0;
    if (growth > worker.growth) {
      worker.growth = growth;
      worker.culprit = sample.Tensor();
    }
    if (std::isfinite(*norm)) usual = usual > 0 ? kKept * usual + (1 - kKept) * *norm : *norm;
  }

  void EndStep(Findings &findings) override {
    for (auto &[name, worker] : workers_) {
      // Gradients of another set of parameters have another norm.
      if (worker.count != worker.last_count) worker.window = Window();
      worker.last_count = worker.count;
      if (worker.count > 0) Evaluate(name, worker, findings);
      worker.squares = 0;
      worker.count = 0;
      worker.growth = 0;
    }
  }

  std::string Missing() const override {
    return StrCat("the same gradients at more than ", limits_.least, " training steps");
  }

 private:
  static constexpr double kKept = 0.97;

  struct Worker {
    double squares = 0;
    int64_t count = 0;
    int64_t last_count = 0;
    double growth = 0;
    std::string culprit;
    Window window;
  };

  void Evaluate(const std::string &name, Worker &worker, Findings &findings) {
    if (worker.window.IsEnough(limits_)) NoteEvaluated();
    const double norm = std::sqrt(worker.squares);
    const std::optional<Window::Spike> spike = worker.window.Add(norm, limits_);
    if (!spike) return;
    findings.Add(FindingOf(
        {name, worker.culprit}, "", norm, spike->limit,
        StrCat("the norm of all gradients is ", Shortest(norm), ", its mean over the last steps ",
               Shortest(spike->mean), "; '", worker.culprit, "' grew most")));
  }

  const Selector selector_;
  const Limits limits_;
  std::map<std::string, Worker> workers_;
  SampleStates<double> usual_;
};

class GradBlowup final : public Rule {
 public:
  GradBlowup(Selector selector, double factor, int64_t samples)
      : Rule("GradBlowup"), selector_(std::move(selector)), factor_(factor), samples_(samples) {}

  bool Wants(std::string_view tensor, const Membership &membership) const override {
    return selector_.Matches(tensor, membership);
  }

  void Observe(const Sample &sample, Findings &) override {
    const std::optional<double> norm = sample.Reduce({tensor::ReductionKind::kL2, false});
    if (!norm || !std::isfinite(*norm) || !IsTraining(sample.Place().mode)) return;
    First &first = firsts_.Of(sample);
    if (first.count < samples_) {
      first.most = std::max(first.most, *norm);
      ++first.count;
      return;
    }
    NoteEvaluated();
    if (first.most == 0 || *norm < factor_ * first.most) return;
    const double factor = *norm / first.most;
    culprits_.Offer(sample, {factor, factor, factor_}, [&] {
      return StrCat("the norm of '", sample.Tensor(), "' is ", Shortest(*norm), ", ",
                    Shortest(factor), " times the largest of the first ", samples_, " steps");
    });
  }

  void EndStep(Findings &findings) override { culprits_.Report(findings); }

  std::string Missing() const override {
    return StrCat("a gradient at more than ", samples_, " training steps");
  }

 private:
  struct First {
    double most = 0;
    int64_t count = 0;
  };

  const Selector selector_;
  const double factor_;
  const int64_t samples_;
  SampleStates<First> firsts_;
  Culprits culprits_;
};

constexpr ParameterSpec kDeviations = {"deviations", "6", "6",
                                       "standard deviations above the mean of the window"};
constexpr ParameterSpec kWindow = {"window", "128", "128", "number of last steps to compare with"};
constexpr ParameterSpec kLeast = {"least", "64", "64", "number of steps before the first finding"};

constexpr ParameterSpec kLossParameters[] = {
    {"tensor_regex", "None", "None",
     "expressions found in the names of losses; none: those of the collection losses, and names "
     "of losses"},
    kDeviations,
    kWindow,
    kLeast,
    {"rise", "0.25", "0.25", "a spike is at least so much above the mean, relative to the mean"},
};

// Norms are compared with those of the same elements at other steps, by wide limits.  To read all
// elements takes a processor longer than all other rules of the set.
constexpr ParameterSpec kSampleOfNorm = {kSample.name, "0", "8192", kSample.meaning};

constexpr ParameterSpec kNormParameters[] = {
    kDeviations,
    kWindow,
    kLeast,
    {"rise", "1", "1", "a spike is at least so much above the mean, relative to the mean"},
    kSampleOfNorm,
};

constexpr ParameterSpec kBlowupParameters[] = {
    {"factor", "10", "10", "times the largest norm of the first steps"},
    {"samples", "100", "100", "number of first steps"},
    kSampleOfNorm,
};

Result<Limits> LimitsOf(const Parameters &parameters) {
  Limits limits{};
  SMD_ASSIGN_OR_RETURN(limits.deviations, parameters.Positive("deviations"));
  SMD_ASSIGN_OR_RETURN(const int64_t least, parameters.Whole("least", 2, 100'000));
  SMD_ASSIGN_OR_RETURN(const int64_t window, parameters.Whole("window", least, 100'000));
  limits.least = static_cast<size_t>(least);
  limits.window = static_cast<size_t>(window);
  SMD_ASSIGN_OR_RETURN(limits.rise, parameters.Number("rise", 0, 1e9));
  return limits;
}

Result<std::unique_ptr<Rule>> MakeLoss(const Parameters &parameters) {
  SMD_ASSIGN_OR_RETURN(const Limits limits, LimitsOf(parameters));
  SMD_ASSIGN_OR_RETURN(Selector selector, SelectLosses(parameters));
  return std::unique_ptr<Rule>(std::make_unique<LossSpike>(std::move(selector), limits));
}

Result<std::unique_ptr<Rule>> MakeNorm(const Parameters &parameters) {
  SMD_ASSIGN_OR_RETURN(const Limits limits, LimitsOf(parameters));
  SMD_ASSIGN_OR_RETURN(Selector selector, Selector::Make({"gradients"}, {}));
  return std::unique_ptr<Rule>(std::make_unique<GradNormSpike>(std::move(selector), limits));
}

Result<std::unique_ptr<Rule>> MakeBlowup(const Parameters &parameters) {
  SMD_ASSIGN_OR_RETURN(const double factor, parameters.Number("factor", 1, 1e30));
  SMD_ASSIGN_OR_RETURN(const int64_t samples, parameters.Whole("samples", 1, 1'000'000));
  SMD_ASSIGN_OR_RETURN(Selector selector, Selector::Make({"gradients"}, {}));
  return std::unique_ptr<Rule>(std::make_unique<GradBlowup>(std::move(selector), factor, samples));
}

}  // namespace

const RuleSpec kLossSpike = {"LossSpike", "a loss is far above that of the last steps",
                             kLossParameters, MakeLoss, "llm"};
const RuleSpec kGradNormSpike = {"GradNormSpike",
                                 "the norm of all gradients is far above that of the last steps",
                                 kNormParameters, MakeNorm, "llm"};
const RuleSpec kGradBlowup = {"GradBlowup",
                              "a gradient is ten times as large as in the first hundred steps",
                              kBlowupParameters, MakeBlowup, "llm"};

}  // namespace smdebug::rules
