// The lines of a chart, as JSON.
#pragma once

#include <cstdint>

#include "serve/open_run.h"

namespace smdebug::cli::serve {

constexpr int64_t kMostPixels = 4000;

struct SeriesQuery {
  CurveKey key;
  int64_t first;  // steps: first <= step < end
  int64_t end;
  int64_t pixels;
  double weight = 0;  // of an earlier value in the moving average; 0: none
};

// Writes {"tensor", "worker", "last", "lines": [{"mode", "count", "points", "smooth"}]}: a line for
// each mode, thinned, see Thin().  Fails as OpenRun::Read().
void SeriesToJson(OpenRun &run, const SeriesQuery &query, JsonWriter *json);

}  // namespace smdebug::cli::serve
