// Finds gradients that are too small to train with.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "rules/builtin/builtin_rules.h"
#include "rules/support/culprits.h"
#include "rules/support/loss_names.h"
#include "rules/support/roles.h"
#include "rules/support/sample_states.h"
#include "rules/support/tensor_names.h"
#include "rules/support/unused_gradients.h"
#include "rules/support/words.h"

namespace smdebug::rules {
namespace {

constexpr tensor::Reduction kMeanOfAbsolute{tensor::ReductionKind::kMean, true};

enum Role : size_t { kGradient, kWeight, kLoss, kRoles, kSmallGradient, kRoutedGradient };

// Gradients that are smaller than those of layers for other reasons than depth: each token has a
// share in few of an embedding's rows, a matrix of an adapter is multiplied by the other one, which
// begins at 0, and attention that looks everywhere alike hardly depends on queries and keys.
constexpr std::string_view kSmallByNature =
    "(?i)embed|lora_|(^|[._/])(emb|wte|wpe|query|key|[qk](_proj|_lin)?|w[qk]|to_[qk])[._/]";

// An expert to which no token is sent at a step gets no gradient.
constexpr std::string_view kRouted = "(?i)(^|[._/])experts?([._/]|$)";

// A ratio close to its limit may still be that of a beginning.
constexpr double kCloseToLimit = 0.1;
constexpr int64_t kLongerIfClose = 4;

// Where a hinge or a margin is met by all samples of a batch, no weight has a gradient for a while.
constexpr int64_t kLongerIfAll = 4;

struct Options {
  double threshold;
  bool layers_only;
  std::optional<double> ratio;
  std::optional<double> floor;
  int64_t patience;
};

// Tells whether losses leave a training anything to learn.
class Losses {
 public:
  void Add(double loss) {
    const double size =
        std::isnan(loss) ? std::numeric_limits<double>::infinity() : std::fabs(loss);
    largest_ = std::max(largest_.value_or(0), size);
  }
  // A step without a loss is as the last one that had any.
  void EndStep(double floor) {
    if (largest_) {
      if (!first_) first_ = largest_;
      are_low_ = *largest_ < floor;
      have_fallen_ = *largest_ < kShareLeft * *first_;
    }
    largest_.reset();
  }
  // Reports whether all losses of the last step were below the floor.
  bool AreLow() const { return are_low_; }
  // Reports whether little is left of the first ones: then the model has learned by its gradients.
  bool HaveFallen() const { return have_fallen_; }

 private:
  static constexpr double kShareLeft = 0.2;

  std::optional<double> largest_;  // of this step
  std::optional<double> first_;
  bool are_low_ = false;
  bool have_fallen_ = false;
};

// Tracks the gradients of a model's first and last layer at one step.
class OuterLayers {
 public:
  struct Layer {
    std::string gradient;
    double size = 0;
    size_t number = 0;      // in the order of layers
    int64_t inputs = 0;     // columns, if it is a matrix
    int64_t outputs = 0;    // rows, if it is a matrix
    bool is_there = false;  // at this step
  };

  // Weights are recorded in layer order.  Gradients may be recorded in another order.
  void AddWeight(std::string_view weight) {
    if (places_.size() < kMostLayers) places_.try_emplace(std::string(weight), places_.size());
  }

  void AddGradient(const Sample &sample, double mean) {
    if (!IsOfLayer(sample)) return;
    const std::string_view weight = WeightOfGradient(sample.Tensor());
    auto known = layers_.find(weight);
    if (known == layers_.end()) {
      if (layers_.size() >= kMostLayers) return;
      known = layers_.emplace(std::string(weight), Describe(sample, layers_.size())).first;
    }
    known->second.size = SizeOf(sample, mean);
    known->second.is_there = true;
  }

  // Calls `evaluate(first, last)` if there were at least two layers, then begins the next step.
  template <class Evaluate>
  void EndStep(Evaluate evaluate) {
    Sort();
    std::vector<const Layer *> chain;
    for (const Layer *layer : order_) {
      if (!layer->is_there) continue;
      if (BeginsAnother(chain, *layer)) break;
      chain.push_back(layer);
    }
    for (Layer *layer : order_) layer->is_there = false;
    if (chain.size() < 2) return;
    // Without weights, the model's first layer may be at either end.
    if (places_.empty() && chain.back()->size < chain.front()->size) {
      std::reverse(chain.begin(), chain.end());
    }
    evaluate(*chain.front(), *chain.back());
  }

