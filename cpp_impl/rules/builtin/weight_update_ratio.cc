// Finds weights whose updates are too large or too small relative to the weights.
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/strings.h"
#include "rules/builtin/builtin_rules.h"
#include "rules/support/batches_per_update.h"
#include "rules/support/creep.h"
#include "rules/support/culprits.h"
#include "rules/support/faded_rates.h"
#include "rules/support/precision.h"
#include "rules/support/roles.h"
#include "rules/support/snapshot.h"
#include "rules/support/tensor_names.h"
#include "rules/support/tensor_states.h"
#include "rules/support/update_sizes.h"
#include "rules/support/words.h"

namespace smdebug::rules {
namespace {

// The largest number of values kept for a weight.  Over a longer distance, some steps are omitted.
constexpr int64_t kMostKept = 16;
constexpr tensor::Reduction kMeanOfAbsolute{tensor::ReductionKind::kMean, true};

constexpr size_t kWeight = 0;
constexpr size_t kGradient = 1;
constexpr size_t kRate = 2;
constexpr size_t kLoss = 3;
constexpr size_t kSummed = 4;
constexpr size_t kRoles = 5;

struct Options {
  std::optional<int64_t> num_steps;
  double large;
  double small;
  double epsilon;
  bool is_per_step;
  bool ignores_frozen;
  std::optional<double> element;
  UpdateSizes::Limits sizes;
  std::optional<double> faded;
  std::optional<double> crept;
  int64_t patience;
  int64_t sample;
};

// A gradient below this part of the largest one is that of a training that has converged.
constexpr double kNothingLeft = 1e-4;

// Without a registered optimizer, each batch that is accumulated is a step without a change, as
// where a framework sums gradients up and does not say of how many batches.
constexpr int64_t kLongerWithoutChange = 4;

// With fewer elements that change, one may well change more than all others.
constexpr int64_t kLeastChanged = 16;

class WeightUpdateRatio final : public Rule {
 public:
  WeightUpdateRatio(Roles roles, const Options &options)
      : Rule("WeightUpdateRatio"),
        roles_(std::move(roles)),
        options_(options),
        sizes_(options.sizes),
        rates_(options.faded.value_or(0)),
        creep_(options.crept) {}

  std::optional<size_t> RoleOf(std::string_view tensor,
                               const Membership &membership) const override {
    return roles_.Of(tensor, membership);
  }

  void Observe(const Sample &sample, Findings &) override {
    const StepPlace &place = sample.Place();
    if (!IsTraining(place.mode)) return;
    // Steps without a mode count until the first training step.
    if (place.mode == Mode::kTrain && !std::exchange(has_trained_, true)) states_.Clear();
    if (has_trained_ && place.mode != Mode::kTrain) return;
    last_ = place;
    const size_t role = sample.Role();
    if (role == kWeight) ObserveWeight(sample);
    if (role == kGradient) ObserveGradient(sample);
    if (role == kRate) rates_.Add(sample, &culprits_);
    if (role == kSummed) summed_.Of(sample.Worker(), "").Add(sample);
    if (role == kLoss) {
      if (const std::optional<double> loss = sample.Scalar()) creep_.AddLoss(sample, *loss);
    }
  }

  void EndStep(Findings &findings) override {
    culprits_.Report(findings);
    sizes_.EndStep(findings);
  }

  void EndJob(Findings &findings) override {
    states_.ForEach([&](const std::string &worker, const State &state) {
      if (state.kept.empty()) return;
      const std::optional<Path::Length> length = state.path.To(state.kept.back().value);
      if (length) creep_.AddPath(worker, state.path.Tensor(), *length);
    });
    creep_.Report(last_, findings);
  }

  std::string Missing() const override {
    return options_.num_steps
               ? StrCat("two values of a weight that are ", *options_.num_steps, " steps apart")
               : "two values of a weight with their elements";
  }

