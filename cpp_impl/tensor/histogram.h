// How a tensor's elements are spread, as TensorBoard shows it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tensor/view.h"

namespace smdebug::tensor {

// Of the finite elements.  Bucket i counts those below limits[i] that are not below
// limits[i - 1]; the first is empty and says where the second begins.  Limits are among
// 0 and +-1e-12 * 1.1^k below 1e20, which are TensorFlow's; what lies beyond is in the
// outermost buckets.  Buckets before the first and after the last element are left out.
struct Histogram {
  double min = 0;
  double max = 0;
  double sum = 0;
  double sum_squares = 0;
  int64_t count = 0;
  std::vector<double> limits;
  std::vector<double> counts;
};

// Nothing for text, bool and complex elements, and if no element is finite.
std::optional<Histogram> MakeHistogram(const View &view);

}  // namespace smdebug::tensor