 private:
  static constexpr size_t kMostLayers = 100'000;

  static Layer Describe(const Sample &sample, size_t number) {
    Layer layer;
    layer.gradient = sample.Tensor();
    layer.number = number;
    const tensor::View *form = sample.Form();
    if (form == nullptr || form->shape.size() != 2) return layer;
    layer.outputs = form->shape[0];
    layer.inputs = form->shape[1];
    return layer;
  }

  // Puts the layers into the order of their weights; without weights, into that of gradients.
  void Sort() {
    const std::pair now(places_.size(), layers_.size());
    if (std::exchange(sorted_, now) == now) return;
    order_.clear();
    for (auto &[weight, layer] : layers_) {
      const auto place = places_.find(weight);
      if (place != places_.end()) layer.number = place->second;
      if (places_.empty() || place != places_.end()) order_.push_back(&layer);
    }
    std::ranges::sort(order_, {}, &Layer::number);
  }

  // Reports whether a layer takes what the first one took, as a critic beside an actor does, and
  // not what the layer before it gave.
  static bool BeginsAnother(const std::vector<const Layer *> &chain, const Layer &layer) {
    if (chain.size() < 2 || layer.inputs == 0) return false;
    return layer.inputs == chain.front()->inputs && layer.inputs != chain.back()->outputs &&
           chain.front()->outputs == chain[1]->inputs;
  }

  // Excludes zeros: in an embedding's gradient, all but a few rows are zero.
  static double SizeOf(const Sample &sample, double mean) {
    const tensor::Statistics *statistics = sample.GetStatistics();
    if (statistics == nullptr || statistics->zero_count == statistics->count) return mean;
    return statistics->l1 / static_cast<double>(statistics->count - statistics->zero_count);
  }

  std::map<std::string, size_t, std::less<>> places_;  // by weight
  std::map<std::string, Layer, std::less<>> layers_;   // by weight
  std::vector<Layer *> order_;
  std::pair<size_t, size_t> sorted_;  // how many places and layers `order_` is of
};

// Tells whether a ratio stays too small.  After a last layer of zeros it grows, and soon is not.
class SmallRatio {
 public:
  // `least` is the number of steps before it counts, at least `patience`.
  bool IsLastingly(bool is_small, double ratio, int64_t patience, int64_t least) {
    steps_ = is_small ? steps_ + 1 : 0;
    if (steps_ % patience == 0 || steps_ == 1) {
      grows_ = steps_ > 1 ? ratio > kGrowth * before_ : true;
      before_ = ratio;
    }
    return steps_ >= least && (patience == 1 || !grows_);
  }

 private:
  static constexpr double kGrowth = 1.5;

  int64_t steps_ = 0;  // consecutive steps at which it was too small
  double before_ = 0;  // some steps ago
  bool grows_ = true;
};

class VanishingGradient final : public Rule {
 public:
  VanishingGradient(Roles roles, Selector small, Selector routed, const Options &options)
      : Rule("VanishingGradient"),
        roles_(std::move(roles)),
        small_(std::move(small)),
        routed_(std::move(routed)),
        options_(options) {}

  std::optional<size_t> RoleOf(std::string_view tensor,
                               const Membership &membership) const override {
    const std::optional<size_t> role = roles_.Of(tensor, membership);
    if (role != kGradient) return role;
    if (options_.layers_only && routed_.Matches(tensor, membership)) return kRoutedGradient;
    return small_.Matches(tensor, membership) ? kSmallGradient : kGradient;
  }

  void Observe(const Sample &sample, Findings &) override {
    const size_t role = sample.Role();
    if (role == kGradient || role > kRoles) ObserveGradient(sample);
    if (role == kWeight) WorkerOf(sample).layers.AddWeight(AsInGradient(sample.Tensor()));
    if (role != kLoss || !IsTraining(sample.Place().mode)) return;
    if (const auto loss = LossOf(sample)) WorkerOf(sample).losses.Add(*loss);
  }

