#include "rules/support/precision.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace smdebug::rules {
namespace {

constexpr int kDigitsOfHalf = 11;  // bfloat16 has 8
constexpr int kLeastDigits = 5;    // weights of ones tell nothing

}  // namespace

int DigitsOf(const std::vector<double> &elements) {
  int digits = 1;
  for (const double element : elements) {
    int exponent = 0;
    const double fraction = std::fabs(std::frexp(element, &exponent));
    if (!(fraction > 0) || !std::isfinite(fraction)) continue;
    const auto bits = static_cast<uint64_t>(std::ldexp(fraction, 53));
    digits = std::max(digits, 53 - std::countr_zero(bits));
  }
  return digits;
}

bool AreFewDigits(int digits) { return digits >= kLeastDigits && digits <= kDigitsOfHalf; }

bool MayRoundAway(size_t elements, int digits) {
  return elements <= kFewElements && AreFewDigits(digits);
}

}  // namespace smdebug::rules
