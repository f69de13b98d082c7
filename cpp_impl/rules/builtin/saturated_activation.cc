// Finds tanh and sigmoid units at the ends of their range, where the slope is near zero.
#include <cmath>

#include "base/strings.h"
#include "rules/builtin/builtin_rules.h"
#include "rules/support/culprits.h"
#include "rules/support/named_tensors.h"
#include "rules/support/neuron_activity.h"
#include "rules/support/tensor_names.h"
#include "rules/support/words.h"

namespace smdebug::rules {
namespace {

constexpr std::string_view kTanh = "tanh";
constexpr std::string_view kSigmoid = "sigmoid";

class SaturatedActivation final : public Rule {
 public:
  SaturatedActivation(Selector selector, const ActivityOptions &options, ActiveRange of_tanh,
                      ActiveRange of_sigmoid)
      : Rule("SaturatedActivation"),
        selector_(std::move(selector)),
        activity_(options),
        of_tanh_(of_tanh),
        of_sigmoid_(of_sigmoid) {}

  bool Wants(std::string_view tensor, const Membership &membership) const override {
    return selector_.Matches(tensor, membership);
  }

  void Observe(const Sample &sample, Findings &) override {
    const bool is_sigmoid = ToLower(sample.Tensor()).find(kSigmoid) != std::string::npos;
    const ActiveRange &range = is_sigmoid ? of_sigmoid_ : of_tanh_;
    const std::optional<double> saturated = activity_.InactiveShare(sample, range);
    if (!saturated) return;
    NoteEvaluated();
    const ActivityOptions &options = activity_.Options();
    if (!(*saturated > options.threshold_layer)) return;
    const Offence offence = {*saturated, *saturated, options.threshold_layer,
                             is_sigmoid ? kSigmoid : kTanh};
    culprits_.Offer(sample, offence, [&] {
      return StrCat(Shortest(*saturated), " % of the neurons of '", sample.Tensor(),
                    "' are saturated: between ", Shortest(range.low), " and ", Shortest(range.high),
                    " in less than ", Shortest(options.threshold_inactivity), " % of the samples");
    });
  }

  void EndStep(Findings &findings) override { culprits_.Report(findings); }

  std::string Missing() const override {
    return "inputs of tanh or sigmoid units with their elements";
  }

 private:
  const Selector selector_;
  NeuronActivity activity_;
  const ActiveRange of_tanh_;
  const ActiveRange of_sigmoid_;
  Culprits culprits_;
};

constexpr ParameterSpec kParameters[] = {
    {"collection_names", "", "", kCollectionNamesMeaning},
    {"tensor_regex", kTanhAndSigmoidInputs, kTanhAndSigmoidInputs,
     "expressions found in the names of inputs of tanh and sigmoid units, separated by commas; the "
     "default matches names of MXNet, PyTorch and Keras, and adds the collections tanh_input and "
     "sigmoid_input; a name without 'sigmoid' counts as tanh"},
    {"threshold_tanh_min", "-9.4999", "", "input below which tanh is saturated"},
    {"threshold_tanh_max", "9.4999", "", "input above which tanh is saturated"},
    {"threshold_tanh", "", "", "both inputs, as (min,max)"},
    {"threshold_sigmoid_min", "-23", "", "input below which sigmoid is saturated"},
    {"threshold_sigmoid_max", "16.99999", "", "input above which sigmoid is saturated"},
    {"threshold_sigmoid", "", "", "both inputs, as (min,max)"},
    {"grad_threshold", "", "1e-3",
     "slope below which a unit is saturated; gives the inputs that are not set"},
    {"threshold_inactivity", "1.0", "10.0", kInactivityMeaning},
    kThresholdLayer,
    kWindow,
    kLeastSamples,
    kUnit,
    kChannelAxis,
    kActivitySample,
};

Result<ActiveRange> PairOf(const Parameters &parameters, const std::string &name) {
  const std::string given = parameters.Text(name);
  std::string_view text = given;
  if (text.starts_with('(') && text.ends_with(')')) text = text.substr(1, text.size() - 2);
  const std::vector<std::string> ends = SplitList(text);
  const auto low = ends.size() == 2 ? ParseDouble(ends[0]) : std::nullopt;
  const auto high = ends.size() == 2 ? ParseDouble(ends[1]) : std::nullopt;
  if (low && high) return ActiveRange{*low, *high};
  return parameters.Refuse(StrCat(name, " must be two numbers, as (-9.5,9.5)"));
}

// Returns the given number, else the end computed from the slope, else the default.
Result<double> EndOf(const Parameters &parameters, const std::string &name, double from_slope) {
  SMD_ASSIGN_OR_RETURN(const auto number, parameters.OptionalNumber(name));
  const bool follows = std::isfinite(from_slope) && !parameters.IsGiven(name);
  return follows || !number ? from_slope : *number;
}

Result<ActiveRange> RangeOf(const Parameters &parameters, std::string_view function,
                            double from_slope) {
  const std::string name = StrCat("threshold_", function);
  ActiveRange range{};
  if (!parameters.Text(name).empty()) {
    SMD_ASSIGN_OR_RETURN(range, PairOf(parameters, name));
  } else {
    SMD_ASSIGN_OR_RETURN(range.low, EndOf(parameters, name + "_min", -from_slope));
    SMD_ASSIGN_OR_RETURN(range.high, EndOf(parameters, name + "_max", from_slope));
  }
  if (range.low < range.high) return range;
  return parameters.Refuse(
      StrCat(name, "_min must be below ", name, "_max; give both, or grad_threshold"));
}

Result<std::unique_ptr<Rule>> Make(const Parameters &parameters) {
  SMD_ASSIGN_OR_RETURN(const ActivityOptions options, ActivityOptions::From(parameters));
  SMD_ASSIGN_OR_RETURN(const auto slope, parameters.OptionalNumber("grad_threshold"));
  // The steepest slope of sigmoid is a quarter.
  if (slope && !(*slope > 0 && *slope < 0.25)) {
    return parameters.Refuse("grad_threshold must be between 0 and 0.25");
  }
  const double least = slope.value_or(kNoNumber);
  SMD_ASSIGN_OR_RETURN(const ActiveRange of_tanh,
                       RangeOf(parameters, kTanh, std::atanh(std::sqrt(1 - least))));
  SMD_ASSIGN_OR_RETURN(const ActiveRange of_sigmoid,
                       RangeOf(parameters, kSigmoid, 2 * std::atanh(std::sqrt(1 - 4 * least))));
  std::vector<std::string> by_default;
  if (!parameters.IsGiven("tensor_regex")) by_default = {"tanh_input", "sigmoid_input"};
  SMD_ASSIGN_OR_RETURN(Selector selector, NamedTensors(parameters, std::move(by_default)));
  if (selector.IsEmpty()) return parameters.Refuse("tensor_regex is empty");
  return std::unique_ptr<Rule>(
      std::make_unique<SaturatedActivation>(std::move(selector), options, of_tanh, of_sigmoid));
}

}  // namespace

const RuleSpec kSaturatedActivation = {
    "SaturatedActivation",
    "the percentage of saturated neurons in a tanh or sigmoid layer exceeds the threshold",
    kParameters, Make};

}  // namespace smdebug::rules
