// Reads JSON that the library has written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace smdebug::cli {

struct Json {
  enum class Kind { kText, kArray, kObject, kOther };  // kOther: numbers, true, false and null

  Kind kind = Kind::kOther;
  std::string text;               // of a text; of a kOther its characters
  std::vector<std::string> keys;  // of an object's items
  std::vector<Json> items;

  // The text of a field; "" if there is none.
  std::string TextOf(std::string_view key) const;
  // The field; an empty one if there is none.
  const Json &Of(std::string_view key) const;
};

// Fails: INTERNAL, where it is no JSON.
Json ParseJson(std::string_view json);

}  // namespace smdebug::cli
