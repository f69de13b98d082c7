// JSON of events: checked without memory of its own, and written as the original writes it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace smdebug::profile {

// Returns true if the text is one JSON object in UTF-8, at most 16 levels deep.  Takes time in
// proportion to the text, and no memory.
bool IsJsonObject(std::string_view text);

// Appends what stands between the braces of a JSON object, on one line and in ASCII.
void AppendMembers(std::string *out, std::string_view object);

// Appends a JSON string in ASCII.  A byte that is not UTF-8 becomes \ufffd.
void AppendQuoted(std::string *out, std::string_view text);

void AppendNumber(std::string *out, int64_t number);

}  // namespace smdebug::profile
