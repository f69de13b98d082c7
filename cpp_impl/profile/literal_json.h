// Translates Python's literals, in which configurations hold their parts, to JSON.
#pragma once

#include <string>
#include <string_view>

namespace smdebug::profile {

// Returns the JSON of a literal such as "{'StartStep': 5, }".  Nothing is evaluated: translates
// quotes, escapes, True, False and None, and removes commas before a closing bracket; the rest is
// left to the JSON parser, which rejects whatever is no literal.
std::string LiteralToJson(std::string_view literal);

}  // namespace smdebug::profile
