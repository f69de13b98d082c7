#include "natural_order.h"

#include <algorithm>

namespace smdebug::cli {
namespace {

bool IsDigit(char letter) { return letter >= '0' && letter <= '9'; }

// Removes the digits at the start of `text`, and returns them without leading zeros.
std::string_view TakeNumber(std::string_view *text) {
  size_t end = 0;
  while (end < text->size() && IsDigit((*text)[end])) ++end;
  std::string_view number = text->substr(0, end);
  text->remove_prefix(end);
  const size_t first = std::min(number.find_first_not_of('0'), number.size());
  number.remove_prefix(first);
  return number;
}

}  // namespace

bool NaturalLess(std::string_view a, std::string_view b) {
  std::string_view rest_a = a;
  std::string_view rest_b = b;
  while (!rest_a.empty() && !rest_b.empty()) {
    if (IsDigit(rest_a.front()) && IsDigit(rest_b.front())) {
      const std::string_view in_a = TakeNumber(&rest_a);
      const std::string_view in_b = TakeNumber(&rest_b);
      if (in_a.size() != in_b.size()) return in_a.size() < in_b.size();
      if (in_a != in_b) return in_a < in_b;
      continue;
    }
    const auto byte_a = static_cast<unsigned char>(rest_a.front());
    const auto byte_b = static_cast<unsigned char>(rest_b.front());
    if (byte_a != byte_b) return byte_a < byte_b;
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
