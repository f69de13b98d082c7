// Suggests names for a misspelt one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace smdebug::cli {

// Returns the names most similar to `text`, at most three, the most similar first: those within a
// few edits, and those that contain it.  Ignores case.
std::vector<std::string> Similar(std::string_view text, const std::vector<std::string> &names);

// Returns "; did you mean 'a', 'b' or 'c'?", or "" if no name is similar.
std::string DidYouMean(std::string_view text, const std::vector<std::string> &names);

}  // namespace smdebug::cli
