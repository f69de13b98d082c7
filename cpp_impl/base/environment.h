// Environment variables, read only where a handle is made.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace smdebug {

// The variable's text, or nothing if it is not set or empty.
std::optional<std::string> Environment(const char *name);

// The variable as a whole number >= 0, or `fallback` if it is not set.  Fails with
// INVALID_CONFIG and the variable's name for any other text.
Result<int64_t> EnvironmentNumber(const char *name, int64_t fallback);

}  // namespace smdebug
