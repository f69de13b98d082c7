// Finds a loss that has not fallen, or has risen.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "base/strings.h"
#include "rules/builtin/builtin_rules.h"
#include "rules/support/batches_per_update.h"
#include "rules/support/chance_level.h"
#include "rules/support/culprits.h"
#include "rules/support/held_out_loss.h"
#include "rules/support/loss_curve.h"
#include "rules/support/loss_names.h"
#include "rules/support/opponents.h"
#include "rules/support/sample_states.h"
#include "rules/support/selector.h"
#include "rules/support/tensor_names.h"
#include "rules/support/tensor_states.h"
#include "rules/support/told.h"
#include "rules/support/update_counts.h"
#include "rules/support/words.h"

namespace smdebug::rules {
namespace {

struct Limits {
  CurveWindow compared;
  double fall_percent;
  double rise_percent;
  // A loss below this value cannot fall further.
  std::optional<double> floor;
  // A loss that fell by this percentage since the start may stay constant.
  std::optional<double> learned_percent;
  // A loss that never fell is found only so many steps after the first one.
  int64_t start_steps;
  bool is_of_2019;
  bool asks_names;  // which losses need not fall; who names tensors wants them judged
};

// A loss below this part of what a model without knowledge has was learned.
constexpr double kPartOfChance = 0.7;
// One above this part of it was not; targets may be hard to predict.  After more updates, neither
// was one that is a little lower, and in between it is in between.
constexpr double kAtChance = 0.999;
constexpr double kAtChanceLater = 0.99;
constexpr double kLater = 2.5;  // times start_steps
// While the learning rate rises, a loss has more time.
constexpr int64_t kLastingRise = 50;  // steps after it rose last
constexpr double kLongestWarmUp = 6;  // times start_steps
// An update by fewer samples counts less.
constexpr double kSmallBatch = 8;
// A loss of the wrong sign falls ever faster, to this many times its first value below 0.
constexpr double kEndless = 10;
// That of counts lacks the term that only the targets decide, and is far below 0 for large ones.
constexpr std::string_view kOfCounts = "PoissonNLL";
// A fall counts if it exceeds its standard error by this factor.
constexpr double kSignificance = 2;
// A rise of a few losses has to exceed more.
constexpr double kSignificanceOfRise = 4;
constexpr double kSmallPartOfChance = 0.2;
// A model that knows nothing may be this much worse than the best constant prediction, and needs so
// many steps to become as good.
constexpr double kWorseThanConstant = 1.5;
constexpr int64_t kStepsToConstant = 40;
constexpr double kWorseThanFirst = 2;
// A loss that begins this near 0 measures no distance from the targets: that of a policy beside the
// one it began as is 0 at first, and small while it learns.
constexpr double kNearZero = 0.05;
constexpr double kStillSmall = 0.5;

enum Role : size_t { kLoss, kTarget, kWeight, kRate, kSummed };
constexpr std::string_view kRates = "learning_rate/";

// Selects the steps that are compared with each other.
enum class Choice { kAny, kTraining, kEval, kTrain, kGlobal };

// Tells whether a learning rate warms up: it rises above all before it.
class WarmUp {
 public:
  void Note(const Sample &rate) {
    const auto now = rate.Reduce({tensor::ReductionKind::kMax, false});
    if (!now) return;
    double &largest = largest_.try_emplace(std::string(rate.Tensor()), *now).first->second;
    if (!(*now > largest)) return;
    risen_ = rate.Place().step;
    largest = *now;
  }
  bool IsOn(int64_t step) const { return risen_ && step - *risen_ <= kLastingRise; }

 private:
  std::map<std::string, double> largest_;  // by rate
  std::optional<int64_t> risen_;           // the step at which one rose last
};

class LossNotDecreasing final : public Rule {
 public:
  LossNotDecreasing(Selector selector, Selector weights, const Limits &limits, Choice choice)
      : Rule("LossNotDecreasing"),
        selector_(std::move(selector)),
        limits_(limits),
        choice_(choice),
        weights_(std::move(weights)) {}

