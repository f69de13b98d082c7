// The figures of charts: phases over steps, samples over time, and the flame chart of a step.
#pragma once

#include <string>

#include "base/result.h"
#include "profile_rules/json_tree.h"
#include "profile_rules/profile_reader.h"
#include "profile_rules/summary.h"

namespace smdebug::profile_rules {

// Returns an object: "begin" and "end" in seconds since 1970; "parts", their names; "workers", each
// with its "name", "count" of steps, and columns "step", "time" and "parts", in milliseconds;
// "series", each with "metric", "node", "name" and columns "time", "mean", "least" and "most"; and
// "flames", each with "title", "worker", "step", "length" and "spans".  Long columns are thinned.
// Fails as the reader does.
Result<Json> Charts(const Summary &summary, ProfileReader *reader);

}  // namespace smdebug::profile_rules
