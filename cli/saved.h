// Reads the data saved for a tensor at a step, and its reductions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "smdebug.hpp"

namespace smdebug::cli {

// The data saved at one step.
struct Saved {
  std::optional<Value> value;
  std::optional<std::vector<int64_t>> shape;
  std::string dtype;  // "" if no value was saved
  std::vector<std::string> reductions;

  // Returns "value", "shape" and the names of the reductions, as far as they were saved.
  std::vector<std::string> Kinds() const;
};

// Reads what was saved.  If `worker` is "", uses the first worker that saved the tensor.  Fails as
// smdebug::Tensor::Value(), except for parts that were not saved.
Saved SavedAt(const Tensor &tensor, int64_t step, Mode mode = Mode::kGlobal,
              const std::string &worker = "");

// Returns "7 (TRAIN 3)", or "7" if the step has no mode.
std::string StepText(int64_t step, Mode mode, int64_t mode_step);

// For a loop over `steps`, before it reads steps[next]: prefetches the next 32 steps if `next` is a
// multiple of 32.
void FetchAhead(const Trial &trial, const std::string &tensor, const std::vector<int64_t> &steps,
                size_t next, Mode mode = Mode::kGlobal);

// Prefetches the values of several steps concurrently if each needs a request; SavedAt() then finds
// them in memory.  Ignores failures: SavedAt() reports them.
void Fetch(const Trial &trial, const std::string &tensor, const std::vector<int64_t> &steps,
           Mode mode = Mode::kGlobal);

// The parts of a reduction's name: "abs_mean" is the mean of absolute values.
struct Reduction {
  std::string name;
  bool is_absolute = false;
};
Reduction ReductionOf(const std::string &name);

// Returns the reduction at a step, saved or computed.  Returns nothing if it was not saved and
// cannot be computed, because there is no value or it has no elements.  Otherwise fails as
// smdebug::Tensor::Reduction().
std::optional<double> NumberAt(const Tensor &tensor, int64_t step, const std::string &reduction,
                               Mode mode = Mode::kGlobal, const std::string &worker = "");

}  // namespace smdebug::cli
