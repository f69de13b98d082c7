// Writes files atomically.
#pragma once

#include <string>

namespace smdebug::cli {

// Writes `content` to a new file next to `path` and gives it that name.  A file of that name is
// replaced, and so is a symbolic link: nothing is written through it.  If `path` is a device or a
// pipe, such as /dev/stdout, writes to it.  Fails with NO_SPACE, PERMISSION or IO; then `path` is
// unchanged.
void ReplaceFile(const std::string &path, const std::string &content);

}  // namespace smdebug::cli
