// Finds losses that get outputs of a kind that they do not expect, or targets that the model reads.
#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/strings.h"
#include "rules/builtin/builtin_rules.h"
#include "rules/support/class_weights.h"
#include "rules/support/culprits.h"
#include "rules/support/reads_ahead.h"
#include "rules/support/roles.h"
#include "rules/support/swapped_axes.h"
#include "rules/support/target_places.h"
#include "rules/support/tensor_names.h"
#include "rules/support/tensor_states.h"
#include "rules/support/words.h"

namespace smdebug::rules {
namespace {

enum Role : size_t {
  kScores,
  kNumbers,
  kTargets,
  kLabels,
  kModelInputs,
  kRoles,
  kSequences,
  kLightTargets,
  kWeights
};

// Scores of classes, which a softmax or a sigmoid turns into probabilities inside the loss, and
// logarithms of probabilities.
constexpr std::string_view kScoreInputs =
    R"((CrossEntropy|(?<![a-z])NLL|KLDiv|BCEWithLogits)Loss\w*_input_0$)";
constexpr std::string_view kNumberInputs = R"((MSE|L1|Huber)Loss\w*_input_0$)";
constexpr std::string_view kNumberTargets =
    R"((MSE|L1|Huber|BCE|BCEWithLogits)Loss\w*_input_1$,)"
    R"((^|(?<!Label))(SoftMargin|HingeEmbedding)Loss\w*_input_1$,)"
    R"((^|(?<!Multi))(MarginRanking|CosineEmbedding)Loss\w*_input_2$)";

constexpr std::string_view kLabelTargets = R"((CrossEntropy|(?<![a-z])NLL)Loss\w*_input_1$)";
constexpr std::string_view kInputsOfModules = R"(^(?!.*Loss).*_input_\d+$)";
// What a loss multiplies classes by: "loss_weight/CrossEntropyLoss".
constexpr std::string_view kWeightsOfClasses = "loss_weight/";

// Sums of a softmax in 16 bits differ from 1 by less.
constexpr double kTolerance = 0.02;
constexpr int64_t kMostElements = 65'536;
constexpr double kLeastElements = 32;
constexpr int64_t kLongerForLogits = 10;
constexpr double kBetween = 0.5;  // two classes
// Positive targets that are rarer than this are not to count less than negative ones.
constexpr double kRarePositives = 100.0 / 3;  // percent
constexpr double kTargetsOfWeight = 200;
// How many steps with targets are compared with inputs: a fault of the data is there from the
// start.
constexpr int64_t kStepsWithTargets = 60;
constexpr int64_t kStepsWithoutTargets = 300;  // then no rule knows the loss
// Whether a model of the next token reads it shows once it has learned to.
constexpr int64_t kStepsOfReading = 10'000;
constexpr int64_t kStepsBetween = 4;
// The end of what a tanh or a sigmoid returns, and what counts as near to it, at it and beyond it.
constexpr double kEnd = 1;
constexpr double kNearEnd = 0.95;
constexpr double kAtEnd = 0.999;
constexpr double kBeyondEnd = 1.1;

// Returns "32, 1" for a shape.
std::string SizesOf(const std::vector<int64_t> &shape) {
  std::vector<std::string> sizes;
  sizes.reserve(shape.size());
  for (const int64_t size : shape) sizes.push_back(std::to_string(size));
  return Join(sizes, ", ");
}

struct Limits {
  int64_t patience;
  double zeros;
  double below;
  double ahead;
};

// Follows one input of a loss.
struct Input {
  int64_t probabilities = 0;  // consecutive steps
  int64_t steps = 0;
  double elements = 0;  // of all steps
  double zeros = 0;
  bool was_negative = false;
  double near_end = 0;  // of `elements`
  double largest = 0;
  double targets = 0;
  double least_target = INFINITY;
  double most_target = -INFINITY;
  double negative_targets = 0;
  double targets_beyond = 0;
  double positive_targets = 0;
  int64_t impossible_targets = 0;     // consecutive steps
  std::vector<int64_t> target_shape;  // of the step before
  int64_t broadcasts = 0;             // consecutive steps
};

// Follows the targets of a worker among what its model reads.
struct Places {
  TokenInputs tokens;
  ColumnsAndTarget columns;
  int64_t steps = 0;  // with targets
  int64_t all_steps = 0;
  int64_t not_shifted = 0;    // consecutive steps
  int64_t shifted_twice = 0;  // consecutive steps
  bool are_next_tokens = false;
  ReadsAhead ahead;
  SwappedAxes axes;

