// Formats numbers for sentences.
#pragma once

#include <string>

namespace smdebug::rules {

// Returns the number with three digits: "1.23e-08", "0.5".
std::string Shortest(double number);

}  // namespace smdebug::rules
