// Statistics of a tensor that the caller computed, for example on an accelerator.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "base/result.h"
#include "tensor/reduction.h"
#include "tensor/statistics.h"
#include "tensor/value.h"
#include "tensor/view.h"

namespace smdebug::tensor {

// Borrowed for the duration of a call.  The contract of each part is that of smd_statistics in
// smdebug/statistics.h.
struct GivenStatistics {
  struct Counts {
    int64_t nan;
    int64_t inf;
    int64_t zero;
  };
  View form;  // the shape and the dtype; its data is NULL
  std::array<std::optional<double>, kReductions> figures;  // by Reduction::Index()
  std::optional<Counts> counts;
  std::optional<View> sample;  // one dimension, of the dtype of `form`

  std::optional<double> &Figure(Reduction reduction) { return figures[reduction.Index()]; }
  const std::optional<double> &Figure(Reduction reduction) const {
    return figures[reduction.Index()];
  }

  // Sets the figures that follow from others exactly.
  void Derive();
  // Fails: INVALID_ARGUMENT, UNSUPPORTED (complex, text).
  Status Check() const;
  // Returns true if every element is in the sample.
  bool HasElements() const;
  // Returns the elements.  Requires HasElements().
  View Elements() const;
  // Returns what ComputeStatistics() returns of the elements, with NaN for figures that were not
  // given.  Returns nothing if the counts or one of the figures that rules need is missing.
  std::optional<Statistics> ToStatistics() const;
  // Returns what Reducer::Compute() returns of the elements, as far as a double can hold it.
  // Integers beyond 2^53 are float64 here.  The figure must be given.
  Value Reduced(Reduction reduction) const;
};

}  // namespace smdebug::tensor
