// Streams the tables "tensors" and "scalars".
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "tables/find_trials.h"
#include "tables/request.h"
#include "tables/table.h"

namespace smdebug::tables {

// Returns the rows of the trials, trial by trial, step by step, worker by worker, in the order of
// recording.  Reads a few trials ahead, in threads that end with each call of Next(): memory holds
// at most a batch, the names, and the rows of a thousand steps that are cached, of each.  Fails as
// RowCache::FromEnvironment().
Result<std::unique_ptr<BatchStream>> StreamTensors(std::shared_ptr<const Request> request,
                                                   std::vector<FoundTrial> trials);

}  // namespace smdebug::tables
