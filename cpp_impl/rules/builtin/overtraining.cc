// Finds a loss that has stopped improving.
#include <cmath>
#include <utility>

#include "base/strings.h"
#include "rules/builtin/builtin_rules.h"
#include "rules/support/loss_names.h"
#include "rules/support/selector.h"
#include "rules/support/tensor_states.h"
#include "rules/support/words.h"

namespace smdebug::rules {
namespace {

struct Limits {
  int64_t patience_train;
  int64_t patience_validation;
  double delta;
  bool delta_is_relative;
  bool needs_both;
  int64_t train_window;
  bool whole_evaluations;
  std::optional<double> rise_percent;
};

struct Mean {
  double sum = 0;
  int64_t count = 0;

  void Add(double value) {
    sum += value;
    ++count;
  }
  double Get() const { return sum / static_cast<double>(count); }
};

// The part of its first value by which the training loss must have fallen: a model that has not
// learned has nothing to lose.
constexpr double kLearned = 0.1;

// Holds the best value of a loss and the number of points since then.
struct Progress {
  double first = INFINITY;
  double best = INFINITY;
  int64_t step_of_best = -1;
  int64_t points_since = 0;
  double now = INFINITY;

  void Add(double point, int64_t step, const Limits &limits) {
    const double delta = limits.delta_is_relative && std::isfinite(best)
                             ? limits.delta * std::abs(best)
                             : limits.delta;
    if (step_of_best < 0) first = point;
    now = point;
    if (point < best - delta) {
      best = point;
      step_of_best = step;
      points_since = 0;
    } else {
      ++points_since;
    }
  }
  bool HasLearned() const { return first - best >= kLearned * std::abs(first); }
};

struct Training {
  Mean window;
  int64_t batches = 0;
  Progress progress;
};

struct Validation {
  Mean pass;
  int64_t batches_before = 0;  // in the previous pass
  int64_t training_batches = -1;
  Progress progress;
};

class Overtraining final : public Rule {
 public:
  Overtraining(Selector selector, const Limits &limits)
      : Rule("Overtraining"), selector_(std::move(selector)), limits_(limits) {}

  bool Wants(std::string_view tensor, const Membership &membership) const override {
    return selector_.Matches(tensor, membership);
  }

  void Observe(const Sample &sample, Findings &) override { losses_.Note(sample); }

  void EndStep(Findings &findings) override {
    for (const LossesOfStep::Item &loss : losses_.Take()) {
      NoteEvaluated();
      Training &training = training_.Of(loss.worker, loss.loss);
      if (loss.is_of_validation) {
        AddValidation(loss, training, findings);
      } else {
        AddTraining(loss, training, findings);
      }
    }
  }

  std::string Missing() const override { return "a loss"; }

 private:
  void AddTraining(const LossesOfStep::Item &loss, Training &training, Findings &findings) {
    ++training.batches;
    training.window.Add(loss.value);
    if (training.window.count < limits_.train_window) return;
    Progress &progress = training.progress;
    progress.Add(std::exchange(training.window, {}).Get(), findings.Place().step, limits_);
    if (!limits_.needs_both && progress.points_since >= limits_.patience_train) {
      Tell(loss, progress, limits_.patience_train, "training", findings);
    }
  }

  void AddValidation(const LossesOfStep::Item &loss, const Training &training, Findings &findings) {
    Validation &validation = validation_.Of(loss.worker, loss.tensor);
    if (!AddToPass(loss.value, training.batches, findings.Place().step, &validation)) return;
    const Progress &progress = validation.progress;
    if (progress.points_since < limits_.patience_validation) return;
    const Progress &of_training = training.progress;
    const bool is_ready =
        of_training.points_since >= limits_.patience_train && of_training.HasLearned();
    if (limits_.needs_both && !is_ready) return;
    Tell(loss, progress, limits_.patience_validation, "validation", findings);
  }

