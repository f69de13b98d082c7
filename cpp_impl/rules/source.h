// What a rule may ask about a job, wherever its answers come from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tensor/reduction.h"

namespace smdebug::rules {

// Steps are global ones.
class Source {
 public:
  virtual ~Source() = default;

  // Waits until the step can be judged.  STEP_UNAVAILABLE: it was not saved;
  // NO_MORE_DATA: the job has ended before it; CANCELLED.
  virtual Status WaitForStep(int64_t step) = 0;

  // The first known step that is not before `step`.
  virtual Result<std::optional<int64_t>> NextStep(int64_t step) = 0;

  // The tensors of a collection that were saved at a step, sorted.
  virtual Result<std::vector<std::string>> TensorNames(std::string_view collection,
                                                       int64_t step) = 0;

  // A reduction of a tensor, saved or computed.
  virtual Result<double> Reduce(const std::string &tensor, int64_t step,
                                tensor::Reduction reduction) = 0;

  // Between the two, questions look for no new data.  Rules that run side by side each
  // hold the source still: it moves again after the last Release().
  virtual void Hold() = 0;
  virtual void Release() = 0;
};

}  // namespace smdebug::rules
