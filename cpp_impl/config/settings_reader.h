// Reads settings that a person or a service wrote, and skips invalid ones.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "config/json_settings.h"

namespace smdebug::config {

// A setting that is invalid, or not quite valid.
struct Problem {
  std::string what;     // contains the key and the value
  std::string outcome;  // "it is ignored", "it is read as true"
};
using Problems = std::vector<Problem>;

// Whether "startstep" is the key "StartStep".
enum class KeyCase { kExact, kAny };

// Reads the settings in one JSON object.  A mistyped setting must not stop a training, so no
// getter fails: if a setting is invalid, the getter adds a problem and returns nothing.
//
// A list of one value counts as the value, and 0 and 1 as false and true, since the original
// accepts both from templates.  Both are problems too.
class SettingsReader {
 public:
  // `prefix` begins each problem.  If `object` is not a JSON object, that is a problem, and
  // all settings are missing.
  SettingsReader(const JsonValue &object, Problems *problems, std::string prefix = "",
                 KeyCase key_case = KeyCase::kExact);

  // Adds a problem for each key that is not in `known`, with the most similar known key.
  void CheckKeys(const std::vector<std::string> &known);
  // Adds a problem, with the outcome that the setting is ignored.
  void Ignore(std::string what);

  // Returns true if there are too many problems to continue: each message needs a search of
  // the document.
  bool IsFull() const { return problems_->size() >= kMostProblems; }

  bool Has(std::string_view key) const { return Given(key).has_value(); }
  // Returns the value of `key`, or nothing if it is missing or null.
  std::optional<JsonValue> Given(std::string_view key) const;

  std::optional<bool> Switch(std::string_view key);
  // Reads a whole number of `least` or more.
  std::optional<int64_t> Number(std::string_view key, int64_t least);
  // Reads a number of `least` or more, or a text that contains one.
  std::optional<double> Real(std::string_view key, double least);
  std::optional<std::string> Text(std::string_view key);
  // Reads a text with commas, or a list.  Skips invalid items.
  std::vector<std::string> Texts(std::string_view key);
  std::optional<std::vector<int64_t>> Numbers(std::string_view key);
  // Returns the object at `key`.
  std::optional<JsonValue> Object(std::string_view key);
  // Returns the values of the list at `key`.
  std::vector<JsonValue> Items(std::string_view key);

 private:
  static constexpr size_t kMostProblems = 100;

  void Note(std::string what, std::string outcome);
  bool IsSameKey(std::string_view a, std::string_view b) const;
  // Returns the value of `key`, or its only item if it is a list of one.
  std::optional<JsonValue> Single(std::string_view key);
  template <class T>
  std::optional<T> Taken(Result<T> value);

  JsonValue object_;
  Problems *problems_;
  std::string prefix_;
  KeyCase key_case_;
};

}  // namespace smdebug::config