  std::optional<size_t> RoleOf(std::string_view tensor,
                               const Membership &membership) const override {
    if (!LossOfTarget(tensor).empty()) {
      const bool is_used = limits_.learned_percent && IsTargetOfMean(tensor, membership);
      return is_used ? std::optional<size_t>(kTarget) : std::nullopt;
    }
    if (selector_.Matches(tensor, membership)) return kLoss;
    if (!limits_.learned_percent) return {};
    if (tensor.starts_with(kRates)) return kRate;
    if (IsBatchesPerUpdate(tensor)) return kSummed;
    if (weights_.Matches(tensor, membership)) return kWeight;
    return {};
  }

  void Observe(const Sample &sample, Findings &) override {
    if (const std::string_view loss = LossOfTarget(sample.Tensor()); !loss.empty()) {
      if (limits_.learned_percent) NoteTargets(sample, loss);
      return;
    }
    if (sample.Role() == kRate) return warm_ups_[std::string(sample.Worker())].Note(sample);
    if (sample.Role() == kSummed) return updates_[std::string(sample.Worker())].NoteBatches(sample);
    if (sample.Role() == kWeight) {
      if (IsTraining(sample.Place().mode)) updates_[std::string(sample.Worker())].Note(sample);
      return;
    }
    const std::optional<double> loss = LossOf(sample);
    if (!loss || std::isnan(*loss)) return;
    if (choice_ == Choice::kTraining) {
      const LossName name = ReadLossName(sample.Tensor(), sample.Place().mode);
      if (limits_.learned_percent) NoteHeldOut(sample, name, *loss);
      if (name.is_of_validation) return;
    }
    if (limits_.learned_percent && IsTraining(sample.Place().mode)) {
      opponents_.Of(sample.Worker(), "").Note(sample);
      newest_.Of(sample.Worker(), "")[std::string(sample.Tensor())] = {sample.Place().step, *loss};
    }
    LossCurve *curve = Add(sample, *loss);
    if (curve == nullptr) return;
    if (const auto comparison = curve->Compare(limits_.compared)) Evaluate(sample, *comparison);
  }

  void EndStep(Findings &findings) override {
    for (auto &[worker, updates] : updates_) updates.EndStep();
    culprits_.Spare([&](const Finding &each) {
      const bool is_held_out = choice_ == Choice::kTraining &&
                               ReadLossName(each.tensor, findings.Place().mode).is_of_validation;
      if (each.check == "above_chance") return HasBetterSibling(each, findings.Place());
      return each.check != "endless" && !is_held_out &&
             (HasFallingOther(each.worker, each.tensor) ||
              (each.check == "increasing" &&
               HasSteadySibling(each.worker, each.tensor, findings.Place())));
    });
    culprits_.Report(findings);
    if (sign_) findings.AddClue(*std::exchange(sign_, std::nullopt));
  }

  std::string Missing() const override {
    return StrCat("a loss at two steps that are at least ", limits_.compared.num_steps, " apart");
  }

 private:
  struct Newest {
    int64_t step;
    double loss;
  };
  struct Curves {
    LossCurve of_eval;
    LossCurve of_train;
    LossCurve of_all;
    int64_t joins = 0;  // of classes, before the first loss
  };

  // How many targets a batch has.
  struct Batches {
    double targets = 0;
    double count = 0;

    double Size() const { return count == 0 ? INFINITY : targets / count; }
  };

  void NoteTargets(const Sample &sample, std::string_view loss) {
    levels_.Of(sample.Worker(), loss).Add(sample);
    const tensor::View *const form = sample.Form();
    if (form == nullptr) return;
    Batches &batches = batches_[std::string(sample.Worker())];
    batches.targets += static_cast<double>(form->ElementCount());
    ++batches.count;
  }

