// Computes Statistics in one pass over a tensor.
#pragma once

#include "tensor/blocks.h"
#include "tensor/statistics.h"

namespace smdebug::tensor {

// Computes statistics over `part` of each element.  `view` must not be text.
Statistics Summarize(const View &view, Part part);

}  // namespace smdebug::tensor
