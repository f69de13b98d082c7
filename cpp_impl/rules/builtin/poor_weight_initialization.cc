// Finds trainings that fail to start because of their initial weights.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "base/strings.h"
#include "rules/builtin/builtin_rules.h"
#include "rules/support/chance_level.h"
#include "rules/support/named_tensors.h"
#include "rules/support/roles.h"
#include "rules/support/tensor_names.h"
#include "rules/support/tensor_states.h"
#include "rules/support/told.h"
#include "rules/support/unused_gradients.h"
#include "rules/support/words.h"

namespace smdebug::rules {
namespace {

struct Options {
  double threshold;
  double distribution_range;
  bool layers_only;
  int64_t patience;
  int64_t steps;
  int64_t least_checks;
  bool loss_scaling;
  bool skip_learned;
  std::optional<double> first_loss;
};

// A loss below this part of what a model without knowledge has was learned before.
constexpr double kPartOfChance = 0.7;
// Beyond so many times that level, a first loss is a clue.
constexpr double kLargeFirstLoss = 3;
// A loss that is the sum over a batch, not the mean, lies between these parts of as many times that
// level.
constexpr double kLeastOfSum = 0.7;
constexpr double kLeastOfSquares = 0.4;
constexpr double kMostOfSum = 1.5;
// A loss below this value cannot fall much further, whatever its targets.
constexpr double kFloor = 1e-4;

// The checks are ordered by how well their tensors name the culprit, best first.
enum Check : size_t { kVariance, kGradients, kLoss, kChecks };
constexpr std::string_view kLabels[kChecks] = {"variance", "gradients", "loss"};

using FindingByCheck = std::array<std::optional<Finding>, kChecks>;

// Holds a figure and the tensor that has it.
struct Extreme {
  std::string tensor;
  double value = kNoNumber;

  bool IsKnown() const { return !tensor.empty(); }
  void Take(const Sample &sample, double other) { Take(std::string(sample.Tensor()), other); }
  void Take(std::string name, double other) { *this = {std::move(name), other}; }
};

// Collects observations of one worker's first steps.
class Beginning {
 public:
  explicit Beginning(const Options &options) : options_(options) {}

  void AddActivation(const Sample &sample) {
    const std::optional<double> variance = sample.Reduce({tensor::ReductionKind::kVariance});
    if (!variance || !(*variance >= 0)) return;
    if (!least_.IsKnown() || *variance < least_.value) least_.Take(sample, *variance);
    if (!most_.IsKnown() || *variance > most_.value) most_.Take(sample, *variance);
    ++activations_;
  }

  void AddGradient(const Sample &sample) {
    const bool is_zero = IsZero(sample);
    unused_.Note(sample.Tensor(), IsOfLayer(sample), is_zero);
    // A bias that a later normalisation cancels has no gradient.  This does no harm.
    if (options_.layers_only && !IsOfLayer(sample)) return;
    if (options_.loss_scaling && !IsFinite(sample)) {
      is_skipped_ = true;
      return;
    }
    // A single number has no distribution.
    const tensor::View *elements = sample.RealElements();
    if (elements == nullptr || elements->ElementCount() < 2) return;
    const auto ends = sample.Quantiles({0.05, 0.95});
    if (!ends) return;
    const double range = (*ends)[1] - (*ends)[0];
    if (options_.layers_only && range == 0 && IsSparse(sample)) return;
    if (options_.layers_only && is_zero && unused_.IsOneOf(sample.Tensor())) return;
    if (!narrowest_.IsKnown() || range < narrowest_.value) narrowest_.Take(sample, range);
  }

  void AddLoss(const Sample &sample) {
    const std::optional<double> loss = sample.Reduce({tensor::ReductionKind::kMean});
    if (loss) losses_now_.emplace_back(sample.Tensor(), *loss);
  }
  void AddTarget(std::string_view loss, const Sample &sample) {
    Targets &targets = targets_.Of("", loss);
    targets.level.Add(sample);
    const tensor::View *form = sample.Form();
    if (targets.first == 0 && form != nullptr) targets.first = form->ElementCount();
  }