 private:
  struct Kept {
    int64_t step;
    Snapshot value;
  };
  struct State {
    std::vector<Kept> kept;  // few, and of very many tensors
    bool learns = false;     // a gradient since the last value left something to learn
    double largest_gradient = 0;
    bool begins_at_zero = false;
    int64_t large_steps = 0;
    int64_t small_steps = 0;
    Path path;
  };

  void ObserveGradient(const Sample &sample) {
    const std::string_view weight = WeightOfGradient(sample.Tensor());
    const std::optional<double> mean = sample.Reduce(kMeanOfAbsolute);
    State &state = states_.Of(sample.Worker(), weight, sample.Number());
    state.learns = !mean || (*mean != 0 && std::isfinite(*mean));
    if (!mean || !std::isfinite(*mean)) return;
    state.largest_gradient = std::max(state.largest_gradient, *mean);
    state.learns &= *mean > kNothingLeft * state.largest_gradient;
  }

  void ObserveWeight(const Sample &sample) {
    const tensor::View *elements = sample.RealElements();
    if (elements == nullptr || elements->ElementCount() == 0) return;
    State &state = states_.Of(sample.Worker(), AsInGradient(sample.Tensor()), sample.Number());
    Kept now{sample.Place().mode_step, Snapshot(*elements, options_.sample)};
    if (options_.ignores_frozen && state.kept.empty()) {
      int &digits = digits_.Of(sample.Worker(), "");
      digits = std::max(digits, DigitsOf(sample.SomeNumbers(kFewElements)));
    }
    if (!state.kept.empty() && !now.value.IsLike(state.kept.back().value)) state.kept.clear();
    if (options_.ignores_frozen && state.kept.empty()) {
      const double mean_square = now.value.MeanSquare();
      state.begins_at_zero = mean_square == 0;
      sizes_.AddFirst(sample, mean_square);
      if (options_.crept && !state.begins_at_zero && IsOfLayer(sample)) {
        state.path.Begin(sample.Tensor(), elements->ElementCount(), now.value);
      }
    }
    if (const Kept *before = FarEnough(state.kept, now.step))
      Evaluate(sample, *before, now, &state);
    state.learns = false;
    const int64_t spacing = options_.num_steps.value_or(0) / kMostKept;
    if (state.kept.empty() || now.step - state.kept.back().step >= spacing) {
      state.kept.push_back(std::move(now));
    }
  }

  // Returns the newest kept value that is far enough back, and drops the values before it.  Returns
  // NULL if there is none.
  const Kept *FarEnough(std::vector<Kept> &kept, int64_t now) const {
    const int64_t newest = now - options_.num_steps.value_or(1);
    while (kept.size() > 1 && kept[1].step <= newest) kept.erase(kept.begin());
    return kept.empty() || kept.front().step > newest ? nullptr : &kept.front();
  }

  void Evaluate(const Sample &sample, const Kept &before, const Kept &now, State *state) {
    NoteEvaluated();
    const auto elements = sample.RealElements()->ElementCount();
    const Change change = Change::Between(before.value, now.value);
    double ratio = change.difference / (change.before + options_.epsilon);
    if (options_.is_per_step) ratio /= static_cast<double>(now.step - before.step);
    if (options_.element) EvaluateElement(sample, before, now, change);
    // From zero, any first step is far.
    if (options_.ignores_frozen && !state->begins_at_zero) {
      const double part = static_cast<double>(elements) / static_cast<double>(change.count);
      sizes_.Add(sample, part * change.difference, part * change.before);
    }
    if (change.difference != 0) state->path.Move(now.value);
    const bool is_new = options_.ignores_frozen && change.before == 0;
    const bool is_frozen = options_.ignores_frozen && change.difference == 0 &&
                           (!state->learns || MayRoundAway(static_cast<size_t>(elements),
                                                           digits_.Of(sample.Worker(), "")));
    const bool is_large = ratio > options_.large && !is_new;
    const bool is_small = ratio < options_.small && !is_frozen;
    state->large_steps = is_large ? state->large_steps + 1 : 0;
    state->small_steps = is_small ? state->small_steps + 1 : 0;
    if (is_large && state->large_steps >= options_.patience) {
      Offer(sample, {ratio, ratio, options_.large, "large"}, "more");
    }
    const bool may_accumulate = options_.ignores_frozen && change.difference == 0;
    const int64_t longer =
        may_accumulate ? std::max(kLongerWithoutChange,
                                  summed_.Of(sample.Worker(), "").Records(now.step - before.step))
                       : 1;
    const int64_t patience = longer * options_.patience;
    if (is_small && state->small_steps >= patience && !rates_.AreLow(sample.Place())) {
      Offer(sample, {-ratio, ratio, options_.small, "small"}, "less");
    }
  }

