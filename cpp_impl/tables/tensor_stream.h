// Streams the tables "tensors" and "scalars".
#pragma once

#include <memory>
#include <vector>

#include "tables/find_trials.h"
#include "tables/request.h"
#include "tables/table.h"

namespace smdebug::tables {

// Returns the rows of the trials, trial by trial, step by step, worker by worker, in the order of
// recording.  Reads a few trials ahead, in threads that end with each call of Next(): memory holds
// at most a batch, and the names, of each.
std::unique_ptr<BatchStream> StreamTensors(std::shared_ptr<const Request> request,
                                           std::vector<FoundTrial> trials);

}  // namespace smdebug::tables
