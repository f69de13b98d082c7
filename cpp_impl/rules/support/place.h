// Identifies a step of a job.
#pragma once

#include <cstdint>
#include <limits>

#include "base/mode.h"

namespace smdebug::rules {

struct StepPlace {
  int64_t step = 0;  // global
  Mode mode = Mode::kGlobal;
  int64_t mode_step = 0;
  double wall_seconds = std::numeric_limits<double>::quiet_NaN();  // since 1970; NaN if unknown
};

}  // namespace smdebug::rules
