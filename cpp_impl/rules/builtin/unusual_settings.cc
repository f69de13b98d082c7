// Finds settings of layers, modes and schedules that nobody chooses.
#include <map>
#include <set>
#include <string>

#include "base/strings.h"
#include "rules/builtin/builtin_rules.h"
#include "rules/support/culprits.h"
#include "rules/support/endless_warmup.h"
#include "rules/support/sample_states.h"
#include "rules/support/tensor_names.h"
#include "rules/support/told.h"
#include "rules/support/words.h"

namespace smdebug::rules {
namespace {

// What the hook for PyTorch saves for rules: the probability of a dropout, at updates; and at
// evaluations, 1 for a model in training mode, else 0, and the part of batch normalisation's
// statistics that is still what they began as.
constexpr std::string_view kDropout = "dropout/";
constexpr std::string_view kTrainingMode = "training_mode/";
constexpr std::string_view kStatistics = "initial_statistics/";
constexpr std::string_view kRates = "learning_rate/";
// How far an optimizer's first beta is above its second.
constexpr std::string_view kBetas = "beta_excess/";
// The part of a model's frozen layers that is what each begins as, at some updates.
constexpr std::string_view kFrozen = "initial_frozen/";

enum Role : size_t { kOfDropout, kOfMode, kOfStatistics, kOfRate, kOfBetas, kOfFrozen };

struct Limits {
  double dropout;
  int64_t evaluations;
  double statistics;
  int64_t updates;
};

class UnusualSettings final : public Rule {
 public:
  explicit UnusualSettings(const Limits &limits)
      : Rule("UnusualSettings"), limits_(limits), warmups_(limits.updates) {}

  std::optional<size_t> RoleOf(std::string_view tensor, const Membership &) const override {
    if (tensor.starts_with(kDropout)) return kOfDropout;
    if (tensor.starts_with(kTrainingMode)) return kOfMode;
    if (tensor.starts_with(kStatistics)) return kOfStatistics;
    if (tensor.starts_with(kBetas)) return kOfBetas;
    if (tensor.starts_with(kFrozen)) return kOfFrozen;
    if (tensor.starts_with(kRates) && limits_.updates > 0) return kOfRate;
    return {};
  }

  void Observe(const Sample &sample, Findings &) override {
    const std::optional<double> number = sample.Scalar();
    if (!number) return;
    NoteEvaluated();
    switch (sample.Role()) {
      case kOfDropout: return CheckDropout(sample, *number);
      case kOfMode: return CheckMode(sample, *number);
      case kOfStatistics: return CheckStatistics(sample, *number);
      case kOfBetas: return CheckBetas(sample, *number);
      case kOfFrozen: return NoteFrozen(sample, *number);
      default: warmups_.Add(sample, *number);
    }
  }

  void EndStep(Findings &findings) override { culprits_.Report(findings); }
  void EndJob(Findings &findings) override {
    warmups_.Report(findings);
    // Not earlier: a target network or an average is frozen too, and changes later.
    for (const auto &[tensor, seen] : frozen_) ReportFrozen(tensor, seen, findings);
  }

  std::string Missing() const override {
    return "a dropout, an evaluation or a learning rate, which PyTorch's hook shows to rules";
  }

 private:
  void CheckDropout(const Sample &sample, double probability) {
    if (!(probability > limits_.dropout) || !IsTraining(sample.Place().mode)) return;
    if (!told_.insert(std::string(sample.Tensor())).second) return;
    culprits_.Offer(sample, {probability, probability, limits_.dropout, "dropout"}, [&] {
      return StrCat("the dropout '", sample.Tensor().substr(kDropout.size()), "' drops ",
                    Shortest(100 * probability),
                    " % of its input: the probability that PyTorch takes is that of a 0");
    });
  }