  // Returns true if the value completed a point.  The data does not mark the last batch of an
  // evaluation, so each evaluation is assumed to be as long as the previous one.  The first
  // evaluation makes no point.
  bool AddToPass(double value, int64_t training_batches, int64_t step,
                 Validation *validation) const {
    Mean &pass = validation->pass;
    if (training_batches != validation->training_batches) {
      validation->training_batches = training_batches;
      validation->batches_before = std::exchange(pass, {}).count;
    }
    pass.Add(value);
    if (limits_.whole_evaluations && pass.count != validation->batches_before) return false;
    validation->progress.Add(limits_.whole_evaluations ? pass.Get() : value, step, limits_);
    return true;
  }

  void Tell(const LossesOfStep::Item &loss, const Progress &progress, int64_t patience,
            std::string_view check, Findings &findings) const {
    Finding finding;
    finding.worker = loss.worker;
    finding.tensor = loss.tensor;
    finding.check = check;
    if (limits_.rise_percent && HasRisenLittle(progress)) finding.level = Level::kWorthALook;
    finding.value = static_cast<double>(progress.points_since);
    finding.limit = static_cast<double>(patience);
    finding.message = StrCat("the loss '", loss.tensor, "' of ", check, " was best at step ",
                             progress.step_of_best, " with ", Shortest(progress.best), ", ",
                             progress.points_since, " points ago; the patience is ", patience);
    findings.Add(std::move(finding));
  }

  bool HasRisenLittle(const Progress &progress) const {
    return progress.now - progress.best < *limits_.rise_percent / 100 * std::abs(progress.best);
  }

  const Selector selector_;
  const Limits limits_;
  LossesOfStep losses_;
  TensorStates<Training> training_;
  TensorStates<Validation> validation_;
};

constexpr ParameterSpec kParameters[] = {
    {"tensor_regex", "None", "None",
     "expressions found in the names of tensors to check, separated by commas; None: losses"},
    {"patience_train", "5", "20",
     "number of points without a better training loss before a finding"},
    {"patience_validation", "10", "10",
     "number of points without a better validation loss before a finding"},
    {"delta", "0.01", "0.01", "minimum decrease that counts as better"},
    {"relative_delta", "False", "True", "true takes delta relative to the best loss"},
    {"require_both", "False", "True",
     "true requires that training and validation have both stopped improving"},
    {"train_window", "1", "5", "number of training losses whose mean is one point"},
    {"whole_evaluations", "False", "True",
     "true combines the validation losses between two training steps into one point"},
    {"rise_percent", "None", "5",
     "a loss that is above its best value by less is worth a look, no finding"},
};

Result<std::unique_ptr<Rule>> Make(const Parameters &parameters) {
  Limits limits{};
  SMD_ASSIGN_OR_RETURN(limits.patience_train, parameters.Whole("patience_train", 1, 1'000'000));
  SMD_ASSIGN_OR_RETURN(limits.patience_validation,
                       parameters.Whole("patience_validation", 1, 1'000'000));
  SMD_ASSIGN_OR_RETURN(limits.delta, parameters.Number("delta", 0, 1e300));
  SMD_ASSIGN_OR_RETURN(limits.delta_is_relative, parameters.Switch("relative_delta"));
  SMD_ASSIGN_OR_RETURN(limits.needs_both, parameters.Switch("require_both"));
  SMD_ASSIGN_OR_RETURN(limits.train_window, parameters.Whole("train_window", 1, 10'000));
  SMD_ASSIGN_OR_RETURN(limits.whole_evaluations, parameters.Switch("whole_evaluations"));
  SMD_ASSIGN_OR_RETURN(limits.rise_percent, parameters.OptionalNumber("rise_percent"));
  if (limits.rise_percent && !(*limits.rise_percent >= 0)) {
    return parameters.Refuse("rise_percent must be at least 0, or None");
  }
  SMD_ASSIGN_OR_RETURN(Selector selector, SelectLosses(parameters));
  return std::unique_ptr<Rule>(std::make_unique<Overtraining>(std::move(selector), limits));
}

}  // namespace

const RuleSpec kOvertraining = {
    "Overtraining", "a loss of training or validation has stopped improving", kParameters, Make};

}  // namespace smdebug::rules
