// Reads JSON that the library wrote.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace smdebug::cli {

struct Json {
  enum class Kind { kText, kArray, kObject, kOther };  // kOther: numbers, true, false and null

  Kind kind = Kind::kOther;
  std::string text;               // the text; for kOther the characters in the JSON
  std::vector<std::string> keys;  // the keys of an object's items
  std::vector<Json> items;

  // Returns the text of a field; "" if it is missing.
  std::string TextOf(std::string_view key) const;
  // Returns a field; an empty one if it is missing.
  const Json &Of(std::string_view key) const;
};

// Fails: INTERNAL (`json` is not JSON).
Json ParseJson(std::string_view json);

}  // namespace smdebug::cli