  // Adds the sample to its curve and returns the curve.  Returns NULL if there is none to evaluate.
  LossCurve *Add(const Sample &sample, double loss) {
    const StepPlace &place = sample.Place();
    Curves &curves = curves_.Of(sample);
    // With further classes it is the loss of another task.
    const ChanceLevel *const level = limits_.learned_percent ? LevelOf(sample) : nullptr;
    if (level != nullptr && level->Joins() != curves.joins) {
      curves = Curves();
      curves.joins = level->Joins();
    }
    LossCurve *own = place.mode == Mode::kEval    ? &curves.of_eval
                     : place.mode == Mode::kTrain ? &curves.of_train
                                                  : nullptr;
    if (own != nullptr) own->Add(place.mode_step, loss, limits_.compared);
    curves.of_all.Add(place.step, loss, limits_.compared);
    LossCurve *chosen = Chosen(curves);
    return chosen == own || chosen == &curves.of_all ? chosen : nullptr;
  }

  LossCurve *Chosen(Curves &curves) const {
    switch (choice_) {
      case Choice::kEval: return &curves.of_eval;
      case Choice::kTrain: return &curves.of_train;
      case Choice::kGlobal: return &curves.of_all;
      case Choice::kAny:
        if (!curves.of_eval.IsEmpty()) return &curves.of_eval;
        break;
      case Choice::kTraining: break;
    }
    return curves.of_train.IsEmpty() ? &curves.of_all : &curves.of_train;
  }

  // What a model learns from labels of other samples, by heart, is of no use for new samples.
  void NoteHeldOut(const Sample &sample, const LossName &name, double loss) {
    int64_t &steps = steps_[std::string(sample.Worker())];
    if (!name.is_of_validation) {
      if (IsTraining(sample.Place().mode)) steps = sample.Place().mode_step;
      return;
    }
    const double updates =
        static_cast<double>(steps) * updates_[std::string(sample.Worker())].Share();
    HeldOutLoss &held_out = held_out_.Of(sample);
    held_out.Add(loss, updates, updates >= kLater * Start());
    const std::string_view training = LossOfOutput(name.loss);
    if (training.empty()) return;
    const ChanceLevel &level = levels_.Of(sample.Worker(), training);
    const std::optional<double> guess = level.Get();
    if (!level.IsOfClasses() || !guess || !held_out.IsNoBetterThan(*guess)) return;
    NoteEvaluated();
    const double fall = 100 * (held_out.First() - held_out.Now()) / held_out.First();
    culprits_.Offer(sample, {-fall, fall, limits_.fall_percent, "not_decreasing"}, [&] {
      return StrCat("the loss '", sample.Tensor(), "' is ", Shortest(held_out.Now()), " after ",
                    Shortest(held_out.First()),
                    " at first; a guess by how frequent each class is "
                    "has ",
                    Shortest(*guess), ": what is learned does not hold for other samples");
    });
  }

