// Reads files that contain settings, keys or tokens.
#pragma once

#include <string>

#include "base/result.h"

namespace smdebug {

inline constexpr size_t kSmallFileLimit = size_t{1} << 20;

// Returns the contents of a file.  Fails with NOT_FOUND, PERMISSION or IO, depending on the
// system's error.  Fails with INVALID_CONFIG if the file is longer than `limit`, or is a
// folder, a pipe or another special file.  Messages begin with the path.
Result<std::string> ReadSmallFile(const std::string &path, size_t limit = kSmallFileLimit);

}  // namespace smdebug