  bool LooksAhead() const {
    return are_next_tokens && all_steps < kStepsOfReading && all_steps % kStepsBetween == 0;
  }
};

class LossInput final : public Rule {
 public:
  LossInput(Roles roles, const Limits &limits)
      : Rule("LossInput"), roles_(std::move(roles)), limits_(limits) {}

  std::optional<size_t> RoleOf(std::string_view tensor,
                               const Membership &membership) const override {
    if (tensor.starts_with(kWeightsOfClasses)) return kWeights;
    const std::optional<size_t> role = roles_.Of(tensor, membership);
    const bool is_of_module = role && *role == kModelInputs;
    const bool is_target = role && *role == kTargets;
    if (is_target && membership.IsIn("positives_count_less", tensor)) return kLightTargets;
    return is_of_module && membership.IsIn("second_axis_samples", tensor) ? kSequences : role;
  }

  void Observe(const Sample &sample, Findings &) override {
    const size_t role = sample.Role();
    if (!IsTraining(sample.Place().mode)) return;
    if (role == kModelInputs || role == kSequences) return NoteModelInput(sample);
    if (role == kWeights) return NoteWeights(sample);
    const bool are_targets = role == kTargets || role == kLightTargets;
    if (role == kLabels || are_targets) EvaluateAxes(sample);
    if (role == kLabels) {
      EvaluateReading(sample);
      EvaluateClassWeights(sample);
      return EvaluatePlaces(sample, true);
    }
    // "CrossEntropyLoss_input_" for the input and the target of a loss.
    Input &input =
        inputs_.Of(sample.Worker(), sample.Tensor().substr(0, sample.Tensor().size() - 1));
    if (are_targets) {
      EvaluatePlaces(sample, false);
      NoteTargets(sample, &input);
      if (role == kLightTargets) EvaluateWeight(sample, input);
      return;
    }
    if (role == kNumbers) EvaluateShape(sample, &input);
    if (role == kScores) NoteScores(sample);
    const tensor::View *form = sample.RealElements();
    if (form == nullptr || !tensor::IsFloat(form->dtype)) return;
    const std::vector<double> elements = sample.SomeNumbers(kMostElements);
    if (elements.empty()) return;
    NoteEvaluated();
    if (role == kScores) EvaluateProbabilities(sample, elements, &input);
    EvaluateZeros(sample, elements, role == kNumbers, &input);
    if (role == kNumbers) EvaluateEnds(sample, elements, &input);
  }

  void EndStep(Findings &findings) override {
    culprits_.Report(findings);
    for (auto &[worker, places] : places_) {
      places.tokens.EndStep();
      places.columns.EndStep();
      places.ahead.EndStep();
      places.axes.EndStep();
      ++places.all_steps;
    }
  }

  std::string Missing() const override { return "inputs of a loss with their elements"; }

 private:
  void NoteModelInput(const Sample &sample) {
    Places &places = places_[std::string(sample.Worker())];
    places.axes.AddInput(sample, sample.Role() == kSequences);
    if (places.LooksAhead()) places.ahead.AddInput(sample);
    const bool is_vain = places.steps == 0 && places.all_steps >= kStepsWithoutTargets;
    if (is_vain || places.steps >= kStepsWithTargets) return;
    places.tokens.Add(sample);
    places.columns.Add(sample);
  }

  void NoteWeights(const Sample &sample) {
    const tensor::View *const form = sample.RealElements();
    if (form == nullptr || form->ElementCount() > kMostElements) return;
    const std::string_view loss = sample.Tensor().substr(kWeightsOfClasses.size());
    weights_.Of(sample.Worker(), loss).Set(sample.Numbers());
  }

  void NoteScores(const Sample &sample) {
    Places &places = places_[std::string(sample.Worker())];
    if (places.LooksAhead()) places.ahead.AddScores(sample);
  }

  void EvaluateReading(const Sample &sample) {
    Places &places = places_[std::string(sample.Worker())];
    const tensor::View *const form = sample.RealElements();
    if (!places.LooksAhead() || form == nullptr || form->ElementCount() > kMostElements) return;
    places.ahead.AddTargets(sample.Numbers());
    const std::optional<ReadsAhead::Pairs> pairs = places.ahead.Last();
    if (!pairs) return;
    NoteEvaluated();
    const double told = 100 * static_cast<double>(pairs->told) / static_cast<double>(pairs->all);
    if (!(told > limits_.ahead)) return;
    culprits_.Offer(sample, {told, told, limits_.ahead, "ahead"}, [&] {
      return StrCat("of ", pairs->all,
                    " pairs of texts that begin alike and go on differently, "
                    "the model predicted both next tokens '",
                    sample.Tensor(), "' in ", Shortest(told),
                    " %: it reads the tokens that it should predict, as without a causal mask");
    });
  }

