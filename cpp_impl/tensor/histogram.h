// Histograms of a tensor's elements, in the form that TensorBoard shows.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tensor/view.h"

namespace smdebug::tensor {

// Counts the finite elements.  Bucket i holds the elements in [limits[i - 1], limits[i]).
// The first bucket is empty: its limit is where the second bucket begins.  The limits are
// those of TensorFlow: 0 and +-1e-12 * 1.1^k below 1e20.  Elements beyond them are in the
// outermost buckets.  Buckets before the first and after the last element are omitted.
struct Histogram {
  double min = 0;
  double max = 0;
  double sum = 0;
  double sum_squares = 0;
  int64_t count = 0;
  std::vector<double> limits;
  std::vector<double> counts;
};

// Returns nothing if the elements are text, bool or complex, or if none is finite.
std::optional<Histogram> MakeHistogram(const View &view);

}  // namespace smdebug::tensor
