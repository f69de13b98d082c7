// Streams the table "trials".
#pragma once

#include <memory>
#include <vector>

#include "tables/find_trials.h"
#include "tables/request.h"
#include "tables/table.h"

namespace smdebug::tables {

// Returns a row for each trial.  The names of its files say all but the times and the
// configuration; no index is read.  States: "finished" (the job has
// ended, with all of its workers), "failed" (it has, and the problem says why), "running" (its last
// step is no older than kQuietSeconds), "interrupted" (older), "empty" (no step), "unreadable" (the
// problem says why).
std::unique_ptr<BatchStream> StreamTrials(std::shared_ptr<const Request> request,
                                          std::vector<FoundTrial> trials);

inline constexpr double kQuietSeconds = 900;

}  // namespace smdebug::tables
