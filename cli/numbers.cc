#include "numbers.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace smdebug::cli {
namespace {

template <class T>
std::string FewestDigits(T number) {
  std::array<char, 64> out{};
  const auto result = std::to_chars(out.data(), out.data() + out.size(), number);
  return {out.data(), result.ptr};
}

template <class T>
std::string ForJson(T number) {
  if (std::isnan(number)) return "\"NaN\"";
  if (std::isinf(number)) return number > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  return FewestDigits(number);
}

}  // namespace

std::string Short(double number) {
  if (std::isnan(number)) return "nan";
  if (number == 0) return "0";
  std::array<char, 64> out{};
  static_cast<void>(std::snprintf(out.data(), out.size(), "%.4g", number));
  return out.data();
}

std::string Shortest(double number) { return std::isnan(number) ? "nan" : FewestDigits(number); }
std::string Shortest(float number) { return std::isnan(number) ? "nan" : FewestDigits(number); }

std::string JsonNumber(double number) { return ForJson(number); }
std::string JsonNumber(float number) { return ForJson(number); }

}  // namespace smdebug::cli
