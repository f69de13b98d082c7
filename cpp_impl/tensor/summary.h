// The pass over a tensor behind Statistics.
#pragma once

#include "tensor/blocks.h"
#include "tensor/statistics.h"

namespace smdebug::tensor {

// Of that part of each element; `view` is not of text.
Statistics Summarize(const View &view, Part part);

}  // namespace smdebug::tensor
