// Folders that the training service names in files of their own.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"

namespace smdebug::config {

// The folder in {"LocalPath": folder} of the file that the environment variable names,
// else of `default_path`; nothing if there is no such file or no such key.
// INVALID_CONFIG names the file.
Result<std::optional<std::string>> ServiceFolder(const char *variable, const char *default_path);

}  // namespace smdebug::config
