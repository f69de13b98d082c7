// A stored trial as files that stock TensorBoard shows.
#pragma once

#include <memory>
#include <string>

#include "analyze/trial.h"
#include "base/result.h"
#include "storage/store.h"

namespace smdebug::analyze {

// Writes into `folder` a file for each mode (and worker, if there are several) of what the
// trial holds now, by global steps: tensors of one element as scalars; of others a histogram
// and <tensor>/min, max, mean, std and l2; saved reductions as <tensor>/<reduction>.  Files
// of an earlier call are overwritten.  Text, complex numbers and shapes are left out.
//
// Fails as reading the trial and writing files do; then files already whole stay.
Status ExportTensorboard(Trial &trial, storage::Store &folder);

}  // namespace smdebug::analyze
