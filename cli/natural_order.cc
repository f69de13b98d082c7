#include "natural_order.h"

#include <algorithm>

namespace smdebug::cli {
namespace {

bool IsDigit(char letter) { return letter >= '0' && letter <= '9'; }

// Removes the digits at the start of `text`, and returns them.
std::string_view TakeDigits(std::string_view *text) {
  size_t end = 0;
  while (end < text->size() && IsDigit((*text)[end])) ++end;
  const std::string_view digits = text->substr(0, end);
  text->remove_prefix(end);
  return digits;
}

std::string_view WithoutZeros(std::string_view digits) {
  return digits.substr(std::min(digits.find_first_not_of('0'), digits.size()));
}

// What was read just now: digits after "0." are those of a fraction.
enum class After { kOther, kZero, kPoint };

// Returns less than, equal to or more than 0.
int CompareDigits(std::string_view a, std::string_view b, After after) {
  if (after == After::kPoint) return a.compare(b);
  a = WithoutZeros(a);
  b = WithoutZeros(b);
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return a.compare(b);
}

}  // namespace

bool NaturalLess(std::string_view a, std::string_view b) {
  std::string_view rest_a = a;
  std::string_view rest_b = b;
  After after = After::kOther;
  while (!rest_a.empty() && !rest_b.empty()) {
    if (IsDigit(rest_a.front()) && IsDigit(rest_b.front())) {
      const std::string_view in_a = TakeDigits(&rest_a);
      const int order = CompareDigits(in_a, TakeDigits(&rest_b), after);
      if (order != 0) return order < 0;
      after = WithoutZeros(in_a).empty() ? After::kZero : After::kOther;
      continue;
    }
    const auto byte_a = static_cast<unsigned char>(rest_a.front());
    const auto byte_b = static_cast<unsigned char>(rest_b.front());
    if (byte_a != byte_b) return byte_a < byte_b;
    after = after == After::kZero && byte_a == '.' ? After::kPoint : After::kOther;
    rest_a.remove_prefix(1);
    rest_b.remove_prefix(1);
  }
  if (rest_a.empty() != rest_b.empty()) return rest_a.empty();
  return a < b;  // they differ only in leading zeros
}

std::vector<std::string> InNaturalOrder(std::vector<std::string> names) {
  std::sort(names.begin(), names.end(),
            [](const std::string &a, const std::string &b) { return NaturalLess(a, b); });
  return names;
}

}  // namespace smdebug::cli
