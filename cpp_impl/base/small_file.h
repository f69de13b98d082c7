// Files that hold settings, keys or tokens.
#pragma once

#include <string>

#include "base/result.h"

namespace smdebug {

inline constexpr size_t kSmallFileLimit = size_t{1} << 20;

// The whole file.  Fails with NOT_FOUND, PERMISSION or IO as the system says, with
// INVALID_CONFIG if it is longer than `limit` or is a folder, a pipe or the like.
// Messages begin with the path.
Result<std::string> ReadSmallFile(const std::string &path, size_t limit = kSmallFileLimit);

}  // namespace smdebug