  void EvaluateAxes(const Sample &sample) {
    SwappedAxes &axes = places_[std::string(sample.Worker())].axes;
    const auto found = axes.AddTargets(sample, limits_.patience);
    if (!found) return;
    NoteEvaluated();
    const auto steps = static_cast<double>(found->steps);
    culprits_.Offer(sample, {steps, steps, static_cast<double>(limits_.patience), "axes"}, [&] {
      return StrCat(
          "'", found->input, "' has ", found->samples, " along its first axis and ", found->length,
          " along the second, which its module takes for the samples, but '", sample.Tensor(),
          "' are of ", found->samples, " samples: the module mixes them; give it batch_first=True");
    });
  }

  void EvaluatePlaces(const Sample &sample, bool are_labels) {
    Places &places = places_[std::string(sample.Worker())];
    const tensor::View *const form = sample.RealElements();
    const bool is_small = form != nullptr && form->ElementCount() <= kMostElements;
    if (!is_small || places.steps++ >= kStepsWithTargets) return;
    const std::vector<double> targets = sample.Numbers();
    if (are_labels) EvaluateTokens(sample, targets, &places);
    places.columns.AddTargets(targets);
    const auto column = places.columns.Telling(limits_.patience);
    if (!column) return;
    NoteEvaluated();
    const auto samples = static_cast<double>(column->samples);
    culprits_.Offer(sample, {samples, samples, 0, "given"}, [&] {
      return StrCat("column ", column->number, " of '", column->input, "' tells '", sample.Tensor(),
                    "' of all ", column->samples,
                    " samples exactly, by a factor and an offset: the inputs contain the targets");
    });
  }

  void EvaluateTokens(const Sample &sample, const std::vector<double> &targets, Places *places) {
    const std::optional<TokenMatch> match = places->tokens.Match(targets);
    if (match) NoteEvaluated();
    places->are_next_tokens |= match && match->offset == 1;
    places->not_shifted = match && match->offset == 0 ? places->not_shifted + 1 : 0;
    places->shifted_twice = match && match->offset == 2 ? places->shifted_twice + 1 : 0;
    const bool is_twice = places->shifted_twice > 0;
    const int64_t count = is_twice ? places->shifted_twice : places->not_shifted;
    if (count < limits_.patience) return;
    const auto steps = static_cast<double>(count);
    const auto limit = static_cast<double>(limits_.patience);
    const std::string_view check = is_twice ? "shifted_twice" : "given";
    culprits_.Offer(sample, {steps, steps, limit, check}, [&] {
      return StrCat("for ", count, " steps, the targets '", sample.Tensor(), "' have been ",
                    is_twice ? "the tokens two places after those of '" : "the tokens of '",
                    match->of,
                    is_twice ? "': they are shifted twice"
                             : "' at the same places: they are not shifted, so the model only "
                               "copies what it reads");
    });
  }

  void NoteTargets(const Sample &sample, Input *input) {
    const tensor::View *const form = sample.Form();
    input->target_shape.clear();
    if (form != nullptr) input->target_shape.assign(form->shape.begin(), form->shape.end());
    double outside = 0;  // targets below 0 or above 1
    const std::vector<double> targets = sample.SomeNumbers(kMostElements);
    for (const double target : targets) {
      ++input->targets;
      input->least_target = std::min(input->least_target, target);
      input->most_target = std::max(input->most_target, target);
      if (target < 0) ++input->negative_targets;
      if (target > kBetween) ++input->positive_targets;
      if (std::fabs(target) > kBeyondEnd) ++input->targets_beyond;
      if (target < -kTolerance || target > 1 + kTolerance) ++outside;
    }
    if (targets.empty()) return;
    const auto all = static_cast<double>(targets.size());
    if (sample.Tensor().find("BCE") != std::string_view::npos) {
      EvaluateTargets(sample, 100 * outside / all, input,
                      "' are below 0 or above 1, but the loss takes probabilities: give it labels "
                      "of 0 and 1");
    } else if (TakesSigns(sample.Tensor())) {
      const auto zeros = std::count(targets.begin(), targets.end(), 0.0);
      EvaluateTargets(sample, 100 * static_cast<double>(zeros) / all, input,
                      "' are 0, of which the loss learns nothing: give it labels of -1 and 1");
    }
  }

