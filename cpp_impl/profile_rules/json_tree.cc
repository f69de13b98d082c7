#include "profile_rules/json_tree.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "profile/json_text.h"

namespace smdebug::profile_rules {

std::string PythonNumber(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  std::string written(text.data(), end);
  if (written.find_first_of(".e") == std::string::npos) written += ".0";
  return written;
}

Json &Json::operator[](std::string_view key) {
  if (!std::holds_alternative<Members>(value_)) value_ = Members();
  auto &members = std::get<Members>(value_);
  const auto found = std::find_if(members.begin(), members.end(),
                                  [&](const auto &member) { return member.first == key; });
  if (found != members.end()) return found->second;
  return members.emplace_back(std::string(key), Json()).second;
}

bool Json::Has(std::string_view key) const {
  const auto *members = std::get_if<Members>(&value_);
  return members != nullptr && std::any_of(members->begin(), members->end(),
                                           [&](const auto &each) { return each.first == key; });
}

void Json::Add(Json item) {
  if (!std::holds_alternative<Items>(value_)) value_ = Items();
  std::get<Items>(value_).push_back(std::move(item));
}

size_t Json::Size() const {
  if (const auto *members = std::get_if<Members>(&value_)) return members->size();
  if (const auto *items = std::get_if<Items>(&value_)) return items->size();
  return 0;
}

std::string Json::Text() const {
  std::string out;
  Append(false, &out);
  return out;
}

std::string Json::StrictText() const {
  std::string out;
  Append(true, &out);
  return out;
}

void Json::Append(bool is_strict, std::string *out) const {
  if (const auto *is = std::get_if<bool>(&value_)) {
    *out += *is ? "true" : "false";
  } else if (const auto *whole = std::get_if<int64_t>(&value_)) {
    *out += std::to_string(*whole);
  } else if (const auto *number = std::get_if<double>(&value_)) {
    *out += is_strict && !std::isfinite(*number) ? "null" : PythonNumber(*number);
  } else if (const auto *text = std::get_if<std::string>(&value_)) {
    profile::AppendQuoted(out, *text);
  } else if (const auto *members = std::get_if<Members>(&value_)) {
    const char *separator = "{";
    for (const auto &[key, value] : *members) {
      *out += std::exchange(separator, ", ");
      profile::AppendQuoted(out, key);
      *out += ": ";
      value.Append(is_strict, out);
    }
    *out += members->empty() ? "{}" : "}";
  } else if (const auto *items = std::get_if<Items>(&value_)) {
    const char *separator = "[";
    for (const Json &item : *items) {
      *out += std::exchange(separator, ", ");
      item.Append(is_strict, out);
    }
    *out += items->empty() ? "[]" : "]";
  } else {
    *out += "null";
  }
}

}  // namespace smdebug::profile_rules
