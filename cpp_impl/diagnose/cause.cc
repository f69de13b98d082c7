#include "diagnose/cause.h"

#include <array>

namespace smdebug::diagnose {
namespace {

constexpr std::array<CauseText, kCauses> kTexts = {{
    {"rate_too_high", "the learning rate is too high",
     "Divide the learning rate by 10, and print what the schedule makes of it. If the first steps "
     "are the unstable ones, add a warm-up or clip the gradients.",
     "docs/diagnosis.md#rate_too_high"},
    {"rate_too_low", "the learning rate is too low",
     "Multiply the learning rate by 10 until the loss falls, and print what the schedule makes of "
     "it. Look for a factor that is applied twice.",
     "docs/diagnosis.md#rate_too_low"},
    {"initialisation", "the weights begin too large, too small or alike",
     "Use the framework's default initialisation, or one that divides by the root of a layer's "
     "inputs. Check what overwrites weights after the model was made.",
     "docs/diagnosis.md#initialisation"},
    {"dead_units", "units are dead: their outputs are zero for every sample",
     "Begin with biases of 0, or use an activation that has a slope below 0, such as leaky ReLU. "
     "If the units died during the training, lower the learning rate.",
     "docs/diagnosis.md#dead_units"},
    {"gradients_vanish", "gradients vanish on their way to the first layers",
     "Use ReLU or a relative instead of sigmoid or tanh, or normalise between layers. Connections "
     "around layers, or fewer layers, help too.",
     "docs/diagnosis.md#gradients_vanish"},
    {"inputs_not_normalised", "the inputs are not normalised",
     "Subtract the mean of each feature or channel, or of the targets, and divide by its standard "
     "deviation. Do the same in training and in evaluation.",
     "docs/diagnosis.md#inputs_not_normalised"},
    {"inputs_empty", "the inputs are zeros",
     "Look at a batch as the model gets it. Check what the loader returns for a sample that it "
     "cannot read, and masks that are applied to the inputs.",
     "docs/diagnosis.md#inputs_empty"},
    {"labels_wrong", "the labels do not follow from the inputs",
     "Print ten samples with their labels as the loss gets them. Check that samples and labels "
     "are shuffled together and joined by the same key.",
     "docs/diagnosis.md#labels_wrong"},
    {"classes_imbalanced", "some classes are rare",
     "Give the loss weights for classes, or sample classes evenly. Judge the model by figures for "
     "each class.",
     "docs/diagnosis.md#classes_imbalanced"},
    {"batches_repeated", "batches repeat",
     "Check that each step takes a new batch from the loader, and that each worker and epoch has a "
     "seed of its own. Compare the inputs of the steps that are named.",
     "docs/diagnosis.md#batches_repeated"},
    {"batch_corrupt", "a batch has values that are not finite or huge",
     "Look at the samples of the step that is named. Check the source for missing values, and "
     "refuse or clip what is out of range in the loader.",
     "docs/diagnosis.md#batch_corrupt"},
    {"loss_of_wrong_output", "the loss gets the wrong output",
     "Check what the loss expects: cross entropy takes outputs before a softmax, and a binary one "
     "targets from 0 to 1. Remove an activation after the last layer that cuts off or squeezes its "
     "outputs.",
     "docs/diagnosis.md#loss_of_wrong_output"},
    {"nothing_updated", "no weight is updated",
     "Print the learning rate of a step: it may be 0. Make the optimizer from the parameters of "
     "the "
     "model that is trained, not of one that it was copied from, and call its step() after the "
     "backward pass, with no zero_grad() between them.",
     "docs/diagnosis.md#nothing_updated"},
    {"optimizer_incomplete", "the optimizer does not have these parameters",
     "Make the optimizer after the model, from the parameters of the model that is trained. "
     "Check groups of parameters for layers that were added or replaced later, and models for "
     "layers in a plain list.",
     "docs/diagnosis.md#optimizer_incomplete"},
    {"gradients_not_reset", "gradients are not reset",
     "Call the optimizer's zero_grad() before each backward pass. With accumulation, call it once "
     "for each step of the optimizer.",
     "docs/diagnosis.md#gradients_not_reset"},
    {"gradient_cut", "layers get no gradient: they are detached or frozen",
     "Look for detach(), no_grad() and requires_grad = False between these layers and the loss. "
     "If they are frozen on purpose, declare them in the collection 'frozen'.",
     "docs/diagnosis.md#gradient_cut"},
    {"precision", "numbers are lost to low precision",
     "Keep the optimizer's weights in 32 bits, and scale the loss if gradients have 16. Compare a "
     "few steps with a run in 32 bits.",
     "docs/diagnosis.md#precision"},
    {"undefined_operation", "an operation has no finite result",
     "Check the operation whose output or gradient is named: logarithm, root or division of 0, "
     "root of a negative number, overflow of exp. Add a small number to its argument, or use a "
     "stable form.",
     "docs/diagnosis.md#undefined_operation"},
    {"memory_corrupt", "a weight has changed by itself",
     "Go back to a checkpoint from before the step that is named, and repeat the steps. If they "
     "come out differently, test the memory of that device.",
     "docs/diagnosis.md#memory_corrupt"},
    {"replicas_apart", "replicas have different weights",
     "Check that gradients are averaged over all workers at each step, and that all begin with the "
     "same weights. Broadcast the weights again from one worker.",
     "docs/diagnosis.md#replicas_apart"},
    {"overfit", "the model has learned the samples by heart",
     "Stop at the step with the lowest validation loss. Add data, augmentation, dropout or weight "
     "decay, or use a smaller model.",
     "docs/diagnosis.md#overfit"},
    {"left_in_evaluation", "the model stayed in evaluation mode after an evaluation",
     "Call train() at the beginning of each epoch, after what evaluates or saves the model. If "
     "normalisation or dropout are to stay still on purpose, call eval() before the first step.",
     "docs/diagnosis.md#left_in_evaluation"},
    {"samples_sorted", "samples come sorted by their class",
     "Shuffle the samples anew for each epoch: a buffer for that must hold far more than one "
     "class. "
     "Look for what sorts them, such as a folder for each class.",
     "docs/diagnosis.md#samples_sorted"},
    {"loss_sign", "the loss has the wrong sign",
     "Check the sign of the loss and of each of its parts: an optimizer makes the loss smaller, so "
     "what should grow, such as a reward or a likelihood, is negated. Look at a metric beside the "
     "loss: here it becomes worse while the loss falls.",
     "docs/diagnosis.md#loss_sign"},
    {"targets_given", "the model reads its targets",
     "Remove from the inputs what is computed from the target, or known only after it. For a model "
     "of the next token, let the targets be the inputs one place later, and hide the tokens after "
     "each place.",
     "docs/diagnosis.md#targets_given"},
    {"outputs_collapsed", "a layer no longer tells samples apart",
     "Look for a part of the loss that pulls its outputs together: a KL term that is summed where "
     "the other loss is a mean, a contrastive loss without negatives, weight decay. Divide its "
     "weight by 10, or raise it slowly from 0.",
     "docs/diagnosis.md#outputs_collapsed"},
    {"decay_too_strong", "weight decay shrinks the weights to nothing",
     "Divide the weight decay by 10, or leave it out to see the difference. Adam adds it to the "
     "gradients, where a value that AdamW can take is far too strong.",
     "docs/diagnosis.md#decay_too_strong"},
    {"activation_missing", "there is no activation between the layers",
     "Put an activation, such as ReLU, between each two layers. If the model is to be a line on "
     "purpose, one layer does the same.",
     "docs/diagnosis.md#activation_missing"},
    {"axes_swapped", "a layer takes another axis for the samples",
     "Give the layer batch_first=True if samples lie along the first axis of what it gets. Else "
     "swap the first two axes before it, and swap them back after it.",
     "docs/diagnosis.md#axes_swapped"},
    {"dropout_too_strong", "a dropout drops most of its input",
     "Check whether the probability that is set is that to keep: PyTorch takes that of a 0. "
     "Values of 0.1 to 0.5 are usual.",
     "docs/diagnosis.md#dropout_too_strong"},
    {"not_in_evaluation", "the model is not made ready for evaluations",
     "Call eval() before each evaluation, and train() after it. Leave the momentum of batch "
     "normalisation at its default, or train it for more batches than one divided by it.",
     "docs/diagnosis.md#not_in_evaluation"},
    {"shard_shared", "workers read the same samples",
     "Give each worker its own rank and the number of all workers where the data is divided. Print "
     "the first indices of a batch on two workers.",
     "docs/diagnosis.md#shard_shared"},
    {"tie_broken", "weights that were one are now two",
     "Tie the weights again after whatever replaces a parameter: a checkpoint that is loaded, a "
     "conversion of types, a wrapper. Compare the two parameters by `is`, not by their values.",
     "docs/diagnosis.md#tie_broken"},
    {"experts_starved", "a router leaves experts without tokens",
     "Check that the loss that balances experts is added, with its weight, and that the router has "
     "a gradient. Go back to a checkpoint from before: an expert without tokens learns nothing.",
     "docs/diagnosis.md#experts_starved"},
    {"gradients_scaled", "gradients have a wrong factor",
     "Check what multiplies or divides the loss and the gradients: loss scaling, accumulation, "
     "averages over workers. Each belongs there once, and clipping after them.",
     "docs/diagnosis.md#gradients_scaled"},
    {"attention_unstable", "an attention has become too sharp",
     "Check the factor before the softmax (one over the root of a head's width), or normalise "
     "queries and keys. A lower learning rate for these layers holds a growth that is slow.",
     "docs/diagnosis.md#attention_unstable"},
    {"optimizer_state_lost", "the optimizer's moments do not fit the gradients",
     "Check that a restart loads all of the optimizer's state, second moments too. If gradients "
     "change that fast by themselves, lower beta2 or clip them.",
     "docs/diagnosis.md#optimizer_state_lost"},
    {"logits_drift", "the logits of the output drift",
     "Check the sign and the weight of the z-loss, or add one. A decay on the last layer's weights "
     "holds them too.",
     "docs/diagnosis.md#logits_drift"},
    {"computed_wrong", "a step that is repeated gives another result",
     "Repeat the step on another device: if only one of them differs, take it out. If both do, "
     "look "
     "for what is random or depends on an order, such as dropout or atomic sums.",
     "docs/diagnosis.md#computed_wrong"},
}};

}  // namespace

const CauseText &TextOf(Cause cause) { return kTexts[static_cast<size_t>(cause)]; }

}  // namespace smdebug::diagnose
