// Prints the verdict of a comparison of two runs.
#pragma once

#include <string>
#include <vector>

#include "run_difference.h"

namespace smdebug::cli {

// What the tolerances come from.
struct RunBasis {
  std::vector<std::string> noise;  // the names of the noise runs
  std::string rounding;            // a dtype; "" if it is not used
  Mode mode = Mode::kGlobal;
  size_t steps_only_in_a = 0;
  size_t steps_only_in_b = 0;
};

void PrintRunVerdict(const RunVerdict &verdict, const RunBasis &basis);
void PrintRunJson(const RunVerdict &verdict, const RunBasis &basis);

}  // namespace smdebug::cli
