// Matches the names that frameworks give to the tensors that rules evaluate.
#pragma once

#include <string_view>

#include "base/mode.h"

namespace smdebug::rules {

// MXNet names a layer's tensors "relu0_relu_output_0", PyTorch "layers.relu_output_0" or
// "ReLU_output_0", Keras "re_lu/outputs".  The expressions match only the last part of a name, so
// that "tanh_block.linear_input_0" does not count as a tanh.

// Excludes leaky and parametric units, which never die.
inline constexpr std::string_view kReluOutputs =
    R"((?i)(?<!leaky)(?<!leaky_)(?<!\bp)(?<!_p)(?<!\bp_)(?<!_p_)re_?lu[^/.]*(_output|/outputs))";
inline constexpr std::string_view kReluInputs = R"((?i)re_?lu[^/.]*(_input|/inputs))";
inline constexpr std::string_view kActivationInputs =
    R"((?i)(re_?lu|elu|tanh|sigmoid|silu|swish|softplus|activation)[^/.]*(_input|/inputs))";
inline constexpr std::string_view kTanhAndSigmoidInputs =
    R"((?i)(?<!hard)(?<!hard_)(?<!log)(?<!log_)(tanh|sigmoid)[^/.]*(_input|/inputs))";
// Matches the input of a whole model, which PyTorch names by its class.
inline constexpr std::string_view kModelInputs =
    R"(hybridsequential0_input_0|^(?!.*Loss)_*[A-Z]\w*_input_0$|^inputs(_0)?$)";
// Matches what losses compare outputs with.
inline constexpr std::string_view kLossTargets = "Loss\\w*_input_1$";
// Excludes token type inputs, which are mostly 0.
inline constexpr std::string_view kEmbeddingInputs =
    R"((?i)(^|[/.])(?![^/.]*type)[^/.]*(embed|wte)[^/.]*(_input_0|/inputs)$)";

// Returns "w" for "gradient/w" and for "gradients/wGrad".  Returns any other name unchanged.
std::string_view WeightOfGradient(std::string_view gradient);

// Returns "weight" for "net.fc1.weight" and for "net.recurrent.weight_hh_l0".
std::string_view KindOfWeight(std::string_view weight);

// Returns what WeightOfGradient() returns for the gradient of a weight: "dense/kernel" for
// "dense/weights/dense/kernel:0" of Keras and for "weights/dense/kernel:0" of a tape, "w" for
// "w:0", the first output of an operation of TensorFlow.  Returns a name that has no number of an
// output unchanged.
std::string_view AsInGradient(std::string_view weight);

// Reports whether a tensor of a default collection is one of those the collection is named after.
// The stored expressions are the original's and also match others: those of `weights` match
// optimiser states such as `exp_avg/fc.weight`, those of `losses` match `loss_scale`.  Returns true
// for every other collection.
bool IsMeantBy(std::string_view collection, std::string_view tensor);

// Reports whether the model learns at a step of that mode.
inline bool IsTraining(Mode mode) { return mode == Mode::kTrain || mode == Mode::kGlobal; }

}  // namespace smdebug::rules