  void EvaluateElement(const Sample &sample, const Kept &before, const Kept &now,
                       const Change &change) {
    const auto others = static_cast<double>(change.count - 1);
    // Cheaper than to search for the second largest change, and nearly always false.  Beside a very
    // large change the mean of the others is lost, and 0.
    const double mean = (change.difference - change.largest) / others;
    if (!(change.largest > *options_.element * mean)) return;
    // The search rounds changes to float.
    constexpr double kRounding = 1e-5;
    if (change.largest < *options_.element * change.next * (1 - kRounding)) return;
    const Jump jump = Jump::Between(before.value, now.value);
    const double factor = jump.Size() / jump.next;
    if (jump.changed < kLeastChanged || !(factor > *options_.element)) return;
    if (!jump.IsByPowerOfTwo()) return;
    culprits_.Offer(sample, {factor, factor, *options_.element, "element"}, [&] {
      return StrCat("one element of the weight '", sample.Tensor(), "' went from ",
                    Shortest(jump.before), " to ", Shortest(jump.now),
                    ", a power of two of itself and ", Shortest(factor),
                    " times as far as any other: a bit may have flipped");
    });
  }

  void Offer(const Sample &sample, const Offence &offence, std::string_view than) {
    culprits_.Offer(sample, offence, [&] {
      return StrCat("the weight '", sample.Tensor(), "' changed by ", Shortest(offence.value),
                    " of itself", options_.is_per_step ? " a step" : "", ", ", than,
                    " than the limit of ", Shortest(offence.limit));
    });
  }

