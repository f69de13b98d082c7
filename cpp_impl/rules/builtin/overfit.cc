// Finds a loss that is higher on validation data than on training data.
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/strings.h"
#include "rules/builtin/builtin_rules.h"
#include "rules/support/chance_level.h"
#include "rules/support/loss_names.h"
#include "rules/support/selector.h"
#include "rules/support/tensor_states.h"
#include "rules/support/words.h"

namespace smdebug::rules {
namespace {

// A training loss below this value is too small for a ratio.
constexpr double kLeastLoss = 1e-8;

// A gap is worth a look if the training loss has halved since the validation loss last improved by
// this share.
constexpr double kHalved = 2;
constexpr double kLeastGain = 0.1;
// A validation loss below this part of what a model without knowledge has is no problem.
constexpr double kSmallPartOfChance = 0.1;
// Neither is one that has risen by less than this part of that.
constexpr double kLeastRiseOfChance = 0.05;
// The validation loss has risen if it did by this many standard errors, which are known from the
// batches of so many passes.  Its best value is one that chance made low.
constexpr double kSignificance = 2.5;
constexpr int64_t kLeastDegrees = 3;
// Training losses that differ by less are one entry of a history.
constexpr double kHistoryStep = 1.02;

struct Limits {
  int64_t start_step;
  int64_t patience;
  double ratio;
  // The loss must have risen above its best value by this percentage; nothing: no such condition.
  std::optional<double> rise_percent;
  // The training loss must be below its first value, and below the validation loss, by this
  // percentage of its first value.
  double gap_percent;
  // The ratio from which a growing gap is worth a look; nothing: never.
  std::optional<double> look_ratio;
};

struct Mean {
  double sum = 0;
  double squares = 0;
  int64_t count = 0;
  void Add(double value) {
    sum += value;
    squares += value * value;
    ++count;
  }
  // The sum of squared distances from the mean.
  double Spread() const { return std::max(0.0, squares - sum * Get()); }
  double Get() const { return sum / static_cast<double>(count); }
};

// Remembers how low the validation loss was when the training loss reached its lowest values.
class History {
 public:
  void Note(double training, double best) {
    if (!steps_.empty() && training * kHistoryStep > steps_.back().training) return;
    if (steps_.size() < kMostSteps) steps_.push_back({training, best});
  }
  // Returns the best validation loss up to the last time at which the training loss was at least
  // `training`, or nothing.
  std::optional<double> BestAt(double training) const {
    const auto after = std::find_if(steps_.begin(), steps_.end(),
                                    [&](const Step &step) { return step.training < training; });
    if (after == steps_.begin()) return {};
    return std::prev(after)->best;
  }

 private:
  static constexpr size_t kMostSteps = 10'000;
  struct Step {
    double training;
    double best;
  };
  std::vector<Step> steps_;
};

// Tracks one validation loss over several evaluation passes, with training in between.
struct Evaluations {
  Mean pass;
  int64_t batches_before = 0;  // in the previous pass
  Mean training_at_pass;       // all training before this pass
  double training_loss = 0;    // between the previous pass and this one
  double first_loss = 0;       // training loss before the first pass
  double best = INFINITY;      // of the previous passes
  int64_t exceeding = 0;       // consecutive previous passes
  int64_t widening = 0;        // consecutive previous passes with a gap that is worth a look
  History history;             // of the previous passes
  double spread = 0;           // of batches around the mean of their pass, squared, of all passes
  int64_t degrees = 0;         // of freedom of that spread
  bool is_small = false;       // far below the loss of a model without knowledge
  double least_rise = 0;       // that counts
  bool is_reported = false;    // this pass was reported
};

class Overfit final : public Rule {
 public:
  Overfit(Selector selector, const Limits &limits)
      : Rule("Overfit"), selector_(std::move(selector)), limits_(limits) {}

  bool Wants(std::string_view tensor, const Membership &membership) const override {
    return LossOfTarget(tensor).empty()
               ? selector_.Matches(tensor, membership)
               : limits_.rise_percent && IsTargetOfMean(tensor, membership);
  }

  void Observe(const Sample &sample, Findings &) override {
    if (const std::string_view loss = LossOfTarget(sample.Tensor()); !loss.empty()) {
      if (limits_.rise_percent) levels_.Of(sample.Worker(), loss).Add(sample);
      return;
    }
    if (sample.Place().step >= limits_.start_step) losses_.Note(sample);
  }