  void EvaluateWeight(const Sample &sample, const Input &input) {
    if (input.targets < kTargetsOfWeight) return;
    NoteEvaluated();
    const double share = 100 * input.positive_targets / input.targets;
    if (!(share < kRarePositives)) return;
    culprits_.Offer(sample, {kRarePositives - share, share, kRarePositives, "weight"}, [&] {
      return StrCat("of '", sample.Tensor(), "', ", Shortest(share),
                    " % are positive, and the loss's pos_weight lets these count less: give it the "
                    "number of negative ones for each positive");
    });
  }

  void EvaluateClassWeights(const Sample &sample) {
    const std::string_view loss = sample.Tensor().substr(0, sample.Tensor().rfind("_input_"));
    ClassWeights &weights = weights_.Of(sample.Worker(), loss);
    const tensor::View *const form = sample.RealElements();
    if (!weights.AreThere() || form == nullptr || form->ElementCount() > kMostElements) return;
    NoteEvaluated();
    const auto reversed = weights.Add(sample.Numbers());
    if (!reversed) return;
    const double times = reversed->more_weight;
    culprits_.Offer(sample, {times, times, ClassWeights::kTimes, "rare_classes"}, [&] {
      return StrCat("class ", reversed->common, " is ", Shortest(reversed->more_frequent),
                    " times as frequent in '", sample.Tensor(), "' as class ", reversed->rare,
                    ", and the loss's weight lets it count ", Shortest(times),
                    " times as much: give rare classes the larger weights");
    });
  }

  static bool TakesSigns(std::string_view tensor) {
    return tensor.find("Margin") != std::string_view::npos ||
           tensor.find("Embedding") != std::string_view::npos;
  }

  // `why` ends the sentence on these targets.
  void EvaluateTargets(const Sample &sample, double share, Input *input, std::string_view why) {
    NoteEvaluated();
    input->impossible_targets = share > limits_.below ? input->impossible_targets + 1 : 0;
    if (input->impossible_targets < limits_.patience) return;
    culprits_.Offer(sample, {share, share, limits_.below, "targets"},
                    [&] { return StrCat(Shortest(share), " % of '", sample.Tensor(), why); });
  }

  // Outputs of the shape (n, 1) and targets of the shape (n) are compared each with each.
  void EvaluateShape(const Sample &sample, Input *input) {
    const tensor::View *const form = sample.Form();
    if (form == nullptr || input->target_shape.empty()) return;
    const std::vector<int64_t> shape(form->shape.begin(), form->shape.end());
    input->broadcasts = AreBroadcast(shape, input->target_shape) ? input->broadcasts + 1 : 0;
    if (input->broadcasts < limits_.patience) return;
    NoteEvaluated();
    const auto steps = static_cast<double>(input->broadcasts);
    culprits_.Offer(
        sample, {steps, steps, static_cast<double>(limits_.patience), "broadcast"}, [&] {
          return StrCat("'", sample.Tensor(), "' has the shape (", SizesOf(shape),
                        ") and its targets (", SizesOf(input->target_shape),
                        "): the loss compares each output with each target; give both one shape");
        });
  }

  // Reports whether arithmetic on both has more elements than either.
  static bool AreBroadcast(const std::vector<int64_t> &a, const std::vector<int64_t> &b) {
    bool is_larger_than_a = false;
    bool is_larger_than_b = false;
    for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
      const int64_t of_a = i < a.size() ? a[a.size() - 1 - i] : 1;
      const int64_t of_b = i < b.size() ? b[b.size() - 1 - i] : 1;
      if (of_a != of_b && of_a != 1 && of_b != 1) return false;
      is_larger_than_a |= of_a < of_b;
      is_larger_than_b |= of_b < of_a;
    }
    return is_larger_than_a && is_larger_than_b;
  }

