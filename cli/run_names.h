// Matches the tensors of two runs of one model, and puts them in the order of the computation.
#pragma once

#include <string>
#include <vector>

namespace smdebug::cli {

enum class RunKind { kParameter, kActivation, kLoss, kGradient, kSetting, kUpdate, kState };

// A tensor of a run.  The numbered outputs of a module that is called several times in a step, once
// for each micro-batch, are one tensor.
struct RunTensor {
  std::string key;  // equal in both runs: without the class, wrappers, and numbers
  RunKind kind = RunKind::kActivation;
  std::string module;     // the path, such as "blocks.0.attn.out"; "" for the whole model
  std::string parameter;  // the key of the parameter to which a gradient, update or state belongs
  bool is_input = false;  // of a module
  std::vector<std::string> recorded;  // the recorded names, by their numbers
};

// Removes the parts that wrappers add to a name: "module.", "_orig_mod." and those of FSDP and
// checkpointing.
std::string WithoutWrappers(const std::string &name);

// Returns the tensors of one step in the order of the computation.  `recorded` are the names in the
// order of recording.  Parameters that were saved before the step come first.  Gradients are in
// reverse order, after all that was recorded before the backward pass; the learning rates, updates
// and optimizer states follow.
std::vector<RunTensor> RunTensorsOf(const std::vector<std::string> &recorded);

// Returns the module that computed the tensor: for an input of a module, the module around it.
std::string CulpritOf(const RunTensor &tensor);

const char *RunKindName(RunKind kind);

}  // namespace smdebug::cli
