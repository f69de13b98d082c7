// Reads a tensor at many steps in one call.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/tensor.h"
#include "base/mode.h"
#include "base/result.h"
#include "tensor/reduction.h"
#include "tensor/value.h"

namespace smdebug::analyze {

// Selects what ReadValues() reads.
struct ValueQuery {
  int64_t first = 0;        // a step of `mode`
  int64_t end = INT64_MAX;  // the step after the last
  Mode mode = Mode::kGlobal;
  std::string worker{};                          // empty: the first that has the step
  std::optional<tensor::Reduction> reduction{};  // nothing: the elements
};

// A tensor at one step, or the reason that it cannot be read.
struct StepValue {
  int64_t step;
  Result<tensor::Value> value;
};

// Reads all steps of the query at which the tensor was saved, in order: a number from its index
// file, if that has it, else a record.  A step fails as Tensor::Value() or Tensor::Reduction()
// does, alone.  Up to kMostReaders threads read, the caller's among them.
//
// Fails as Trial::MaybeRefresh(), also if the trial is cancelled meanwhile.
constexpr size_t kMostReaders = 8;
Result<std::vector<StepValue>> ReadValues(const Tensor &tensor, const ValueQuery &query);

}  // namespace smdebug::analyze
