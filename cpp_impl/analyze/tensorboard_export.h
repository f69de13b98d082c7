// Exports a stored trial to files for stock TensorBoard.
#pragma once

#include <memory>
#include <string>

#include "analyze/trial.h"
#include "base/result.h"
#include "storage/store.h"

namespace smdebug::analyze {

// Writes the trial's current contents into `folder`, by global steps.  Each mode gets a file.  If
// there are several workers, each mode and worker gets one.  A tensor of one element becomes a
// scalar, whose tag begins with "0_losses/" or "0_metrics/" if it is in one of these collections:
// TensorBoard shows these first.  Any other tensor becomes a histogram and <tensor>/min, max, mean,
// std and l2.  A saved reduction becomes <tensor>/<reduction>. Overwrites files of an earlier call.
// Omits text, complex numbers and shapes.  Skips a record that is damaged or missing, and logs an
// error.
//
// Fails as reading the trial's index and writing files do.  Files that are already complete then
// stay.
Status ExportTensorboard(Trial &trial, storage::Store &folder);

}  // namespace smdebug::analyze
