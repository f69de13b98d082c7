// The likely causes of what rules have found, as HTML without scripts.
#pragma once

#include <string>
#include <vector>

#include "smdebug.hpp"

namespace smdebug::cli::report {

// Returns a box with the causes, for the top of a report; "" if there are none.
std::string DiagnosisHtml(const std::vector<Cause> &causes);

}  // namespace smdebug::cli::report