  const Roles roles_;
  const Options options_;
  bool has_trained_ = false;
  TensorStates<State> states_;             // by weight name
  TensorStates<int> digits_;               // by worker: of all its weights
  TensorStates<BatchesPerUpdate> summed_;  // by worker
  Culprits culprits_;
  UpdateSizes sizes_;
  FadedRates rates_;
  Creep creep_;
  StepPlace last_;  // of the training
};

constexpr ParameterSpec kParameters[] = {
    {"num_steps", "", "",
     "minimum distance in steps to the value that a weight is compared with; none: the previous "
     "value"},
    {"large_threshold", "10.0", "1.0", "maximum change of a weight, relative to the weight"},
    {"small_threshold", "1e-8", "1e-8", "minimum change of a weight, relative to the weight"},
    {"epsilon", "1e-9", "1e-9", "added to the divisor"},
    {"per_step", "False", "True", "true divides a change over several steps by their number"},
    {"ignore_frozen", "False", "True",
     "true allows weights without a gradient to stay constant, and weights of zeros to grow"},
    {"element", "None", "30",
     "maximum change of an element that goes to a power of two of itself, relative to the largest "
     "change of the others"},
    {"first", "None", "2",
     "maximum change of all weights together by one of the first 5 updates, relative to the "
     "weights"},
    {"usual", "None", "0.2",
     "maximum change of all weights together by two thirds of the first 30 updates, relative to "
     "the weights"},
    {"tiny", "None", "5e-6",
     "minimum change of all weights together by usual updates, relative to the weights"},
    {"left", "None", "0.5",
     "minimum sum of the absolute values of all weights, relative to that before the first update"},
    {"faded", "None", "0.005",
     "minimum learning rate for two thirds of the steps, relative to the largest before"},
    {"crept", "None", "0.008",
     "minimum change of all weights together by the whole training, relative to the weights, if "
     "they moved in one direction and no loss has fallen"},
    {"patience", "1", "5", "number of consecutive values before a finding"},
    {"sample", "0", "4096",
     "maximum number of elements of a weight to compare, spread evenly; 0 for all"},
};

Result<std::optional<double>> PositiveOrNone(const Parameters &parameters, std::string_view name) {
  SMD_ASSIGN_OR_RETURN(const std::optional<double> value, parameters.OptionalNumber(name));
  if (value && !(*value > 0)) return parameters.Refuse(StrCat(name, " must be above 0, or None"));
  return value;
}

Result<std::unique_ptr<Rule>> Make(const Parameters &parameters) {
  Options options{};
  SMD_ASSIGN_OR_RETURN(options.num_steps, parameters.OptionalWhole("num_steps", 1));
  SMD_ASSIGN_OR_RETURN(options.large, parameters.Positive("large_threshold"));
  SMD_ASSIGN_OR_RETURN(options.small, parameters.Number("small_threshold", 0, options.large));
  SMD_ASSIGN_OR_RETURN(options.epsilon, parameters.Number("epsilon", 0, 1));
  SMD_ASSIGN_OR_RETURN(options.is_per_step, parameters.Switch("per_step"));
  SMD_ASSIGN_OR_RETURN(options.ignores_frozen, parameters.Switch("ignore_frozen"));
  SMD_ASSIGN_OR_RETURN(options.element, parameters.OptionalNumber("element"));
  if (options.element && !(*options.element > 1)) {
    return parameters.Refuse("element must be above 1, or None");
  }
  SMD_ASSIGN_OR_RETURN(options.sizes.first, PositiveOrNone(parameters, "first"));
  SMD_ASSIGN_OR_RETURN(options.sizes.usual, PositiveOrNone(parameters, "usual"));
  SMD_ASSIGN_OR_RETURN(options.sizes.tiny, PositiveOrNone(parameters, "tiny"));
  SMD_ASSIGN_OR_RETURN(options.sizes.left, PositiveOrNone(parameters, "left"));
  SMD_ASSIGN_OR_RETURN(options.faded, PositiveOrNone(parameters, "faded"));
  SMD_ASSIGN_OR_RETURN(options.crept, PositiveOrNone(parameters, "crept"));
  SMD_ASSIGN_OR_RETURN(options.patience, parameters.Whole("patience", 1, 1'000'000));
  SMD_ASSIGN_OR_RETURN(options.sample, parameters.Whole("sample", 0, int64_t{1} << 40));
  std::vector<Selector> selectors(kRoles);
  SMD_ASSIGN_OR_RETURN(selectors[kWeight], Selector::Make({"weights"}, {}));
  if (options.ignores_frozen) {
    SMD_ASSIGN_OR_RETURN(selectors[kGradient], Selector::Make({"gradients"}, {}));
    SMD_ASSIGN_OR_RETURN(selectors[kSummed], Selector::Make({}, {std::string(kBatchesPerUpdate)}));
  }
  if (options.faded) {
    SMD_ASSIGN_OR_RETURN(selectors[kRate], Selector::Make({}, {"^learning_rate/"}));
  }
  if (options.crept) {
    SMD_ASSIGN_OR_RETURN(selectors[kLoss], Selector::Make({"losses"}, {}));
  }
  return std::unique_ptr<Rule>(
      std::make_unique<WeightUpdateRatio>(Roles(std::move(selectors)), options));
}

}  // namespace

const RuleSpec kWeightUpdateRatio = {
    "WeightUpdateRatio", "a weight's change, relative to the weight, is too large or too small",
    kParameters, Make};

}  // namespace smdebug::rules
