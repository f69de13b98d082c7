// Streams the tables "profile_events" and "system_metrics".
#pragma once

#include <memory>
#include <vector>

#include "tables/find_trials.h"
#include "tables/request.h"
#include "tables/table.h"

namespace smdebug::tables {

// Returns a row for each event of the timelines, or each sample of the system metrics, of profiler
// folders.
std::unique_ptr<BatchStream> StreamProfiles(std::shared_ptr<const Request> request,
                                            std::vector<FoundTrial> folders);

}  // namespace smdebug::tables
