// Where and from what a job runs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace smdebug::record {

// Returns the commit that the Git working tree of a folder, or of a parent of it, has checked out:
// 40 or 64 hexadecimal digits.  Reads Git's files; runs nothing.  Returns nothing if there is none.
std::optional<std::string> CommitOf(std::string_view folder);

// Returns the name of this host, or nothing.
std::optional<std::string> HostName();

}  // namespace smdebug::record
