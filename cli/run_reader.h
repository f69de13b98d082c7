// Reads what all workers of a run saved for a tensor.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "run_distance.h"
#include "smdebug.hpp"
#include "trial_arguments.h"

namespace smdebug::cli {

class RunReader {
 public:
  RunReader(const TrialArguments &arguments, Trial trial, Mode mode)
      : arguments_(arguments), trial_(std::move(trial)), mode_(mode) {}

  const Trial &TheTrial() const { return trial_; }
  std::vector<int64_t> Steps() const { return trial_.Steps(mode_, true); }
  // Returns the tensors of a step in the order of the computation.
  std::vector<RunTensor> Tensors(int64_t step) const {
    return RunTensorsOf(trial_.RecordedNames(step, mode_));
  }
  // Returns the parts of the tensor; none if they are damaged, or shards that are not complete.
  // Shards with placements are one part.
  RunParts Read(const RunTensor &tensor, int64_t step);
  // Returns the largest rounding unit of the 16-, 32- and 64-bit types that were saved at a step,
  // or that of "float32" if there are no elements, and sets `dtype`.
  double CoarsestUnit(int64_t step, std::string *dtype);

 private:
  const Tensor &TensorOf(const std::string &name);
  void Add(const RunTensor &tensor, const std::string &name, int64_t step, RunParts *parts);
  bool AddWhole(const Tensor &tensor, int64_t step, RunParts *parts) const;

  const TrialArguments &arguments_;
  const Trial trial_;
  const Mode mode_;
  std::map<std::string, Tensor> tensors_;
};

}  // namespace smdebug::cli