  void Evaluate(const Sample &sample, const LossComparison &losses) {
    const double fall = losses.before - losses.now;
    if (std::isnan(fall) || losses.before == 0) return;
    NoteEvaluated();
    const double of_before = 100 / std::abs(losses.before);
    if (limits_.is_of_2019) {
      if (-fall * of_before >= limits_.fall_percent) Offer(sample, losses, fall * of_before);
      return;
    }
    if (limits_.learned_percent) {
      if (opponents_.Of(sample.Worker(), "").Are()) return;
      if (limits_.asks_names && NeedNotFall(sample.Tensor())) return;
      const double error = kSignificance * losses.error;
      falls_.Of(sample.Worker(), "")[std::string(sample.Tensor())] =
          !IsAtGuess(sample, losses) && (losses.has_fallen ? fall >= -error : fall > error);
      if (!(-fall > error)) {
        steady_.Of(sample.Worker(), "")[std::string(sample.Tensor())] = sample.Place().step;
      }
      NoteSign(sample, losses);
      const bool is_of_counts = sample.Tensor().find(kOfCounts) != std::string_view::npos;
      if (!is_of_counts && FallsWithoutEnd(losses)) return OfferEndless(sample, losses);
    }
    if (limits_.floor && losses.now < *limits_.floor) return;
    const double of_first =
        limits_.learned_percent && losses.first != 0 ? 100 / std::abs(losses.first) : of_before;
    if (-fall * of_first > limits_.rise_percent) {
      if (limits_.learned_percent && IsSmallOrNoise(sample, losses)) return;
      const double rise = -fall * of_first;
      const Level level = limits_.learned_percent && IsNearZero(sample, losses) ? Level::kWorthALook
                                                                                : Level::kFinding;
      culprits_.Offer(sample, {rise, rise, limits_.rise_percent, "increasing", level}, [&] {
        return StrCat(Description(sample, losses), ": a rise of ", Shortest(rise),
                      " %, above the limit of ", Shortest(limits_.rise_percent), " %");
      });
    } else if (const auto chance =
                   limits_.learned_percent ? ExceededChance(sample, losses) : std::nullopt) {
      const double limit = kWorseThanConstant * *chance;
      culprits_.Offer(sample, {losses.now, losses.now, limit, "above_chance"}, [&] {
        return StrCat(Description(sample, losses), " and ", Shortest(losses.first_loss),
                      " at first; the same prediction for all samples can reach ",
                      Shortest(*chance));
      });
    } else if (limits_.learned_percent && HasLearned(sample, losses)) {
      learned_.Of(sample.Worker(), "") = true;
    } else if (fall * of_before < limits_.fall_percent && IsToBlame(sample, losses)) {
      Offer(sample, losses, fall * of_before);
    }
  }

  // Parts of a loss may rise or stay while others fall, as the divergence of a variational
  // autoencoder does.
  bool HasFallingOther(std::string_view worker, std::string_view loss) {
    const auto &falls = falls_.Of(worker, "");
    return std::any_of(falls.begin(), falls.end(),
                       [&](const auto &each) { return each.second && each.first != loss; });
  }

  // Of two targets that a sample is a mixture of, one is far.
  bool HasBetterSibling(const Finding &found, const StepPlace &place) {
    const std::string_view module = ModuleOf(found.tensor);
    const double chance = found.limit / kWorseThanConstant;
    const auto &newest = newest_.Of(found.worker, "");
    return !module.empty() && std::any_of(newest.begin(), newest.end(), [&](const auto &each) {
      return each.second.step == place.step && each.second.loss < chance &&
             each.first.starts_with(module);
    });
  }

  // Returns the module of "CrossEntropyLoss_output_0" with what precedes the number, or "".
  static std::string_view ModuleOf(std::string_view loss) {
    const std::string_view module = loss.substr(0, loss.find_last_not_of("0123456789") + 1);
    return module.ends_with("_output_") ? module : std::string_view();
  }

  // One module may compute several losses in a step, as those of a discriminator and a generator.
  bool HasSteadySibling(std::string_view worker, std::string_view loss, const StepPlace &place) {
    const std::string_view module = ModuleOf(loss);
    if (module.empty()) return false;
    const auto &steady = steady_.Of(worker, "");
    return std::any_of(steady.begin(), steady.end(), [&](const auto &each) {
      return each.second == place.step && each.first != loss && each.first.starts_with(module);
    });
  }

  // Few losses are below 0 from the start, and then those of the wrong sign among them.
  void NoteSign(const Sample &sample, const LossComparison &losses) {
    if (has_told_sign_ || !(losses.first < 0 && losses.now < losses.first)) return;
    has_told_sign_ = true;
    sign_ =
        FindingOf({std::string(sample.Worker()), std::string(sample.Tensor())}, "below_zero",
                  losses.now, 0, StrCat(Description(sample, losses), ", and was below 0 at first"));
  }

  static double EndOf(const LossComparison &losses) {
    return -kEndless * std::max(1.0, std::abs(losses.first));
  }
  static bool FallsWithoutEnd(const LossComparison &losses) {
    return losses.steepens && losses.first < 0 && losses.first_loss < 0 &&
           losses.now < EndOf(losses);
  }

