// How frameworks name the tensors that rules look at.
#pragma once

#include <string_view>

#include "base/mode.h"

namespace smdebug::rules {

// MXNet names a layer's tensors "relu0_relu_output_0", PyTorch "layers.relu_output_0" or
// "ReLU_output_0", Keras "re_lu/outputs".  The expressions look at the last part of a name
// only, so that "tanh_block.linear_input_0" is no tanh's.

// Not of leaky and parametric units, which never die.
inline constexpr std::string_view kReluOutputs =
    R"((?i)(?<!leaky)(?<!leaky_)(?<!\bp)(?<!_p)(?<!\bp_)(?<!_p_)re_?lu[^/.]*(_output|/outputs))";
inline constexpr std::string_view kReluInputs = R"((?i)re_?lu[^/.]*(_input|/inputs))";
inline constexpr std::string_view kActivationInputs =
    R"((?i)(re_?lu|elu|tanh|sigmoid|silu|swish|softplus|activation)[^/.]*(_input|/inputs))";
inline constexpr std::string_view kTanhAndSigmoidInputs =
    R"((?i)(?<!hard)(?<!hard_)(?<!log)(?<!log_)(tanh|sigmoid)[^/.]*(_input|/inputs))";
// What goes into a whole model, which PyTorch names by its class.
inline constexpr std::string_view kModelInputs =
    R"(hybridsequential0_input_0|^(?!.*Loss)[A-Z]\w*_input_0$|^inputs(_0)?$)";
// Not of types of tokens, of which most are 0.
inline constexpr std::string_view kEmbeddingInputs =
    R"((?i)(^|[/.])(?![^/.]*type)[^/.]*(embed|wte)[^/.]*(_input_0|/inputs)$)";

// "w" of "gradient/w" and of "gradients/wGrad"; the name itself if it is of another form.
std::string_view WeightOfGradient(std::string_view gradient);

// "w" of "w:0", as TensorFlow names the first thing that an operation makes.
std::string_view WithoutOutput(std::string_view tensor);

// Whether the model learns at a step of that mode.
inline bool IsTraining(Mode mode) { return mode == Mode::kTrain || mode == Mode::kGlobal; }

}  // namespace smdebug::rules
