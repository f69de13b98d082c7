#include "rules/support/tensor_names.h"

#include <algorithm>
#include <array>

#include "base/strings.h"

namespace smdebug::rules {
namespace {

// Parts of names, between "/" and ".", under which frameworks keep the state of an optimiser.
constexpr std::array<std::string_view, 11> kOptimizerStates = {
    "optimizer_state", "optimizer",  "opt_state", "exp_avg",  "exp_avg_sq",     "max_exp_avg_sq",
    "exp_inf",         "square_avg", "acc_delta", "grad_avg", "momentum_buffer"};
// How names of the variables of an optimiser of Keras begin, but for the case of letters and a
// number, as "adam/dense_bias_momentum:0" and "Adam/m/dense/bias:0".
constexpr std::array<std::string_view, 13> kKerasOptimizers = {
    "adadelta", "adafactor", "adagrad", "adam",  "adamax",  "adamw", "ftrl",
    "lamb",     "lion",      "muon",    "nadam", "rmsprop", "sgd"};
// How names begin that hooks give to what an optimiser does, and to settings.
constexpr std::array<std::string_view, 13> kOfUpdates = {"scalar/",          "update/",
                                                         "held_gradient/",   "missing_gradient/",
                                                         "evaluation_mode/", "learning_rate/",
                                                         "weight_decay/",    "dropout/",
                                                         "training_mode/",   "initial_statistics/",
                                                         "beta_excess/",     "initial_frozen/",
                                                         "loss_weight/"};
// Parts of names of numbers about a loss that are no loss.
constexpr std::array<std::string_view, 3> kAboutLosses = {"loss_scal", "LossScal", "loss_weight"};

bool HasPart(std::string_view name, std::string_view part) {
  for (size_t at = name.find(part); at != std::string_view::npos; at = name.find(part, at + 1)) {
    const size_t end = at + part.size();
    const bool begins = at == 0 || name[at - 1] == '/' || name[at - 1] == '.';
    const bool ends = end == name.size() || name[end] == '/' || name[end] == '.';
    if (begins && ends) return true;
  }
  return false;
}

// Returns true for inputs and outputs of modules, as "weights.0_output_0", and for copies of
// weights that a script records, as "ema/fc.weight_output_0".
bool IsOfModule(std::string_view tensor) {
  const std::string_view name = tensor.substr(0, tensor.find_last_not_of("0123456789") + 1);
  return name.size() < tensor.size() && (name.ends_with("_input_") || name.ends_with("_output_"));
}

bool IsOfKerasOptimizer(std::string_view tensor) {
  const size_t end = tensor.find('/');
  const size_t number = tensor.rfind(':');
  if (end == std::string_view::npos || number == std::string_view::npos ||
      tensor.find("weights/") != std::string_view::npos)
    return false;
  std::string_view first = tensor.substr(0, end);
  first = first.substr(0, first.find_last_not_of("_0123456789") + 1);
  return std::find(kKerasOptimizers.begin(), kKerasOptimizers.end(), ToLower(first)) !=
         kKerasOptimizers.end();
}

bool IsParameter(std::string_view tensor) {
  return !IsOfModule(tensor) && !IsOfKerasOptimizer(tensor) &&
         std::none_of(kOfUpdates.begin(), kOfUpdates.end(),
                      [&](std::string_view begin) { return tensor.starts_with(begin); }) &&
         std::none_of(kOptimizerStates.begin(), kOptimizerStates.end(),
                      [&](std::string_view part) { return HasPart(tensor, part); });
}

bool IsLoss(std::string_view tensor) {
  return !tensor.starts_with("gradient") &&
         std::none_of(kAboutLosses.begin(), kAboutLosses.end(), [&](std::string_view part) {
           return tensor.find(part) != std::string_view::npos;
         });
}

}  // namespace

std::string_view WeightOfGradient(std::string_view gradient) {
  constexpr std::string_view kOfTorch = "gradient/";
  constexpr std::string_view kOfKeras = "gradients/";
  constexpr std::string_view kEndOfKeras = "Grad";
  if (gradient.starts_with(kOfTorch)) return gradient.substr(kOfTorch.size());
  if (!gradient.starts_with(kOfKeras)) return gradient;
  gradient.remove_prefix(kOfKeras.size());
  if (gradient.ends_with(kEndOfKeras)) gradient.remove_suffix(kEndOfKeras.size());
  return gradient;
}

std::string_view KindOfWeight(std::string_view weight) {
  const std::string_view last = weight.substr(weight.find_last_of("./") + 1);
  for (const std::string_view kind : {"bias", "weight"}) {
    if (last.find(kind) != std::string_view::npos) return kind;
  }
  return last.substr(last.find_last_of('_') + 1);
}

std::string_view AsInGradient(std::string_view weight) {
  // Of a layer of Keras, and of a tape.
  constexpr std::string_view kOfLayer = "/weights/";
  constexpr std::string_view kOfTape = "weights/";
  const size_t end = weight.find_last_not_of("0123456789");
  const bool has_output = end != std::string_view::npos && end + 1 < weight.size();
  if (!has_output || weight[end] != ':') return weight;
  weight = weight.substr(0, end);
  const size_t layer = weight.find(kOfLayer);
  if (weight.starts_with(kOfTape)) {
    weight.remove_prefix(kOfTape.size());
  } else if (layer != std::string_view::npos) {
    weight.remove_prefix(layer + kOfLayer.size());
  }
  return weight;
}

bool IsMeantBy(std::string_view collection, std::string_view tensor) {
  if (collection == "weights" || collection == "biases") return IsParameter(tensor);
  return collection != "losses" || IsLoss(tensor);
}

}  // namespace smdebug::rules
