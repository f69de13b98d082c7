// Puts the parts of a tensor that several workers have saved together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyze/tensor.h"
#include "config/placement.h"
#include "tensor/reduction.h"
#include "tensor/value.h"

namespace smdebug::analyze {

// A tensor at a step, as all workers have saved it.  For one thread.  The contract of each function
// is that of smd_tensor_full_... in smdebug/placement.h.
class WholeTensor {
 public:
  // Finds the parts, which must make up the whole.  Reads no elements.
  static Result<WholeTensor> Find(const Tensor &tensor, int64_t step, Mode mode);

  Result<std::vector<int64_t>> Shape() const;
  Result<tensor::Value> Value() const;
  Result<tensor::Value> Reduction(tensor::Reduction reduction) const;

 private:
  // A part, and the workers that have saved it.  Without a placement, it is the whole.
  struct Part {
    const config::Placement *placement;
    std::vector<std::string> workers;  // at least one
  };

  WholeTensor(const Tensor &tensor, int64_t step, Mode mode)
      : tensor_(tensor), step_(step), mode_(mode) {}

  bool HasPlacements() const { return parts_.front().placement != nullptr; }
  std::string Place() const;
  Status Wrong(std::string_view what) const;
  Status Add(const config::Placement *placement, const std::string &worker);
  Status CheckIsComplete();
  Status CheckPlace(const Part &part, const tensor::Value &value) const;
  Status CheckFits(const tensor::Value &first) const;
  // Returns the value, which each worker of the part must have.
  Result<tensor::Value> ReadPart(const Part &part) const;
  Result<bool> HasElements() const;

  Result<tensor::Value> ReductionOf(const Part &part, tensor::Reduction reduction) const;
  // Returns the reduction of a worker that holds the whole.
  Result<tensor::Value> ReductionOfWorker(const std::string &worker,
                                          tensor::Reduction reduction) const;
  // Returns the reduction of each part, or why it cannot be merged to `wanted`.
  Result<std::vector<tensor::Value>> Saved(tensor::Reduction reduction,
                                           tensor::Reduction wanted) const;
  Result<std::vector<double>> SavedNumbers(tensor::Reduction reduction,
                                           tensor::Reduction wanted) const;
  Result<std::vector<double>> SavedVariances(tensor::Reduction wanted) const;
  Result<tensor::Value> Merge(tensor::Reduction reduction) const;
  Result<double> MergeMean(tensor::Reduction wanted) const;
  Result<double> MergeVariance(tensor::Reduction wanted) const;
  Status CannotMerge(tensor::Reduction wanted, const std::string &worker) const;
  Status CheckReplicasAgree(tensor::Reduction reduction) const;

  Tensor tensor_;
  int64_t step_;
  Mode mode_;
  std::vector<Part> parts_;  // without empty ones, unless all are
};

}  // namespace smdebug::analyze
