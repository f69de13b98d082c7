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
                          {"ahead", "reads the next token"},
                          {"axes", "axes swapped"},
                          {"below", "below the limit"},
                          {"betas", "betas swapped"},
                          {"crept", "weights only crept"},
                          {"cut", "cut off from the loss"},
                          {"cut_off", "outputs cut off"},
                          {"dead", "dead units"},
                          {"element", "a single element"},
                          {"endless", "falling without end"},
                          {"faded", "the rate has faded"},
                          {"first_loss", "first loss too large"},
                          {"first_updates", "first updates too large"},
                          {"full_batch", "perhaps all data"},
                          {"growing", "gradients grow"},
                          {"imbalance", "classes of unequal size"},
                          {"increasing", "rising"},
                          {"inf", "infinite"},
                          {"jump", "an input far beyond all before"},
                          {"large", "too large"},
                          {"large_targets", "targets far from 0"},
                          {"large_updates", "updates too large"},
                          {"max_off_diag", "too large beside the diagonal"},
                          {"min_diag", "too small on the diagonal"},
                          {"misprediction", "classes predicted wrongly"},
                          {"nan", "NaN"},
                          {"not_decreasing", "not falling"},
                          {"one_batch", "perhaps all data, of few samples"},
                          {"rare_classes", "rare classes count less"},
                          {"ratio", "first against last layer"},
                          {"settled", "settled loss"},
                          {"shrunk", "weights shrink"},
                          {"small", "too small"},
                          {"sorted", "samples sorted by class"},
                          {"statistics", "statistics not learned"},
                          {"stunted", "too small"},
                          {"tiny_updates", "updates too small to learn"},
                          {"training_mode", "evaluated in training mode"},
                          {"untrained", "frozen, but never trained"},
                          {"unused", "no gradient at any step"},
                          {"warmup", "warm-up without an end"},
                          {"weight", "positive targets count less"}});

struct Measured {
  std::string_view rule;
  std::string_view check;  // "*": any
  Measure measure;
};