  void EvaluateProbabilities(const Sample &sample, const std::vector<double> &elements,
                             Input *input) {
    const bool is_of_logits = sample.Tensor().find("BCE") != std::string_view::npos;
    const bool is_now =
        is_of_logits ? AreSquashed(elements) : !WhatIsWrong(sample, elements).empty();
    input->probabilities = is_now ? input->probabilities + 1 : 0;
    // Logits may all lie between 0 and 1 by chance, for a while.
    const int64_t patience = is_of_logits ? kLongerForLogits * limits_.patience : limits_.patience;
    if (input->probabilities < patience) return;
    // Scores of one class alone are to lie on one side of 0.
    const bool are_of_one = input->least_target >= kBetween || input->most_target <= kBetween;
    if (is_of_logits && input->targets > 0 && are_of_one) return;
    const auto steps = static_cast<double>(input->probabilities);
    culprits_.Offer(sample, {steps, steps, static_cast<double>(patience), "probabilities"}, [&] {
      return StrCat("for ", input->probabilities, " steps, '", sample.Tensor(), "' ",
                    is_of_logits ? "has held probabilities, but the loss computes the sigmoid of "
                                   "its input itself: give it the scores"
                                 : WhatIsWrong(sample, elements));
    });
  }

  // Returns a sentence on the scores of classes that a loss gets, or "".
  static std::string_view WhatIsWrong(const Sample &sample, const std::vector<double> &elements) {
    const bool are_logarithms = sample.Tensor().find("NLL") != std::string_view::npos ||
                                sample.Tensor().find("KLDiv") != std::string_view::npos;
    const bool is_positive = std::any_of(elements.begin(), elements.end(),
                                         [](double each) { return each > kTolerance; });
    if (are_logarithms && is_positive) {
      return "has been above 0, but the loss takes logarithms of probabilities: give it the "
             "log_softmax of the scores";
    }
    switch (AxisOfProbabilities(sample, elements, are_logarithms)) {
      case Axis::kSamples:
        return "has held probabilities that add up to 1 over the samples: compute the softmax over "
               "the classes";
      case Axis::kClasses:
        if (are_logarithms) return {};
        return "has held probabilities, but the loss computes the softmax of its input itself: "
               "give it the scores";
      default: return {};
    }
  }

  // Reports whether the elements could come from a sigmoid.
  static bool AreSquashed(const std::vector<double> &elements) {
    const auto [least, most] = std::minmax_element(elements.begin(), elements.end());
    return *least >= 0 && *most <= 1 && *least < *most;
  }

  enum class Axis { kNone, kClasses, kSamples };

  // Returns the axis along which the elements, or what they are logarithms of, add up to 1.
  static Axis AxisOfProbabilities(const Sample &sample, const std::vector<double> &elements,
                                  bool are_logarithms) {
    const std::span<const int64_t> shape = sample.RealElements()->shape;
    // Of others, there may be only a part.
    if (shape.size() != 2 || shape[1] < 2 || std::ssize(elements) != shape[0] * shape[1]) {
      return Axis::kNone;
    }
    const auto classes = static_cast<size_t>(shape[1]);
    std::vector<double> of_samples(static_cast<size_t>(shape[0]));
    std::vector<double> of_classes(classes);
    double varies = 0;
    for (size_t i = 0; i < elements.size(); ++i) {
      const double each = are_logarithms ? std::exp(elements[i]) : elements[i];
      if (!(each >= 0 && each <= 1 + kTolerance)) return Axis::kNone;
      of_samples[i / classes] += each;
      of_classes[i % classes] += each;
      varies = std::max(varies, std::fabs(elements[i] - elements[i % classes]));
    }
    // Scores of 0.25 each, as of a last layer of zeros, are probabilities by chance.
    if (!(varies > 0)) return Axis::kNone;
    if (AreOne(of_samples)) return Axis::kClasses;
    return AreOne(of_classes) ? Axis::kSamples : Axis::kNone;
  }

  static bool AreOne(const std::vector<double> &sums) {
    return std::all_of(sums.begin(), sums.end(),
                       [](double sum) { return std::fabs(sum - 1) <= kTolerance; });
  }

  // An activation before the loss cuts off what is below 0, which targets or scores need.
  void EvaluateZeros(const Sample &sample, const std::vector<double> &elements, bool has_targets,
                     Input *input) {
    input->was_negative |=
        std::any_of(elements.begin(), elements.end(), [](double each) { return !(each >= 0); });
    const auto zeros_now = std::count(elements.begin(), elements.end(), 0.0);
    // A last layer may begin with zeros.
    if (zeros_now == static_cast<std::ptrdiff_t>(elements.size())) return;
    ++input->steps;
    input->elements += static_cast<double>(elements.size());
    input->zeros += static_cast<double>(zeros_now);
    if (input->was_negative || input->steps < limits_.patience) return;
    if (has_targets && input->negative_targets <= limits_.below / 100 * input->targets) return;
    const double zeros = 100 * input->zeros / input->elements;
    if (zeros < limits_.zeros || input->elements < kLeastElements) return;
    culprits_.Offer(sample, {zeros, zeros, limits_.zeros, "cut_off"}, [&] {
      return StrCat("'", sample.Tensor(), "' was never below 0, and ", Shortest(zeros),
                    " % of it were 0: an activation cuts off the outputs before the loss",
                    has_targets ? ", though targets are below 0" : "");
    });
  }

