// Computes the median without a sorted copy.
#pragma once

#include "tensor/blocks.h"
#include "tensor/view.h"

namespace smdebug::tensor {

// Computes the median over `part` of each element, or over its absolute value.  If the number
// of elements is even, returns the mean of the middle two.  The view must have at least one
// element and no NaN.
double MedianOf(const View &view, Part part, bool absolute);

}  // namespace smdebug::tensor
