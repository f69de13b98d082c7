// The median, without a sorted copy.
#pragma once

#include "tensor/blocks.h"
#include "tensor/view.h"

namespace smdebug::tensor {

// Of that part of each element, or of its absolute value; of an even number the mean
// of the middle two.  There is at least one element, and all are numbers.
double MedianOf(const View &view, Part part, bool absolute);

}  // namespace smdebug::tensor
