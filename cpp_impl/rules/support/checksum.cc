#include "rules/support/checksum.h"

#include <algorithm>
#include <bit>

namespace smdebug::rules {
namespace {

constexpr uint64_t Mix(uint64_t bits) {
  bits ^= bits >> 30;
  bits *= 0xbf58476d1ce4e5b9;
  bits ^= bits >> 27;
  bits *= 0x94d049bb133111eb;
  return bits ^ (bits >> 31);
}

}  // namespace

std::optional<uint64_t> ChecksumOf(const Sample &sample, int64_t most) {
  const std::vector<double> numbers = sample.SomeNumbers(most);
  if (numbers.empty()) return std::nullopt;
  const bool is_constant = std::all_of(numbers.begin(), numbers.end(),
                                       [&](double each) { return each == numbers.front(); });
  if (is_constant) return std::nullopt;
  uint64_t sum = 1;
  if (const tensor::View *form = sample.Form()) {
    for (const int64_t size : form->shape) sum = Mix(sum + static_cast<uint64_t>(size));
  }
  for (const double number : numbers) sum = Mix(sum + std::bit_cast<uint64_t>(number));
  return sum;
}

}  // namespace smdebug::rules
