// A step of a job.
#pragma once

#include <cstdint>

#include "base/mode.h"

namespace smdebug::rules {

struct StepPlace {
  int64_t step = 0;  // global
  Mode mode = Mode::kGlobal;
  int64_t mode_step = 0;
};

}  // namespace smdebug::rules
