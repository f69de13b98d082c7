// The product of all elements, which few ask for and takes a pass of its own.
#pragma once

#include "tensor/blocks.h"
#include "tensor/statistics.h"
#include "tensor/view.h"

namespace smdebug::tensor {

// Of that part of each element, of which `statistics` are; of no elements 1, as in NumPy.
// Whatever the order, it is out of double's range only if it is so in the end.
double ProductOf(const View &view, Part part, const Statistics &statistics);

}  // namespace smdebug::tensor
