// Environment variables, which are read only while a handle is created.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace smdebug {

// Returns the variable's text, or nothing if it is unset or empty.
std::optional<std::string> Environment(const char *name);

// Returns the variable as a whole number >= 0, or `fallback` if it is unset.  Fails with
// INVALID_CONFIG for any other text; the message contains the variable's name.
Result<int64_t> EnvironmentNumber(const char *name, int64_t fallback);

}  // namespace smdebug