  void EndStep(Findings &findings) override {
    for (const LossesOfStep::Item &loss : losses_.Take()) {
      if (!std::isfinite(loss.value)) continue;
      Mean &training = training_.Of(loss.worker, loss.loss);
      if (!loss.is_of_validation) {
        training.Add(loss.value);
      } else if (training.count > 0) {
        Evaluations &evaluations = evaluations_.Of(loss.worker, loss.tensor);
        Add(loss.value, training, &evaluations);
        const double chance = ChanceOf(loss);
        evaluations.is_small = chance > 0 && evaluations.pass.Get() < kSmallPartOfChance * chance;
        evaluations.least_rise = kLeastRiseOfChance * chance;
        Evaluate(loss, evaluations, findings);
      }
    }
  }

  std::string Missing() const override { return "a loss at steps of training and of validation"; }

 private:
  void Add(double loss, const Mean &training, Evaluations *evaluations) const {
    if (training.count != evaluations->training_at_pass.count) {
      if (evaluations->pass.count > 0) Close(evaluations);
      const Mean &before = evaluations->training_at_pass;
      evaluations->training_loss =
          (training.sum - before.sum) / static_cast<double>(training.count - before.count);
      if (before.count == 0) evaluations->first_loss = evaluations->training_loss;
      evaluations->training_at_pass = training;
    }
    evaluations->pass.Add(loss);
  }

  // Returns the loss of a model without knowledge, or 0 if it is not known.
  double ChanceOf(const LossesOfStep::Item &loss) {
    const std::string_view name = LossOfOutput(loss.tensor);
    return name.empty() ? 0 : levels_.Of(loss.worker, name).Get().value_or(0);
  }

  void Close(Evaluations *evaluations) const {
    evaluations->exceeding = Exceeds(*evaluations) ? evaluations->exceeding + 1 : 0;
    evaluations->widening = Widens(*evaluations) ? evaluations->widening + 1 : 0;
    evaluations->best = std::min(evaluations->best, evaluations->pass.Get());
    evaluations->history.Note(evaluations->training_loss, evaluations->best);
    evaluations->spread += evaluations->pass.Spread();
    evaluations->degrees += evaluations->pass.count - 1;
    evaluations->batches_before = evaluations->pass.count;
    evaluations->pass = {};
    evaluations->is_reported = false;
  }

  static double RatioOf(const Evaluations &evaluations) {
    return (evaluations.pass.Get() - evaluations.training_loss) /
           std::abs(evaluations.training_loss);
  }

  bool Exceeds(const Evaluations &evaluations) const {
    return HasRisen(evaluations) && HasGap(evaluations, limits_.ratio);
  }

  bool HasRisen(const Evaluations &evaluations) const {
    if (!limits_.rise_percent) return true;
    if (evaluations.is_small) return false;
    const double rise = evaluations.pass.Get() - evaluations.best;
    return rise * 100 > *limits_.rise_percent * std::abs(evaluations.best) &&
           rise > evaluations.least_rise && rise > kSignificance * ErrorOf(evaluations);
  }

  // Returns the standard error of the pass's mean, or 0 if it is not known.
  static double ErrorOf(const Evaluations &evaluations) {
    const double spread = evaluations.spread + evaluations.pass.Spread();
    const int64_t degrees = evaluations.degrees + evaluations.pass.count - 1;
    if (degrees < kLeastDegrees) return 0;
    return std::sqrt(spread / static_cast<double>(degrees * evaluations.pass.count));
  }

  // Returns true if training improves and validation does not: the model learns its data by heart,
  // even though the validation loss has not risen.
  bool Widens(const Evaluations &evaluations) const {
    if (!limits_.look_ratio || !HasGap(evaluations, *limits_.look_ratio)) return false;
    if (evaluations.training_loss <= 0 || evaluations.is_small) return false;
    const auto then = evaluations.history.BestAt(kHalved * evaluations.training_loss);
    const double best = std::min(evaluations.best, evaluations.pass.Get());
    return then && best > (1 - kLeastGain) * *then;
  }

