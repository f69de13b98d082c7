#include "rules/support/checksum.h"

#include <algorithm>
#include <bit>

namespace smdebug::rules {
std::optional<uint64_t> ChecksumOf(const Sample &sample, int64_t most) {
  const std::vector<double> numbers = sample.SomeNumbers(most);
  if (numbers.empty()) return std::nullopt;
  const bool is_constant = std::all_of(numbers.begin(), numbers.end(),
                                       [&](double each) { return each == numbers.front(); });
  if (is_constant) return std::nullopt;
  uint64_t sum = 1;
  if (const tensor::View *form = sample.Form()) {
    for (const int64_t size : form->shape) sum = MixBits(sum + static_cast<uint64_t>(size));
  }
  for (const double number : numbers) sum = MixBits(sum + std::bit_cast<uint64_t>(number));
  return sum;
}

}  // namespace smdebug::rules
