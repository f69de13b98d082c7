// What was saved of a tensor at a step, and numbers about it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "smdebug.hpp"

namespace smdebug::cli {

// What there is at one step.
struct Saved {
  std::optional<Value> value;
  std::optional<std::vector<int64_t>> shape;
  std::string dtype;  // "" without a value
  std::vector<std::string> reductions;

  // "value", "shape", and the reductions.
  std::vector<std::string> Kinds() const;
};

// `worker` "": the first that has it.  Fails as smdebug::Tensor::Value(), but for what was not
// saved.
Saved SavedAt(const Tensor &tensor, int64_t step, Mode mode = Mode::kGlobal,
              const std::string &worker = "");

// Has the values of several steps read side by side where each is a request, for SavedAt() to find.
// What cannot be read is left to that.
void Fetch(const Trial &trial, const std::string &tensor, const std::vector<int64_t> &steps,
           Mode mode = Mode::kGlobal);

// A reduction's name taken apart: "abs_mean" is the mean of absolute values.
struct Reduction {
  std::string name;
  bool is_absolute = false;
};
Reduction ReductionOf(const std::string &name);

// The reduction at a step, saved or computed; nothing where there is neither, nor elements to
// compute it of.  Fails as smdebug::Tensor::Reduction() otherwise.
std::optional<double> NumberAt(const Tensor &tensor, int64_t step, const std::string &reduction,
                               Mode mode = Mode::kGlobal, const std::string &worker = "");

}  // namespace smdebug::cli