  // Judges the first loss, once there were enough targets.
  void EndSteps(std::string_view worker, Findings &findings) {
    for (const auto &[name, loss] : losses_) {
      const std::string_view of_output = LossOfOutput(name);
      if (of_output.empty()) continue;
      const Targets &targets = targets_.Of("", of_output);
      const std::optional<double> level = targets.level.OfNothing();
      if (!level || !(*level > 0)) continue;
      const double of_sum = loss.first / *level / static_cast<double>(targets.first);
      const double least = targets.level.IsOfClasses() ? kLeastOfSum : kLeastOfSquares;
      if (of_sum > least && of_sum < kMostOfSum) continue;
      const auto say = [&, &name = name, first = loss.first](double factor) {
        return FindingOf(
            {std::string(worker), name}, kLabels[kLoss], first, factor * *level,
            StrCat("the loss '", name, "' begins at ", Shortest(first), ", above the limit of ",
                   Shortest(factor * *level), "; usual is at most about ", Shortest(*level)));
      };
      if (loss.first > kLargeFirstLoss * *level) {
        Finding clue = say(kLargeFirstLoss);
        clue.check = "large_first_loss";
        findings.AddClue(std::move(clue));
      }
      if (options_.first_loss && loss.first > *options_.first_loss * *level) {
        Finding finding = say(*options_.first_loss);
        finding.check = "first_loss";
        findings.Add(std::move(finding));
      }
    }
  }

  // Appends the findings of the step that ends.  Returns true if there was something to evaluate.
  bool EndStep(const std::string &worker, FindingByCheck *at_step) {
    // A step whose gradients overflowed changed nothing: the loss had no reason to fall.  A loss
    // that is not finite either is no overflow of scaled gradients.
    for (const auto &[name, loss] : losses_now_) {
      if (!is_skipped_ || !std::isfinite(loss)) EvaluateLoss(name, loss);
    }
    losses_now_.clear();
    is_skipped_ = false;
    const bool can_evaluate = activations_ > 1 || narrowest_.IsKnown() || has_second_loss_;
    if (activations_ > 1 && most_.value > options_.threshold * least_.value) {
      (*at_step)[kVariance] = SpreadFinding(worker);
    }
    if (narrowest_.IsKnown() && narrowest_.value < options_.distribution_range) {
      (*at_step)[kGradients] =
          FindingOf({std::string(worker), narrowest_.tensor}, kLabels[kGradients], narrowest_.value,
                    options_.distribution_range,
                    StrCat("nine tenths of the gradient '", narrowest_.tensor, "' lie within ",
                           Shortest(narrowest_.value), " of each other; the limit is ",
                           Shortest(options_.distribution_range)));
    }
    if (stuck_.IsKnown()) {
      (*at_step)[kLoss] = FindingOf({std::string(worker), stuck_.tensor}, kLabels[kLoss],
                                    stuck_.value, static_cast<double>(options_.patience),
                                    StrCat("the loss '", stuck_.tensor, "' has not decreased for ",
                                           Shortest(stuck_.value), " steps"));
    }
    had_wide_gradients_ = narrowest_.IsKnown() && !(*at_step)[kGradients];
    activations_ = 0;
    least_ = most_ = narrowest_ = stuck_ = {};
    return can_evaluate;
  }

  // Returns true if the last step had gradients, and none was too narrow.
  bool HadWideGradients() const { return had_wide_gradients_; }

 private:
  static bool IsZero(const Sample &sample) {
    const tensor::Statistics *statistics = sample.GetStatistics();
    return statistics != nullptr && statistics->zero_count == statistics->count;
  }
  // Few rows of an embedding have a gradient in one step, and few weights that pruning has left.
  static bool IsSparse(const Sample &sample) {
    const tensor::Statistics *statistics = sample.GetStatistics();
    return statistics != nullptr && statistics->zero_count < statistics->count && IsFinite(sample);
  }
  struct Targets {
    ChanceLevel level;
    int64_t first = 0;  // how many at the first step
  };
  struct Loss {
    double least;
    int64_t steps;  // since the least loss
    double first;
  };

  static bool IsFinite(const Sample &sample) {
    const tensor::Statistics *statistics = sample.GetStatistics();
    return statistics == nullptr || statistics->nan_count + statistics->inf_count == 0;
  }

  bool WasLearned(const std::string &name, double loss) {
    if (!options_.skip_learned) return false;
    if (loss < kFloor) return true;
    const std::string_view of_output = LossOfOutput(name);
    if (of_output.empty()) return false;
    const std::optional<double> level = targets_.Of("", of_output).level.Get();
    return level && loss < kPartOfChance * *level;
  }