  void EndStep(Findings &findings) override {
    culprits_.Spare([&](const Finding &each) {
      const Silence &silence = workers_.find(each.worker)->second.silence;
      return options_.floor && each.check == "small" &&
             silence.IsShorterThan(kLongerIfAll * options_.patience);
    });
    culprits_.Report(findings);
    for (auto &[name, worker] : workers_) {
      worker.silence = Silence();
      worker.layers.EndStep(
          [&, &name = name, &worker = worker](const auto &first, const auto &last) {
            const double ratio = first.size / last.size;
            const bool is_small = ratio < *options_.ratio && !worker.losses.AreLow() &&
                                  !worker.losses.HaveFallen() &&
                                  !worker.unused.IsCutOff(first.gradient);
            const bool is_close = ratio > kCloseToLimit * *options_.ratio;
            const int64_t least = is_close ? kLongerIfClose * options_.patience : options_.patience;
            if (!worker.ratio.IsLastingly(is_small, ratio, options_.patience, least)) return;
            Finding finding;
            finding.worker = name;
            finding.tensor = first.gradient;
            finding.value = ratio;
            finding.limit = *options_.ratio;
            finding.check = "ratio";
            finding.message =
                StrCat("the gradient '", first.gradient, "' of the first layer is ",
                       Shortest(ratio), " times as large as '", last.gradient,
                       "' of the last layer, below the limit of ", Shortest(*options_.ratio));
            findings.Add(std::move(finding));
          });
      if (options_.floor) worker.losses.EndStep(*options_.floor);
    }
  }

  std::string Missing() const override { return "gradients of floating-point numbers"; }

 private:
  struct State {
    bool is_known = false;
    bool was_there = false;  // was non-zero at least once
    int64_t steps = 0;       // consecutive steps at which it was too small
  };
  // Tells steps at which all gradients, of which there are several, are zero.
  class Silence {
   public:
    void Add(double mean) {
      ++gradients_;
      is_broken_ |= mean != 0;
    }
    // Notes for how many steps in a row one of them has been small.
    void Note(int64_t steps) { longest_ = std::max(longest_, steps); }
    bool IsShorterThan(int64_t steps) const {
      return gradients_ > 1 && !is_broken_ && longest_ < steps;
    }

   private:
    int64_t gradients_ = 0;
    int64_t longest_ = 0;
    bool is_broken_ = false;
  };
  struct Worker {
    OuterLayers layers;
    UnusedGradients unused;
    Silence silence;  // of this step
    Losses losses;
    SmallRatio ratio;
  };

  Worker &WorkerOf(const Sample &sample) {
    const auto known = workers_.find(sample.Worker());
    return known != workers_.end() ? known->second : workers_[std::string(sample.Worker())];
  }

  void ObserveGradient(const Sample &sample) {
    const tensor::View *form = sample.Form();
    if (form != nullptr && !tensor::IsFloat(form->dtype)) return;
    const std::optional<double> mean = sample.Reduce(kMeanOfAbsolute);
    if (!mean) return;
    NoteEvaluated();
    Worker &worker = WorkerOf(sample);
    worker.silence.Add(*mean);
    if (options_.ratio && sample.Role() == kGradient) worker.layers.AddGradient(sample, *mean);
    State &state = states_.Of(sample);
    if (!std::exchange(state.is_known, true) || (*mean != 0 && !state.was_there)) {
      worker.unused.Note(sample.Tensor(), IsOfLayer(sample), *mean == 0);
    }
    state.was_there = state.was_there || *mean != 0;
    // A bias that a later normalisation cancels has no gradient.  This does no harm.
    if (options_.layers_only && !IsOfLayer(sample)) return;
    // A gradient that was never there tells of a broken loss, even if that is 0.
    const bool is_small =
        *mean < options_.threshold && !(state.was_there && IsSpared(sample, *mean));
    state.steps = is_small ? state.steps + 1 : 0;
    if (state.steps == 0 || state.steps < options_.patience) return;
    const std::string_view check = CheckOf(sample, state, worker.unused);
    worker.silence.Note(state.steps);
    // A number for each row may be a bias that a loss of differences cancels.
    const bool is_column =
        form != nullptr && form->shape.size() == 2 && form->shape[1] == 1 && form->shape[0] > 1;
    const bool may_be_unused =
        !state.was_there && (is_column || worker.unused.IsOneOf(sample.Tensor()));
    const Level level =
        options_.layers_only && may_be_unused ? Level::kWorthALook : Level::kFinding;
    culprits_.Offer(sample, {-*mean, *mean, options_.threshold, check, level},
                    [&] { return Description(sample, check, *mean); });
  }

