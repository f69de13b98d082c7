// Numbers in sentences.
#pragma once

#include <string>

namespace smdebug::rules {

// Three digits of it: "1.23e-08", "0.5".
std::string Shortest(double number);

}  // namespace smdebug::rules