constexpr std::array kMeasures = std::to_array<Measured>({
    {"AdamEpsDominates", "*", {"share of second moments below epsilon", ""}},
    {"AllZero", "*", {"zeros", "%"}},
    {"AttentionEntropyCollapse", "*", {"entropy, relative to that of equal probabilities", ""}},
    {"AttentionLogitGrowth", "*", {"largest logit", ""}},
    {"CheckInputImages", "mean", {"mean", ""}},
    {"CheckInputImages", "std", {"standard deviation", ""}},
    {"ClassImbalance", "imbalance", {"most frequent class, relative to the rarest", ""}},
    {"ClassImbalance", "sorted", {"agreement in a batch, beyond chance", ""}},
    {"ClassImbalance", "misprediction", {"share of the class that is taken for another", ""}},
    {"CollapsedOutput", "*", {"difference between samples, relative to the first", ""}},
    {"Confusion", "max_off_diag", {"share of another class", ""}},
    {"Confusion", "min_diag", {"share that is right", ""}},
    {"DeadExpert", "gradient", {"time without a gradient", "steps"}},
    {"DeadExpert", "load", {"time without a token", "steps"}},
    {"DeadRelu", "*", {"dead neurons", "%"}},
    {"ExplodingTensor", "growth", {"norm, relative to earlier ones", ""}},
    {"ExplodingTensor", "inf", {"elements that are not finite", ""}},
    {"ExplodingTensor", "large", {"largest element", ""}},
    {"ExplodingTensor", "nan", {"elements that are not finite", ""}},
    {"FeatureImportanceOverweight", "*", {"share of the heaviest features", ""}},
    {"FirstNonFinite", "*", {"elements that are not finite", ""}},
    {"Fp8Range", "*", {"share of elements out of range", ""}},
    {"GradBlowup", "*", {"norm, relative to the first ones", ""}},
    {"GradNormSpike", "*", {"norm of all gradients", ""}},
    {"GradientNotReset", "*", {"rows of the previous step", ""}},
    {"InputScale", "*", {"large elements", "%"}},
    {"LearningRateJump", "*", {"learning rate", ""}},
    {"LeftInEvaluation", "*", {"updates in evaluation mode", ""}},
    {"LossInput", "ahead", {"pairs of texts with both next tokens predicted", "%"}},
    {"LossInput", "axes", {"time of swapped axes", "steps"}},
    {"LossInput", "broadcast", {"time of unequal shapes", "steps"}},
    {"LossInput", "cut_off", {"outputs that are 0", "%"}},
    {"LossInput", "given", {"targets that the model reads", ""}},
    {"LossInput", "probabilities", {"time of probabilities", "steps"}},
    {"LossInput",
     "rare_classes",
     {"weight of the most frequent class, relative to the rarest", ""}},
    {"LossInput", "shifted_twice", {"time of targets two places later", "steps"}},
    {"LossInput", "targets", {"targets below 0 or above 1", "%"}},
    {"LossInput", "weight", {"positive targets, which count less", "%"}},
    {"LossNotDecreasing", "above_chance", {"loss", ""}},
    {"LossNotDecreasing", "endless", {"loss", ""}},
    {"LossNotDecreasing", "increasing", {"rise of the loss", "%"}},
    {"LossNotDecreasing", "not_decreasing", {"fall of the loss", "%"}},
    {"LossSpike", "*", {"loss", ""}},
    {"LowPrecisionUpdateLost", "*", {"share of elements that do not change", ""}},
    {"MissingActivation", "*", {"layers in a row", ""}},
    {"NLPSequenceRatio", "*", {"share of the token", "%"}},
    {"OutputLogitDrift", "*", {"mean logarithm of the sums of exponentials", ""}},
    {"Overfit", "*", {"loss of validation above that of training, relative", ""}},
    {"Overtraining", "*", {"evaluations since the best one", ""}},
    {"PoorWeightInitialization", "first_loss", {"first loss", ""}},
    {"PoorWeightInitialization", "gradients", {"range of nine tenths of the gradient", ""}},
    {"PoorWeightInitialization", "loss", {"time without a fall", "steps"}},
    {"PoorWeightInitialization", "variance", {"variance, relative to the smallest", ""}},
    {"RepeatedBatch", "*", {"time since the same batch", "steps"}},
    {"RewardAtLowest", "*", {"reward", ""}},
    {"RouterImbalance", "*", {"largest load above the mean, relative", ""}},
    {"SaturatedActivation", "*", {"saturated neurons", "%"}},
    {"SecondMomentStale", "lost", {"second moments, relative to the previous step", ""}},
    {"SecondMomentStale", "rising", {"mean square, relative to its least", ""}},
    {"SharedShard", "*", {"time with equal batches", "steps"}},
    {"StalledTrainingRule", "*", {"silence", "s"}},
    {"StepRecompute", "*", {"difference, relative", ""}},
    {"TensorVariance", "*", {"variance", ""}},
    {"TreeDepth", "*", {"depth", ""}},
    {"UnchangedTensor", "*", {"equal values in a row", ""}},
    {"UnusualSettings", "betas", {"first beta, above the second", ""}},
    {"UnusualSettings", "dropout", {"probability of a 0", ""}},
    {"UnusualSettings", "statistics", {"part that is as at first", ""}},
    {"UnusualSettings", "training_mode", {"evaluations in training mode", ""}},
    {"UnusualSettings", "untrained", {"part of frozen layers that is as at first", ""}},
    {"UnusualSettings", "warmup", {"last rise, of the whole training", ""}},
    {"UpdateNotApplied", "accumulating", {"time without a reset", "steps"}},
    {"UpdateNotApplied", "few_digits", {"time without a change", "steps"}},
    {"UpdateNotApplied", "growing", {"time of growth", "steps"}},
    {"UpdateNotApplied", "no_gradient", {"time without a gradient", "steps"}},
    {"UpdateNotApplied", "not_updated", {"time without a change", "steps"}},
    {"UpdateNotApplied", "not_used", {"time without a gradient", "steps"}},
    {"UpdateNotApplied", "nothing_updated", {"time without a change", "steps"}},
    {"UpdateNotApplied", "rounded_away", {"elements that do not change", "%"}},
    {"UpdateNotApplied", "too_small", {"elements that do not change", "%"}},
    {"UpdateRMS", "*", {"gradient, relative to what Adam expects", ""}},
    {"VanishingGradient", "cut", {"mean absolute value", ""}},
    {"VanishingGradient", "dead", {"mean absolute value", ""}},
    {"VanishingGradient", "ratio", {"first layer's gradient, relative to the last", ""}},
    {"VanishingGradient", "small", {"mean absolute value", ""}},
    {"VanishingGradient", "unused", {"mean absolute value", ""}},
    {"WeightUpdateRatio", "crept", {"change of all weights, relative to them", ""}},
    {"WeightUpdateRatio", "element", {"change, relative to that of other elements", ""}},
    {"WeightUpdateRatio", "faded", {"learning rate", ""}},
    {"WeightUpdateRatio", "first_updates", {"change of all weights, relative to them", ""}},
    {"WeightUpdateRatio", "large", {"change of a step, relative to the weight", ""}},
    {"WeightUpdateRatio", "large_updates", {"change of all weights, relative to them", ""}},
    {"WeightUpdateRatio", "shrunk", {"sum of all weights, relative to the first", ""}},
    {"WeightUpdateRatio", "small", {"change of a step, relative to the weight", ""}},
    {"WeightUpdateRatio", "tiny_updates", {"change of all weights, relative to them", ""}},
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