  // Returns what is known of the loss's targets, or NULL.
  ChanceLevel *LevelOf(const Sample &sample) {
    const std::string_view loss = LossOfOutput(sample.Tensor());
    return loss.empty() ? nullptr : &levels_.Of(sample.Worker(), loss);
  }
  std::optional<double> ChanceOf(const Sample &sample) {
    const ChanceLevel *level = LevelOf(sample);
    return level == nullptr ? std::nullopt : level->Get();
  }

  // Returns the loss of a guess if a training became worse instead of as good as that, from its
  // first loss on or from the losses of its first steps.
  std::optional<double> ExceededChance(const Sample &sample, const LossComparison &losses) {
    if (losses.steps < kStepsToConstant) return std::nullopt;
    if (losses.has_fallen && losses.now < kWorseThanFirst * losses.first_loss) return std::nullopt;
    const ChanceLevel *level = LevelOf(sample);
    const std::optional<double> chance = level == nullptr ? std::nullopt : level->OfUniform();
    return chance && losses.now > kWorseThanConstant * *chance ? chance : std::nullopt;
  }

  bool HasLearned(const Sample &sample, const LossComparison &losses) {
    // However large a loss was at first, that of a guess is none.
    if (IsAtGuess(sample, losses, kSignificance * losses.error)) return false;
    if ((losses.first - losses.now) * 100 >= std::abs(losses.first) * *limits_.learned_percent) {
      return true;
    }
    // A job that resumes a training may have nothing left to learn.
    const std::optional<double> level = ChanceOf(sample);
    return level && losses.now < kPartOfChance * *level;
  }

  // A loss that is nearly 0 doubles easily, and so does one of few and noisy samples.  Percentages
  // of the first loss mean little for one below 0, such as a critic's.
  bool IsSmallOrNoise(const Sample &sample, const LossComparison &losses) {
    const double first = std::max(losses.first, losses.first_loss);
    // One that varies about 0, as that of a policy does, may be above its first losses.
    const double usual = losses.was_above_0 ? kEndless * std::max(1.0, std::abs(first)) : first;
    if (losses.was_below_0 && losses.now <= usual) return true;
    const std::optional<double> level = ChanceOf(sample);
    return (level && losses.now < kSmallPartOfChance * *level) ||
           losses.now - losses.before < kSignificanceOfRise * losses.error;
  }

  bool IsNearZero(const Sample &sample, const LossComparison &losses) {
    return std::max(std::abs(losses.first), std::abs(losses.first_loss)) < kNearZero &&
           losses.now < kStillSmall && !ChanceOf(sample);
  }

  // Trainings may take a while to get going, and losses besides the one that falls may stay.
  bool IsToBlame(const Sample &sample, const LossComparison &losses) {
    if (!limits_.learned_percent) return true;
    // It varies about 0, where there is nothing to reach: that of a critic, or of a policy.
    if (losses.was_below_0 && losses.was_above_0) return false;
    const bool has_moved = losses.has_fallen || losses.most_fall >= *limits_.learned_percent;
    const double updates = UpdatesOf(sample, losses);
    const bool is_warm = updates >= kLongestWarmUp * Start() || !IsWarmingUp(sample);
    return losses.is_of_start && updates >= Start() && is_warm &&
           (!has_moved || IsAtChance(sample, losses)) && !learned_.Of(sample.Worker(), "");
  }
  double Start() const { return static_cast<double>(limits_.start_steps); }
  // A loss that falls to that of a model without knowledge, and stays there, has not learned.
  bool IsAtChance(const Sample &sample, const LossComparison &losses, double error = 0) {
    const ChanceLevel *level = LevelOf(sample);
    const std::optional<double> chance = level == nullptr ? std::nullopt : level->OfUniform();
    const double begin = Start();
    const double end = std::max(kLater * begin, begin + 1);
    const double late = std::clamp((UpdatesOf(sample, losses) - begin) / (end - begin), 0.0, 1.0);
    const double part = kAtChance + late * (kAtChanceLater - kAtChance);
    return chance && std::min(losses.now, losses.before) + error > part * *chance;
  }
  bool IsAtGuess(const Sample &sample, const LossComparison &losses, double error = 0) {
    const ChanceLevel *level = LevelOf(sample);
    return level != nullptr && level->IsOfClasses() && IsAtChance(sample, losses, error);
  }
  bool IsWarmingUp(const Sample &sample) {
    return warm_ups_[std::string(sample.Worker())].IsOn(sample.Place().step);
  }
  // Returns how often the weights were updated since the first loss; updates by few samples are
  // fewer.
  double UpdatesOf(const Sample &sample, const LossComparison &losses) {
    const std::string worker(sample.Worker());
    return static_cast<double>(losses.steps) * updates_[worker].Share() *
           std::min(1.0, batches_[worker].Size() / kSmallBatch);
  }

