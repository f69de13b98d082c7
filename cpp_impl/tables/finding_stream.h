// Streams the table "findings".
#pragma once

#include <memory>
#include <vector>

#include "tables/find_trials.h"
#include "tables/request.h"
#include "tables/table.h"

namespace smdebug::tables {

// Evaluates the rules over each trial, several at a time, and returns their findings: trial by
// trial, step by step.  A trial that cannot be read to its end is a row more, with its problem.
std::unique_ptr<BatchStream> StreamFindings(std::shared_ptr<const Request> request,
                                            std::vector<FoundTrial> trials);

}  // namespace smdebug::tables
