// Reading settings out of JSON objects.
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

// What a user writes must make sense.  A file was written by some version of the
// original or of this library: what this one would refuse to make (an empty range of
// steps, an expression that does not compile) must not keep the rest from being read.
enum class Origin { kUser, kFile };

// The value of `key`, or nothing if it is missing or null.
std::optional<JsonValue> FindGiven(const JsonValue &object, std::string_view key);

// Fails with INVALID_CONFIG unless `json` is an object.
Status CheckIsObject(const JsonValue &json);

// A whole number, or the text of one.
Result<int64_t> WholeNumber(const JsonValue &json);

// true or false, or the text of one in any case.
Result<bool> Switch(const JsonValue &json);

// A list of texts.
Result<std::vector<std::string>> Texts(const JsonValue &json);

// Reads `text` with `T::FromJson(JsonValue)`.
template <class T>
auto FromJsonText(std::string_view text) -> decltype(T::FromJson(std::declval<JsonValue>())) {
  SMD_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::Parse(text));
  return T::FromJson(document.Root());
}

}  // namespace smdebug::config