  void CheckBetas(const Sample &sample, double excess) {
    if (!(excess > 0) || !IsTraining(sample.Place().mode)) return;
    if (!told_.insert(std::string(sample.Tensor())).second) return;
    culprits_.Offer(sample, {excess, excess, 0, "betas"}, [&] {
      return StrCat("the first beta of '", sample.Tensor().substr(kBetas.size()), "' is ",
                    Shortest(excess),
                    " above the second: they are swapped, so that squares of gradients are "
                    "forgotten before gradients");
    });
  }

  struct Frozen {
    StepPlace place;
    std::string worker;
    double share = 0;
  };

  void NoteFrozen(const Sample &sample, double share) {
    if (!IsTraining(sample.Place().mode)) return;
    frozen_[std::string(sample.Tensor())] = {sample.Place(), std::string(sample.Worker()), share};
  }

  static void ReportFrozen(const std::string &tensor, const Frozen &seen, Findings &findings) {
    if (seen.share < 1) return;
    Finding untrained =
        FindingOf({seen.worker, tensor}, "untrained", seen.share, 1,
                  StrCat("the frozen layers of '", tensor.substr(kFrozen.size()),
                         "' are as every one begins: the frozen part of the model was never "
                         "trained; load its weights"));
    // The trained part may learn in spite of it.
    untrained.level = Level::kWorthALook;
    findings.AddAt(seen.place, std::move(untrained));
  }

  void CheckMode(const Sample &sample, double is_training) {
    int64_t &count = evaluations_.Of(sample);
    count = is_training != 0 ? count + 1 : 0;
    if (count < limits_.evaluations) return;
    const auto times = static_cast<double>(count);
    const auto limit = static_cast<double>(limits_.evaluations);
    culprits_.Offer(sample, {times, times, limit, "training_mode"}, [&] {
      return StrCat("the model '", sample.Tensor().substr(kTrainingMode.size()),
                    "' is evaluated in training mode: its dropout is active, and its batch "
                    "normalisation takes the statistics of each batch");
    });
  }

  void CheckStatistics(const Sample &sample, double share) {
    if (!(share > limits_.statistics)) return;
    culprits_.Offer(sample, {share, share, limits_.statistics, "statistics"}, [&] {
      return StrCat("the running statistics of '", sample.Tensor().substr(kStatistics.size()),
                    "' are still ", Shortest(100 * share),
                    " % what they began as, and the model is evaluated with them");
    });
  }

  const Limits limits_;
  std::set<std::string> told_;
  std::map<std::string, Frozen> frozen_;  // the last of each tensor
  SampleStates<int64_t> evaluations_;     // in a row, in training mode
  EndlessWarmups warmups_;
  Culprits culprits_;
};

constexpr ParameterSpec kParameters[] = {
    {"dropout", "0.75", "0.75", "a higher probability of a dropout is a finding"},
    {"evaluations", "2", "2", "number of evaluations in training mode, in a row, before a finding"},
    {"statistics", "0.5", "0.5",
     "a larger part of running statistics that is still what they began as is a finding"},
    {"updates", "64", "64",
     "least number of updates of a training that may have a warm-up without an end; 0: none"},
};

Result<std::unique_ptr<Rule>> Make(const Parameters &parameters) {
  Limits limits{};
  SMD_ASSIGN_OR_RETURN(limits.dropout, parameters.Number("dropout", 0, 1));
  SMD_ASSIGN_OR_RETURN(limits.evaluations, parameters.Whole("evaluations", 1, 1'000'000));
  SMD_ASSIGN_OR_RETURN(limits.statistics, parameters.Number("statistics", 0, 1));
  SMD_ASSIGN_OR_RETURN(limits.updates, parameters.Whole("updates", 0, 1'000'000));
  return std::unique_ptr<Rule>(std::make_unique<UnusualSettings>(limits));
}

}  // namespace

const RuleSpec kUnusualSettings = {
    "UnusualSettings",
    "a dropout, a mode, a schedule or an optimizer is set as nobody would on purpose", kParameters,
    Make};

}  // namespace smdebug::rules
