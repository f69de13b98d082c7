// Files that are there as a whole or not at all.
#pragma once

#include <string>

namespace smdebug::cli {

// Writes `content` to a new file next to `path` and gives it that name.  A file of that name is
// replaced, and so is a symbolic link: nothing is written through it to another place.  A device
// or pipe, as /dev/stdout, is written to.  Fails with NO_SPACE, PERMISSION or IO; then
// what was at `path` is still there.
void ReplaceFile(const std::string &path, const std::string &content);

}  // namespace smdebug::cli
