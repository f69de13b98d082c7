// Reads settings from JSON objects.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace smdebug::config {

// Who wrote the settings.  Those of a user must be valid.  A file was written by some version
// of the original or of this library.  Settings that this version would refuse to write (an
// empty range of steps, an expression that does not compile) must not prevent reading the
// rest.
enum class Origin { kUser, kFile };

// Returns the value of `key`, or nothing if it is missing or null.
std::optional<JsonValue> FindGiven(const JsonValue &object, std::string_view key);

// Fails with INVALID_CONFIG unless `json` is an object.
Status CheckIsObject(const JsonValue &json);

// Reads a whole number, or a text that contains one.
Result<int64_t> WholeNumber(const JsonValue &json);

// Reads a finite number, or a text that contains one.
Result<double> Number(const JsonValue &json);

// Reads true or false, or the text of either in any case.
Result<bool> Switch(const JsonValue &json);

// Reads a list of texts.
Result<std::vector<std::string>> Texts(const JsonValue &json);

// Reads `text` with `T::FromJson(JsonValue)`.
template <class T>
auto FromJsonText(std::string_view text) -> decltype(T::FromJson(std::declval<JsonValue>())) {
  SMD_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::Parse(text));
  return T::FromJson(document.Root());
}

}  // namespace smdebug::config
