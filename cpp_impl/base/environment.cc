#include "base/environment.h"

#include <cstdlib>

#include "base/strings.h"

namespace smdebug {

std::optional<std::string> Environment(const char *name) {
  const char *value = std::getenv(name);
  if (value == nullptr || *value == '\0') return {};
  return std::string(value);
}

Result<int64_t> EnvironmentNumber(const char *name, int64_t fallback) {
  const std::optional<std::string> text = Environment(name);
  if (!text) return fallback;
  const std::optional<int64_t> number = ParseInt(*text);
  if (!number || *number < 0) {
    return InvalidConfig(
        StrCat("environment variable ", name, ": '", *text, "' is not a whole number >= 0"));
  }
  return *number;
}

}  // namespace smdebug
