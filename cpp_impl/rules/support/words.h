// Formats numbers for sentences.
#pragma once

#include <cstdint>
#include <string>

namespace smdebug::rules {

// Returns the number with three digits: "1.23e-08", "0.5".
std::string Shortest(double number);

// Returns ", and 2 others with it" for 2, and "" for 0.
std::string AndOthers(int64_t count);

}  // namespace smdebug::rules
