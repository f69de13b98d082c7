#include "check_words.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "text.h"

namespace smdebug::cli {
namespace {

struct Words {
  std::string_view check;
  std::string_view words;
};

// Others have names that read well without underscores.
constexpr std::array kWords =
    std::to_array<Words>({{"above", "above the limit"},
                          {"above_chance", "worse than a guess"},
                          {"accumulating", "gradients add up"},
                          {"below", "below the limit"},
                          {"cut_off", "outputs cut off"},
                          {"element", "a single element"},
                          {"first_loss", "first loss too large"},
                          {"first_updates", "first updates too large"},
                          {"growing", "gradients grow"},
                          {"imbalance", "classes of unequal size"},
                          {"increasing", "rising"},
                          {"inf", "infinite"},
                          {"jump", "an input far beyond all before"},
                          {"large", "too large"},
                          {"max_off_diag", "too large beside the diagonal"},
                          {"min_diag", "too small on the diagonal"},
                          {"misprediction", "classes predicted wrongly"},
                          {"nan", "NaN"},
                          {"not_decreasing", "not falling"},
                          {"ratio", "first against last layer"},
                          {"small", "too small"},
                          {"stunted", "too small"},
                          {"unused", "no gradient at any step"}});

struct Measured {
  std::string_view rule;
  std::string_view check;  // "*": any
  Measure measure;
};

constexpr std::array kMeasures = std::to_array<Measured>({
    {"AllZero", "*", {"zeros", "%"}},
    {"DeadRelu", "*", {"dead neurons", "%"}},
    {"ExplodingTensor", "growth", {"norm, relative to earlier ones", ""}},
    {"ExplodingTensor", "inf", {"elements that are not finite", ""}},
    {"ExplodingTensor", "large", {"largest element", ""}},
    {"ExplodingTensor", "nan", {"elements that are not finite", ""}},
    {"FirstNonFinite", "*", {"elements that are not finite", ""}},
    {"InputScale", "*", {"large elements", "%"}},
    {"LossInput", "cut_off", {"outputs that are 0", "%"}},
    {"LossInput", "probabilities", {"time of probabilities", "steps"}},
    {"LossNotDecreasing", "above_chance", {"loss", ""}},
    {"LossNotDecreasing", "increasing", {"rise of the loss", "%"}},
    {"LossNotDecreasing", "not_decreasing", {"fall of the loss", "%"}},
    {"NLPSequenceRatio", "*", {"share of the token", "%"}},
    {"Overfit", "*", {"loss of validation above that of training, relative", ""}},
    {"Overtraining", "*", {"evaluations since the best one", ""}},
    {"SaturatedActivation", "*", {"saturated neurons", "%"}},
    {"StalledTrainingRule", "*", {"silence", "s"}},
    {"TensorVariance", "*", {"variance", ""}},
    {"UnchangedTensor", "*", {"equal values in a row", ""}},
    {"UpdateNotApplied", "accumulating", {"time without a reset", "steps"}},
    {"UpdateNotApplied", "few_digits", {"time without a change", "steps"}},
    {"UpdateNotApplied", "growing", {"time of growth", "steps"}},
    {"UpdateNotApplied", "nothing_updated", {"time without a change", "steps"}},
    {"UpdateNotApplied", "not_updated", {"time without a change", "steps"}},
    {"UpdateNotApplied", "no_gradient", {"time without a gradient", "steps"}},
    {"UpdateNotApplied", "rounded_away", {"elements that do not change", "%"}},
    {"UpdateNotApplied", "too_small", {"elements that do not change", "%"}},
    {"VanishingGradient", "ratio", {"first layer's gradient, relative to the last", ""}},
    {"VanishingGradient", "small", {"mean absolute value", ""}},
    {"VanishingGradient", "unused", {"mean absolute value", ""}},
    {"WeightUpdateRatio", "element", {"change, relative to that of other elements", ""}},
    {"WeightUpdateRatio", "first_updates", {"change of all weights, relative to them", ""}},
    {"WeightUpdateRatio", "large", {"change of a step, relative to the weight", ""}},
    {"WeightUpdateRatio", "small", {"change of a step, relative to the weight", ""}},
    {"WorkerDivergence", "*", {"distance of the workers, relative", ""}},
});

}  // namespace

Measure MeasureOf(const std::string &rule, const std::string &check) {
  const auto known = std::find_if(kMeasures.begin(), kMeasures.end(), [&](const Measured &each) {
    return each.rule == rule && (each.check == "*" || each.check == check);
  });
  return known == kMeasures.end() ? Measure{} : known->measure;
}

std::string CheckWords(const std::string &check) {
  std::vector<std::string> parts = Split(check, '+');
  for (std::string &part : parts) {
    const auto known = std::find_if(kWords.begin(), kWords.end(),
                                    [&](const Words &each) { return each.check == part; });
    if (known != kWords.end()) part = known->words;
    std::replace(part.begin(), part.end(), '_', ' ');
  }
  return Join(parts, " and ");
}

}  // namespace smdebug::cli