  // A tanh or a sigmoid before the loss returns nothing beyond 1, which targets need.
  void EvaluateEnds(const Sample &sample, const std::vector<double> &elements, Input *input) {
    for (const double each : elements) {
      const double size = std::fabs(each);
      input->largest = std::isnan(size) ? INFINITY : std::max(input->largest, size);
      if (size >= kNearEnd) ++input->near_end;
    }
    const bool has_end = input->largest >= kAtEnd && input->largest <= kEnd;
    if (!has_end || input->steps < limits_.patience) return;
    if (input->targets_beyond <= limits_.below / 100 * input->targets) return;
    const double near = 100 * input->near_end / input->elements;
    if (near < limits_.zeros || input->elements < kLeastElements) return;
    culprits_.Offer(sample, {near, near, limits_.zeros, "cut_off"}, [&] {
      return StrCat("'", sample.Tensor(), "' was never beyond 1, and ", Shortest(near),
                    " % of it were close to it: an activation cuts off the outputs before the "
                    "loss, though targets are beyond 1");
    });
  }

  const Roles roles_;
  const Limits limits_;
  TensorStates<Input> inputs_;
  TensorStates<ClassWeights> weights_;    // by loss
  std::map<std::string, Places> places_;  // by worker
  Culprits culprits_;
};

constexpr ParameterSpec kParameters[] = {
    {"scores_regex", kScoreInputs, kScoreInputs,
     "expressions found in the names of scores that a loss takes, separated by commas"},
    {"numbers_regex", kNumberInputs, kNumberInputs,
     "expressions found in the names of outputs that a loss compares with numbers"},
    {"targets_regex", kNumberTargets, kNumberTargets,
     "expressions found in the names of these numbers, which end like the outputs but with 1"},
    {"labels_regex", kLabelTargets, kLabelTargets,
     "expressions found in the names of the classes that a loss takes as targets"},
    {"inputs_regex", kInputsOfModules, kInputsOfModules,
     "expressions found in the names of what the model reads, in which targets are looked for"},
    {"zeros", "5", "5", "minimum percentage of outputs that are cut off at 0, or near 1"},
    {"below", "5", "5",
     "minimum percentage of targets below 0, or beyond 1, that outputs should reach, or that are "
     "no probabilities"},
    {"ahead", "30", "30",
     "of texts that begin alike and go on differently, the percentage of pairs of which a model "
     "predicts both next tokens"},
    {"patience", "3", "5", "number of consecutive steps before a finding"},
};

Result<std::unique_ptr<Rule>> Make(const Parameters &parameters) {
  Limits limits{};
  SMD_ASSIGN_OR_RETURN(limits.zeros, parameters.Number("zeros", 0, 100));
  SMD_ASSIGN_OR_RETURN(limits.below, parameters.Number("below", 0, 100));
  SMD_ASSIGN_OR_RETURN(limits.ahead, parameters.Number("ahead", 0, 100));
  SMD_ASSIGN_OR_RETURN(limits.patience, parameters.Whole("patience", 1, 1'000'000));
  std::vector<Selector> selectors(kRoles);
  SMD_ASSIGN_OR_RETURN(selectors[kScores], Selector::Make({}, parameters.List("scores_regex")));
  SMD_ASSIGN_OR_RETURN(selectors[kNumbers], Selector::Make({}, parameters.List("numbers_regex")));
  SMD_ASSIGN_OR_RETURN(selectors[kTargets], Selector::Make({}, parameters.List("targets_regex")));
  SMD_ASSIGN_OR_RETURN(selectors[kLabels], Selector::Make({}, parameters.List("labels_regex")));
  SMD_ASSIGN_OR_RETURN(selectors[kModelInputs],
                       Selector::Make({}, parameters.List("inputs_regex")));
  return std::unique_ptr<Rule>(std::make_unique<LossInput>(Roles(std::move(selectors)), limits));
}

}  // namespace

const RuleSpec kLossInput = {
    "LossInput",
    "a loss gets probabilities where it takes scores, outputs that an "
    "activation has cut off, targets that are no probabilities, or targets "
    "that the model reads",
    kParameters, Make};

}  // namespace smdebug::rules
