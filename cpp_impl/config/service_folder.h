// Folders that the training service states in files.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"

namespace smdebug::config {

// Returns the folder in {"LocalPath": folder} of the file that the environment variable names,
// else of `default_path`.  Returns nothing if the file or the key does not exist.
// Fails with INVALID_CONFIG; the message contains the path of the file.
Result<std::optional<std::string>> ServiceFolder(const char *variable, const char *default_path);

}  // namespace smdebug::config