  void EvaluateLoss(const std::string &name, double loss) {
    const auto [known, is_new] = losses_.try_emplace(name, Loss{loss, 0, loss});
    Loss &best = known->second;
    if (is_new) return;
    has_second_loss_ = true;
    if (loss < best.least || WasLearned(name, loss)) {
      best = {std::min(loss, best.least), 0, best.first};
    } else if (++best.steps >= options_.patience && !stuck_.IsKnown()) {
      stuck_.Take(name, static_cast<double>(best.steps));
    }
  }

  Finding SpreadFinding(const std::string &worker) const {
    const double ratio = most_.value / least_.value;
    return FindingOf(
        {std::string(worker), least_.tensor}, kLabels[kVariance], ratio, options_.threshold,
        StrCat("the variance of '", most_.tensor, "' is ", Shortest(ratio), " times that of '",
               least_.tensor, "'; the limit is ", Shortest(options_.threshold)));
  }

  Options options_;
  int64_t activations_ = 0;
  Extreme least_, most_;  // variances
  Extreme narrowest_;     // gradient
  UnusedGradients unused_;
  Extreme stuck_;  // loss
  std::map<std::string, Loss> losses_;
  std::vector<std::pair<std::string, double>> losses_now_;
  TensorStates<Targets> targets_;  // by loss
  bool is_skipped_ = false;        // this step
  bool had_wide_gradients_ = false;
  bool has_second_loss_ = false;
};

class PoorWeightInitialization final : public Rule {
 public:
  // Each role is a Check.
  PoorWeightInitialization(Roles roles, const Options &options)
      : Rule("PoorWeightInitialization"), roles_(std::move(roles)), options_(options) {}

  std::optional<size_t> RoleOf(std::string_view tensor,
                               const Membership &membership) const override {
    if (LossOfTarget(tensor).empty()) return roles_.Of(tensor, membership);
    const bool is_used = options_.skip_learned && IsTargetOfMean(tensor, membership);
    return is_used ? std::optional<size_t>(kChecks) : std::nullopt;
  }

  void Observe(const Sample &sample, Findings &) override {
    const StepPlace &place = sample.Place();
    if (!IsTraining(place.mode)) return;
    if (place.mode_step >= options_.steps) {
      if (place.mode == Mode::kTrain) NoteFinished();
      is_over_ = true;
      return;
    }
    const auto known = workers_.try_emplace(std::string(sample.Worker()), options_).first;
    Beginning &beginning = known->second.beginning;
    if (const std::string_view loss = LossOfTarget(sample.Tensor()); !loss.empty()) {
      if (options_.skip_learned) beginning.AddTarget(loss, sample);
      return;
    }
    switch (sample.Role()) {
      case kVariance: return beginning.AddActivation(sample);
      case kGradients: return beginning.AddGradient(sample);
      case kLoss: return beginning.AddLoss(sample);
      default: return;
    }
  }

  void EndStep(Findings &findings) override {
    if (is_over_ && options_.skip_learned && !std::exchange(has_told_, true)) {
      for (auto &[name, worker] : workers_) worker.beginning.EndSteps(name, findings);
    }
    for (auto &[name, worker] : workers_) {
      FindingByCheck at_step;
      if (worker.beginning.EndStep(name, &at_step)) NoteEvaluated();
      if (options_.least_checks == 1) {
        for (std::optional<Finding> &finding : at_step) {
          if (finding) findings.Add(*std::move(finding));
        }
      } else {
        AddTogether(at_step, worker.beginning.HadWideGradients(), &worker.met, findings);
      }
    }
  }

  std::string Missing() const override {
    return StrCat("inputs of two activations, gradients or losses in the first ", options_.steps,
                  " steps");
  }

 private:
  struct Worker {
    explicit Worker(const Options &options) : beginning(options) {}
    Beginning beginning;
    FindingByCheck met;  // the last finding of each check
  };