  std::string_view CheckOf(const Sample &sample, const State &state,
                           const UnusedGradients &unused) const {
    if (state.was_there) return "small";
    if (!options_.layers_only) return "unused";
    if (unused.IsCutOff(sample.Tensor())) return "cut";
    return unused.IsDead(sample.Tensor()) ? "dead" : "unused";
  }

  std::string Description(const Sample &sample, std::string_view check, double mean) const {
    const std::string gradient = StrCat("the gradient '", sample.Tensor(), "' has ");
    if (check == "small") {
      return StrCat(gradient, "a mean absolute value of ", Shortest(mean), ", below the limit of ",
                    Shortest(options_.threshold));
    }
    return StrCat(
        gradient, "been zero at every step",
        check == "cut"    ? ", as those of most layers: what they return is cut off from the loss"
        : check == "dead" ? ", and so has what a later layer gets: units between them are dead"
                          : ": its parameter is dead or not used");
  }

  bool IsSpared(const Sample &sample, double mean) {
    return (options_.floor && WorkerOf(sample).losses.AreLow()) ||
           (sample.Role() == kRoutedGradient && mean == 0);
  }

  const Roles roles_;
  const Selector small_;
  const Selector routed_;
  const Options options_;
  SampleStates<State> states_;
  std::map<std::string, Worker, std::less<>> workers_;
  Culprits culprits_;
};

constexpr ParameterSpec kParameters[] = {
    {"threshold", "1e-7", "1e-10", "minimum mean absolute value of a gradient"},
    {"ratio", "", "1e-3",
     "minimum ratio of the first layer's gradient to the last layer's, by mean absolute value"},
    {"floor", "None", "1e-6",
     "losses below this value leave nothing to learn: gradients may be small"},
    {"layers_only", "False", "True", "true skips biases and other tensors with one axis"},
    {"patience", "1", "5", "number of consecutive steps before a finding"},
    kSample,
};

Result<std::unique_ptr<Rule>> Make(const Parameters &parameters) {
  Options options{};
  SMD_ASSIGN_OR_RETURN(options.threshold, parameters.Positive("threshold"));
  SMD_ASSIGN_OR_RETURN(options.ratio, parameters.OptionalNumber("ratio"));
  if (options.ratio && !(*options.ratio > 0)) return parameters.Refuse("ratio must be above 0");
  SMD_ASSIGN_OR_RETURN(options.floor, parameters.OptionalNumber("floor"));
  SMD_ASSIGN_OR_RETURN(options.layers_only, parameters.Switch("layers_only"));
  SMD_ASSIGN_OR_RETURN(options.patience, parameters.Whole("patience", 1, 1'000'000));
  std::vector<Selector> selectors(kRoles);
  SMD_ASSIGN_OR_RETURN(selectors[kGradient], Selector::Make({"gradients"}, {}));
  if (options.ratio) {
    SMD_ASSIGN_OR_RETURN(selectors[kWeight], Selector::Make({"weights"}, {}));
  }
  if (options.floor) {
    SMD_ASSIGN_OR_RETURN(selectors[kLoss], Selector::Make({"losses"}, {std::string(kLossNames)}));
  }
  SMD_ASSIGN_OR_RETURN(Selector small, Selector::Make({}, {std::string(kSmallByNature)}));
  SMD_ASSIGN_OR_RETURN(Selector routed, Selector::Make({}, {std::string(kRouted)}));
  return std::unique_ptr<Rule>(std::make_unique<VanishingGradient>(
      Roles(std::move(selectors)), std::move(small), std::move(routed), options));
}

}  // namespace

const RuleSpec kVanishingGradient = {"VanishingGradient",
                                     "a gradient's mean absolute value is below the threshold",
                                     kParameters, Make};

}  // namespace smdebug::rules