  bool HasGap(const Evaluations &evaluations, double ratio) const {
    if (std::abs(evaluations.training_loss) < kLeastLoss) return false;
    const double gap = evaluations.pass.Get() - evaluations.training_loss;
    const double least = limits_.gap_percent / 100 * std::abs(evaluations.first_loss);
    // A model that has not learned cannot have memorised its data.
    const bool has_learned = evaluations.first_loss - evaluations.training_loss >= least;
    const bool matters = limits_.gap_percent == 0 || (gap >= least && has_learned);
    return matters && RatioOf(evaluations) > ratio;
  }

  // The data does not mark the last batch of a pass.  A pass as long as the previous one counts as
  // complete.
  void Evaluate(const LossesOfStep::Item &loss, Evaluations &evaluations, Findings &findings) {
    if (evaluations.is_reported || evaluations.pass.count < evaluations.batches_before) return;
    NoteEvaluated();
    if (Exceeds(evaluations) && evaluations.exceeding + 1 >= limits_.patience) {
      Report(loss, evaluations, Level::kFinding, findings);
    } else if (Widens(evaluations) && evaluations.widening + 1 >= limits_.patience) {
      Report(loss, evaluations, Level::kWorthALook, findings);
    }
  }

  void Report(const LossesOfStep::Item &loss, Evaluations &evaluations, Level level,
              Findings &findings) const {
    const bool is_finding = level == Level::kFinding;
    evaluations.is_reported = true;
    Finding finding;
    finding.level = level;
    finding.check = is_finding ? "" : "gap";
    finding.worker = loss.worker;
    finding.tensor = loss.tensor;
    finding.value = RatioOf(evaluations);
    finding.limit = is_finding ? limits_.ratio : *limits_.look_ratio;
    finding.message = StrCat("the loss '", loss.tensor, "' is ", Shortest(evaluations.pass.Get()),
                             " in validation and ", Shortest(evaluations.training_loss),
                             " in training, ", Shortest(100 * finding.value),
                             " % more; the limit is ", Shortest(100 * finding.limit), " %",
                             is_finding ? "" : "; training improves, and validation does not");
    findings.Add(std::move(finding));
  }

  const Selector selector_;
  const Limits limits_;
  LossesOfStep losses_;
  TensorStates<Mean> training_;
  TensorStates<Evaluations> evaluations_;
  TensorStates<ChanceLevel> levels_;  // by loss
};

constexpr ParameterSpec kParameters[] = {
    {"tensor_regex", "None", "None",
     "expressions found in the names of tensors to check, separated by commas; None: losses"},
    {"start_step", "0", "0", "first global step to evaluate"},
    {"patience", "1", "3", "number of consecutive evaluations above the limit before a finding"},
    {"ratio_threshold", "0.1", "0.1",
     "maximum excess of the validation loss over the training loss, relative to the training loss"},
    {"gap_percent", "0", "10",
     "percentage of its first value by which the training loss must be below that value and below "
     "the validation loss"},
    {"rise_percent", "None", "10",
     "percentage by which the validation loss must have risen above its best value; None: no such "
     "condition"},
    {"look_ratio", "None", "1",
     "excess as of ratio_threshold that is worth a look if the training loss halves while the "
     "validation loss improves by less than 10 %; None: never"},
};

Result<std::unique_ptr<Rule>> Make(const Parameters &parameters) {
  Limits limits{};
  SMD_ASSIGN_OR_RETURN(limits.start_step, parameters.Whole("start_step", 0, int64_t{1} << 53));
  SMD_ASSIGN_OR_RETURN(limits.patience, parameters.Whole("patience", 1, 1'000'000));
  SMD_ASSIGN_OR_RETURN(limits.ratio, parameters.Number("ratio_threshold", 0, 1e300));
  SMD_ASSIGN_OR_RETURN(limits.gap_percent, parameters.Number("gap_percent", 0, 1e300));
  SMD_ASSIGN_OR_RETURN(limits.rise_percent, parameters.OptionalNumber("rise_percent"));
  SMD_ASSIGN_OR_RETURN(limits.look_ratio, parameters.OptionalNumber("look_ratio"));
  SMD_ASSIGN_OR_RETURN(Selector selector, SelectLosses(parameters));
  return std::unique_ptr<Rule>(std::make_unique<Overfit>(std::move(selector), limits));
}

}  // namespace

const RuleSpec kOverfit = {"Overfit",
                           "the validation loss exceeds the training loss by more than the ratio",
                           kParameters, Make};

}  // namespace smdebug::rules