  // Adds one finding when enough checks have failed, at the same step or at different steps.
  // `has_wide_gradients` tells that this step has gradients, none of which is too narrow.
  void AddTogether(FindingByCheck &at_step, bool has_wide_gradients, FindingByCheck *met,
                   Findings &findings) const {
    bool is_new = false;
    for (size_t check = 0; check < kChecks; ++check) {
      if (!at_step[check]) continue;
      (*met)[check] = std::move(at_step[check]);
      is_new = true;
    }
    // An adapter begins with a factor of zeros, and the gradient of the other one is zero until the
    // first update.
    std::optional<Finding> &gradients = (*met)[kGradients];
    if (has_wide_gradients && gradients && gradients->value == 0) gradients.reset();
    std::optional<Finding> together;
    int64_t checks = 0;
    for (const std::optional<Finding> &finding : *met) {
      if (!finding) continue;
      ++checks;
      if (!together) {
        together = finding;
        continue;
      }
      together->check += StrCat("+", finding->check);
      together->message += StrCat("; ", finding->message);
    }
    if (is_new && checks >= options_.least_checks) findings.Add(*std::move(together));
  }

  const Roles roles_;
  const Options options_;
  std::map<std::string, Worker> workers_;
  bool is_over_ = false;
  bool has_told_ = false;
};

constexpr ParameterSpec kParameters[] = {
    {"activation_inputs_regex", kReluInputs, kActivationInputs,
     "expressions found in the names of inputs of activations, separated by commas; the default "
     "matches names of MXNet, PyTorch and Keras, and adds the collection relu_input"},
    {"threshold", "10.0", "1000.0", "maximum ratio of the largest variance to the smallest"},
    {"distribution_range", "0.001", "1e-7",
     "minimum distance between the 5th and the 95th percentile of a gradient"},
    {"layers_only", "False", "True",
     "true skips gradients of biases and other tensors with one axis"},
    {"patience", "5", "5", "number of consecutive steps without a lower loss before a finding"},
    {"steps", "10", "10", "number of first steps to evaluate"},
    {"least_checks", "1", "2",
     "how many of the three checks (variance, gradients, loss) must fail"},
    {"loss_scaling", "False", "True",
     "true leaves out gradients that are not finite, and the loss of their step, as loss scaling "
     "skips it"},
    {"first_loss", "None", "10",
     "maximum of the first loss, relative to that of a guess; known for cross entropies and, with "
     "1 "
     "more, squared errors"},
    {"skip_learned", "False", "True",
     "true allows a loss far below that of a model without knowledge to stay, as where a training "
     "resumes"},
    kSample,
};

Result<std::unique_ptr<Rule>> Make(const Parameters &parameters) {
  Options options{};
  SMD_ASSIGN_OR_RETURN(options.threshold, parameters.Positive("threshold"));
  SMD_ASSIGN_OR_RETURN(options.distribution_range, parameters.Positive("distribution_range"));
  SMD_ASSIGN_OR_RETURN(options.layers_only, parameters.Switch("layers_only"));
  SMD_ASSIGN_OR_RETURN(options.patience, parameters.Whole("patience", 1, 1'000'000));
  SMD_ASSIGN_OR_RETURN(options.steps, parameters.Whole("steps", 1, int64_t{1} << 53));
  SMD_ASSIGN_OR_RETURN(options.least_checks, parameters.Whole("least_checks", 1, kChecks));
  SMD_ASSIGN_OR_RETURN(options.loss_scaling, parameters.Switch("loss_scaling"));
  SMD_ASSIGN_OR_RETURN(options.skip_learned, parameters.Switch("skip_learned"));
  SMD_ASSIGN_OR_RETURN(options.first_loss, parameters.OptionalNumber("first_loss"));
  if (options.first_loss && !(*options.first_loss > 1)) {
    return parameters.Refuse("first_loss must be above 1, or None");
  }
  SMD_ASSIGN_OR_RETURN(Selector activations,
                       TensorsByRole(parameters, "activation_inputs_regex", {"relu_input"}));
  SMD_ASSIGN_OR_RETURN(Selector gradients, Selector::Make({"gradients"}, {}));
  SMD_ASSIGN_OR_RETURN(Selector losses, Selector::Make({"losses"}, {}));
  return std::unique_ptr<Rule>(std::make_unique<PoorWeightInitialization>(
      Roles({std::move(activations), std::move(gradients), std::move(losses)}), options));
}

}  // namespace

const RuleSpec kPoorWeightInitialization = {
    "PoorWeightInitialization",
    "in the first steps, layers differ too much in variance, gradients are too narrow, or the loss "
    "is too large or does not decrease",
    kParameters, Make};

}  // namespace smdebug::rules
