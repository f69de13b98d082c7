// The order of names in listings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace smdebug::cli {

// Returns true if `a` comes before `b`: runs of digits compare as numbers, so that fc2 comes before
// fc10, and those after "0." as fractions.  A total order.
bool NaturalLess(std::string_view a, std::string_view b);

// Returns the names in that order.
std::vector<std::string> InNaturalOrder(std::vector<std::string> names);

}  // namespace smdebug::cli
