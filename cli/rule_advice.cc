#include "rule_advice.h"

#include <algorithm>
#include <array>

namespace smdebug::cli {
namespace {

struct Advice {
  std::string_view rule;
  std::string_view text;
};

constexpr std::array<Advice, 49> kAdvice = {{
    {"VanishingGradient",
     "Normalise between layers, add connections around them, or use ReLU and an "
     "initialisation that suits it. Of the check 'unused': pass the parameter's output on, "
     "or freeze it. Of 'dead': use another initialisation, or a lower learning rate. Of "
     "'cut': look for stop_gradient and detach."},
    {"ExplodingTensor",
     "Lower the learning rate or clip gradients. If the elements are NaN at once, "
     "look for a logarithm or a division of 0."},
    {"PoorWeightInitialization",
     "Initialise by fan-in: He for ReLU, Glorot for tanh. The check and the message "
     "name which of the three failed."},
    {"SaturatedActivation",
     "Use smaller initial weights, or normalise the inputs. A normalisation before the "
     "activation keeps its inputs in range."},
    {"DeadRelu", "Lower the learning rate, and check the biases. Leaky units do not die."},
    {"WeightUpdateRatio",
     "Change the learning rate. If only one layer is affected, its scale is wrong. Of weights that "
     "shrink, divide the weight decay by 10."},
    {"AllZero",
     "If it is a weight, initialise it randomly. If it is an input, check the data "
     "loader."},
    {"TensorVariance",
     "Too small: equal units stay equal, so initialise them randomly. Too large: "
     "lower the learning rate."},
    {"CollapsedOutput",
     "Look for a part of the loss that pulls these outputs together, such as a KL term, and divide "
     "its weight by 10. A contrastive loss needs pairs to push apart."},
    {"UnchangedTensor",
     "Check whether the loader repeats one batch, or nothing is learned. If you "
     "train with all data in every step, omit the rule."},
    {"MissingActivation",
     "Put an activation, such as ReLU, between each two layers. If the model is to be a line, one "
     "layer does the same."},
    {"LossNotDecreasing",
     "Check the learning rate and the labels. Check that the optimiser has the "
     "model's parameters."},
    {"RewardAtLowest",
     "Check the sign of the loss. What should grow, such as a reward or an advantage, is negated "
     "in "
     "it."},
    {"Overfit", "Stop earlier, or train with more data. If there is no more, regularise more."},
    {"Overtraining",
     "Stop, and keep the weights of the best step. To continue, lower the learning rate."},
    {"SimilarAcrossRuns",
     "Check what computed that tensor. Seeds, the order of data and sums in another "
     "order make runs differ."},
    {"StalledTrainingRule",
     "Check the data loader. Then check the other workers: one that waits stops all."},
    {"ClassImbalance",
     "If samples come sorted, shuffle them anew for each epoch. Else weight classes in the "
     "loss, or sample them evenly."},
    {"Confusion", "Inspect samples of both classes. Check their labels."},
    {"CheckInputImages",
     "Subtract the mean of each channel. Then divide by its standard deviation."},
    {"NLPSequenceRatio",
     "Sort or bucket sequences by length, so that batches need less padding. Cut the "
     "longest ones."},
    {"FeatureImportanceOverweight",
     "Check whether labels leak into features. Train without those features and "
     "compare."},
    {"TreeDepth", "Limit max_depth. Deep trees repeat single samples."},
    {"FirstNonFinite",
     "Check what computes that tensor: the others follow from it. A norm that grew "
     "before points to values that are too large."},
    {"WorkerDivergence",
     "Average the gradients over all workers. Use the same seed for weights on each "
     "of them."},
    {"UpdateNotApplied",
     "Pass all parameters to the optimiser, call zero_grad, and look for detach and "
     "requires_grad. If updates are rounded away, raise the learning rate or keep "
     "the weights in 32 bits."},
    {"InputScale",
     "Subtract the mean of each feature, or of the targets, and divide by its standard deviation, "
     "in training and in evaluation. If the first layer normalises, leave it."},
    {"LeftInEvaluation",
     "Call model.train() after each evaluation. If only some layers are to stay as they are, "
     "call eval() on these."},
    {"UnusualSettings",
     "Give a dropout the probability of a 0, and a warm-up fewer updates than the training has. "
     "Call model.eval() before each evaluation, and leave the momentum of batch normalisation at "
     "its default. Give an optimizer the smaller beta first, as in (0.9, 0.999). Load the weights "
     "of what is frozen, and look at the keys that load_state_dict did not find."},
    {"LossInput",
     "Remove the softmax, the sigmoid or the activation after the last layer, or use a loss that "
     "takes probabilities. Give outputs and targets the same shape. Keep out of the inputs what is "
     "computed from the targets. Shift the targets of a language model by one place, and mask the "
     "tokens after each place. Give recurrent and attention layers batch_first=True. Give "
     "pos_weight the number of negative targets for each positive one, and rare classes the larger "
     "weights."},
    {"RepeatedBatch", "Check the order of the data after a restart. Then check the loader."},
    {"SharedShard",
     "Give the sampler the rank and the number of processes. If workers share "
     "batches by design, set the parameter group."},
    {"TiedWeightsBroken",
     "Tie the weights after the model is copied, moved or wrapped. Check that the "
     "optimiser has them once."},
    {"LowPrecisionUpdateLost",
     "Keep a copy of the weights in float32. If memory does not suffice, round updates "
     "at random."},
    {"DeadExpert",
     "Add or strengthen the loss that balances experts. Check the initialisation of "
     "the router."},
    {"StepRecompute",
     "Repeat the step on other hardware. Operations that are not deterministic "
     "differ too: for them, set tolerance."},
    {"LossSpike",
     "Check the batch and the learning rate. Check the findings of other rules some "
     "steps before."},
    {"GradNormSpike", "Clip gradients. Check the batch and the named layer."},
    {"GradBlowup", "Check the named layer. Repeat the step on other hardware."},
    {"UpdateRMS", "Clip the update. If that does not suffice, lower beta2 or the learning rate."},
    {"AttentionLogitGrowth",
     "Normalise queries and keys. If the model must not change, clip their weights."},
    {"AttentionEntropyCollapse",
     "Normalise queries and keys. If the model must not change, lower the learning rate."},
    {"RouterImbalance", "Add the loss that balances experts. If there is one, strengthen it."},
    {"GradientNotReset",
     "Call zero_grad before each backward pass. With accumulation, call it after the "
     "last one."},
    {"Fp8Range",
     "Check how the scale is updated and saved. Shorten the history that it is taken "
     "from."},
    {"AdamEpsDominates",
     "Lower epsilon. If it is small already, look for a factor that makes gradients "
     "too small, such as unscaling twice."},
    {"SecondMomentStale",
     "Lower beta2 or the learning rate, or clip updates. If the check is 'lost', "
     "restore the whole state of the optimiser with the weights."},
    {"OutputLogitDrift", "Add a z-loss. If there is one, check its sign."},
    {"LearningRateJump",
     "Check the schedule: its unit of steps, its factors, and its state after a restart. "
     "Lower the peak if the rate is meant."},
}};

}  // namespace

std::string_view AdviceFor(std::string_view rule) {
  const auto found = std::find_if(kAdvice.begin(), kAdvice.end(),
                                  [rule](const Advice &each) { return each.rule == rule; });
  return found == kAdvice.end() ? "" : found->text;
}

}  // namespace smdebug::cli