  void Offer(const Sample &sample, const LossComparison &losses, double fall) {
    culprits_.Offer(sample, {-fall, fall, limits_.fall_percent, "not_decreasing"}, [&] {
      return StrCat(Description(sample, losses), ": it has not fallen by ",
                    Shortest(limits_.fall_percent), " %");
    });
  }

  void OfferEndless(const Sample &sample, const LossComparison &losses) {
    culprits_.Offer(sample, {-losses.now, losses.now, EndOf(losses), "endless"}, [&] {
      return StrCat(Description(sample, losses), " and ", Shortest(losses.first_loss),
                    " at first: it falls ever faster below 0, as one of the wrong sign does");
    });
  }

  static std::string Description(const Sample &sample, const LossComparison &losses) {
    return StrCat("the loss '", sample.Tensor(), "' is ", Shortest(losses.now), " after ",
                  Shortest(losses.before), " at step ", losses.step_before);
  }

  const Selector selector_;
  const Limits limits_;
  const Choice choice_;
  SampleStates<Curves> curves_;
  SampleStates<HeldOutLoss> held_out_;
  std::map<std::string, int64_t> steps_;             // of training so far, by worker
  TensorStates<ChanceLevel> levels_;                 // by loss
  TensorStates<bool> learned_;                       // by worker: some loss fell
  TensorStates<std::map<std::string, bool>> falls_;  // by worker: whether each loss falls
  // By worker: the last step at which each loss did not rise.
  TensorStates<std::map<std::string, int64_t>> steady_;
  TensorStates<std::map<std::string, Newest>> newest_;  // by worker: of each loss of training
  TensorStates<Opponents> opponents_;                   // by worker
  const Selector weights_;
  std::map<std::string, UpdateCounts> updates_;  // by worker
  std::map<std::string, Batches> batches_;       // by worker
  std::map<std::string, WarmUp> warm_ups_;       // by worker
  std::optional<Finding> sign_;                  // a clue to tell when the step ends
  bool has_told_sign_ = false;
  Culprits culprits_;
};

constexpr ParameterSpec kParameters[] = {
    {"collection_names", "None", "None", "collections of tensors to check, separated by commas"},
    {"tensor_regex", "None", "None",
     "expressions found in the names of further tensors to check, separated by commas"},
    {"use_losses_collection", "True", "True", "true also checks the losses collection"},
    {"num_steps", "10", "20", "minimum number of steps between compared losses"},
    {"diff_percent", "0.1", "0.1", "percentage by which the loss must have fallen"},
    {"increase_threshold_percent", "5", "50",
     "maximum rise in percent of the earlier loss; with learned_percent, of the first loss"},
    {"mode", "None", "None",
     "steps to compare: EVAL, TRAIN or GLOBAL; None: the first of these that has steps"},
    {"window", "1", "5", "number of losses whose median is compared"},
    {"floor", "None", "1e-4", "a loss below this value is low enough"},
    {"learned_percent", "None", "10",
     "a loss that fell by this percentage since the start may stay constant, and so may others "
     "beside it, and one far below that of a model without knowledge"},
    {"start_steps", "0", "80",
     "with learned_percent, number of updates of the weights that a training may take to get "
     "going; steps that change no weight, as with accumulation, do not count, and batches of fewer "
     "than 8 samples count less"},
    {"skip_validation", "False", "True", "if mode is None, true checks only losses of training"},
    {"legacy_2019", "False", "False",
     "true treats diff_percent as the rise to find, as an early version of the service did"},
};

Result<Choice> ReadChoice(const Parameters &parameters) {
  SMD_ASSIGN_OR_RETURN(const bool skips_validation, parameters.Switch("skip_validation"));
  const std::string mode = parameters.Text("mode");
  if (mode.empty()) return skips_validation ? Choice::kTraining : Choice::kAny;
  if (mode == "EVAL") return Choice::kEval;
  if (mode == "TRAIN") return Choice::kTrain;
  if (mode == "GLOBAL") return Choice::kGlobal;
  return parameters
      .Refuse(StrCat("mode is '", mode.substr(0, 64), "'; it must be EVAL, TRAIN or GLOBAL"))
      .With("key", "mode");
}

Result<Selector> ReadSelector(const Parameters &parameters) {
  SMD_ASSIGN_OR_RETURN(const bool uses_losses, parameters.Switch("use_losses_collection"));
  std::vector<std::string> collections = parameters.List("collection_names");
  std::vector<std::string> regexes = parameters.List("tensor_regex");
  if (uses_losses) {
    collections.emplace_back("losses");
    regexes.emplace_back(kLossNames);
  }
  SMD_ASSIGN_OR_RETURN(Selector selector, Selector::Make(std::move(collections), regexes));
  if (selector.IsEmpty()) {
    return parameters.Refuse(
        "give collection_names or tensor_regex, or both, or leave use_losses_collection on");
  }
  return selector;
}

Result<std::unique_ptr<Rule>> Make(const Parameters &parameters) {
  Limits limits{};
  SMD_ASSIGN_OR_RETURN(limits.compared.num_steps, parameters.Whole("num_steps", 1, 1'000'000));
  SMD_ASSIGN_OR_RETURN(limits.fall_percent, parameters.Number("diff_percent", 0, 100));
  SMD_ASSIGN_OR_RETURN(limits.rise_percent,
                       parameters.Number("increase_threshold_percent", 0, 1e300));
  SMD_ASSIGN_OR_RETURN(limits.compared.window, parameters.Whole("window", 1, 10'000));
  SMD_ASSIGN_OR_RETURN(limits.floor, parameters.OptionalNumber("floor"));
  SMD_ASSIGN_OR_RETURN(limits.learned_percent, parameters.OptionalNumber("learned_percent"));
  SMD_ASSIGN_OR_RETURN(limits.start_steps, parameters.Whole("start_steps", 0, 1'000'000));
  SMD_ASSIGN_OR_RETURN(limits.is_of_2019, parameters.Switch("legacy_2019"));
  limits.asks_names = !parameters.IsGiven("tensor_regex");
  if (limits.is_of_2019 && !parameters.IsGiven("diff_percent")) limits.fall_percent = 0;
  SMD_ASSIGN_OR_RETURN(const Choice choice, ReadChoice(parameters));
  SMD_ASSIGN_OR_RETURN(Selector selector, ReadSelector(parameters));
  SMD_ASSIGN_OR_RETURN(Selector weights, Selector::Make({"weights"}, {}));
  return std::unique_ptr<Rule>(
      std::make_unique<LossNotDecreasing>(std::move(selector), std::move(weights), limits, choice));
}

}  // namespace

const RuleSpec kLossNotDecreasing = {
    "LossNotDecreasing", "a loss has not fallen by the percentage within the steps, or has risen",
    kParameters, Make};

}  // namespace smdebug::rules
