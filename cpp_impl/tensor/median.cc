#include "tensor/median.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

namespace smdebug::tensor {
namespace {

template <class T>
using KeyOf = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

// Returns a key with the order of the number: all bits of a negative number are inverted, and
// only the sign bit of other numbers.  There is no branch, since random signs would be
// mispredicted often.
template <class T>
KeyOf<T> ToKey(T number) {
  using Key = KeyOf<T>;
  constexpr int kSignBit = 8 * sizeof(Key) - 1;
  const Key bits = std::bit_cast<Key>(number);
  return bits ^ ((Key{0} - (bits >> kSignBit)) | (Key{1} << kSignBit));
}

template <class T>
double FromKey(KeyOf<T> key) {
  using Key = KeyOf<T>;
  constexpr Key kSign = Key{1} << (8 * sizeof(Key) - 1);
  return static_cast<double>(std::bit_cast<T>((key & kSign) != 0 ? key ^ kSign : ~key));
}

// Finds the middle key 16 bits at a time, by counting the keys with the prefix found so far.
template <class T>
class Selector {
 public:
  Selector(const View &view, Part part, bool absolute)
      : view_(view), part_(part), absolute_(absolute) {}

  double Median() {
    const auto count = static_cast<uint64_t>(view_.ElementCount());
    uint64_t rank = (count - 1) / 2;
    Key found = 0;
    uint64_t equal = 0;
    for (int shift = kBits - 16; shift >= 0; shift -= 16) {
      const std::vector<uint32_t> counts = Count(found, shift);
      size_t digit = 0;
      for (; rank >= counts[digit]; ++digit) rank -= counts[digit];
      found |= static_cast<Key>(digit) << shift;
      equal = counts[digit];
    }
    const double lower = FromKey<T>(found);
    if (count % 2 != 0) return lower;
    return Middle(lower, rank + 1 < equal ? lower : FromKey<T>(LeastAbove(found)));
  }

 private:
  using Key = KeyOf<T>;
  static constexpr int kBits = 8 * sizeof(Key);

  template <class Visit>
  void ForEachKey(Visit visit) const {
    ForEachNumberBlock(view_, part_, [&](auto &block) {
      const auto *x = block.Numbers();
      for (size_t i = 0; i < block.Count(); ++i) {
        const auto number = static_cast<T>(x[i]);
        visit(ToKey(absolute_ ? std::fabs(number) : number));
      }
    });
  }

  // Counts the values of the 16 bits at `shift`, over the keys with the same bits above them
  // as `prefix`.
  std::vector<uint32_t> Count(Key prefix, int shift) const {
    std::vector<uint32_t> counts(1 << 16);
    const Key mask = shift + 16 == kBits ? 0 : ~Key{0} << (shift + 16);
    ForEachKey([&](Key key) {
      if (((key ^ prefix) & mask) == 0) ++counts[(key >> shift) & 0xFFFF];
    });
    return counts;
  }

  // Returns the least key above `bound`; there must be one.  Keys up to `bound` wrap around
  // to large distances, which saves a branch.
  Key LeastAbove(Key bound) const {
    Key least = std::numeric_limits<Key>::max();
    ForEachKey([&](Key key) { least = std::min<Key>(least, key - bound - 1); });
    return bound + 1 + least;
  }

  static double Middle(double a, double b) {
    const double sum = a + b;
    return std::isinf(sum) && std::isfinite(a) && std::isfinite(b) ? a / 2 + b / 2 : sum / 2;
  }

  const View &view_;
  Part part_;
  bool absolute_;
};

}  // namespace

double MedianOf(const View &view, Part part, bool absolute) {
  if (AccessTo(view.dtype, part).is_double) {
    return Selector<double>(view, part, absolute).Median();
  }
  return Selector<float>(view, part, absolute).Median();
}

}  // namespace smdebug::tensor
