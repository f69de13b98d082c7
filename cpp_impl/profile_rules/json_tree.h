// A JSON value that is built in any order.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace smdebug::profile_rules {

// Members keep the order in which they were added.
class Json {
 public:
  Json() = default;                       // null
  Json(bool value) : value_(value) {}     // NOLINT(google-explicit-constructor)
  Json(int64_t value) : value_(value) {}  // NOLINT(google-explicit-constructor)
  Json(size_t value)
      : value_(static_cast<int64_t>(value)) {}  // NOLINT(google-explicit-constructor)
  Json(double value) : value_(value) {}         // NOLINT(google-explicit-constructor)
  Json(std::string_view value)
      : value_(std::string(value)) {}                      // NOLINT(google-explicit-constructor)
  Json(const char *value) : value_(std::string(value)) {}  // NOLINT(google-explicit-constructor)
  Json(const std::string &value) : value_(value) {}        // NOLINT(google-explicit-constructor)
  static Json Object() { return Json(Members()); }
  static Json Array() { return Json(Items()); }

  // Returns the member of an object, which is added if it is new.  A null becomes an object.
  Json &operator[](std::string_view key);
  bool Has(std::string_view key) const;
  // Appends to an array.  A null becomes an array.
  void Add(Json item);
  size_t Size() const;

  // Writes it as Python's json.dumps: numbers with the fewest digits that give them back, also
  // NaN and Infinity.
  std::string Text() const;
  // The same with null for numbers that are not finite, as browsers need it.
  std::string StrictText() const;

 private:
  using Members = std::vector<std::pair<std::string, Json>>;
  using Items = std::vector<Json>;

  explicit Json(Members members) : value_(std::move(members)) {}
  explicit Json(Items items) : value_(std::move(items)) {}
  void Append(bool is_strict, std::string *out) const;

  std::variant<std::monostate, bool, int64_t, double, std::string, Members, Items> value_;
};

// Returns the number as Python's repr() writes it.
std::string PythonNumber(double number);

}  // namespace smdebug::profile_rules
