// Computes the product of all elements.  It is rarely requested and needs its own pass.
#pragma once

#include "tensor/blocks.h"
#include "tensor/statistics.h"
#include "tensor/view.h"

namespace smdebug::tensor {

// Computes the product over `part` of each element; `statistics` are those of the same part.
// Without elements it is 1, as in NumPy.  Intermediate products never overflow or underflow:
// the result is out of double's range only if the true product is.
double ProductOf(const View &view, Part part, const Statistics &statistics);

}  // namespace smdebug::tensor
