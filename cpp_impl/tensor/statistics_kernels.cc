#include "tensor/statistics_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

// Highway compiles this file once for each instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/statistics_kernels.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace smdebug::tensor::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Doubles = hn::ScalableTag<double>;
using Words = hn::RebindToUnsigned<Doubles>;
using DoubleVector = hn::Vec<Doubles>;
using WordVector = hn::Vec<Words>;

constexpr uint64_t kExponentMask = 0x7FF0000000000000;
constexpr uint64_t kExponentOfOne = 0x3FF0000000000000;
constexpr int64_t kBias = 1023;

// A byte that is true if it is nonzero.
enum class Bool : uint8_t {};

// Highway gives better instruction sets lower numbers.
#if HWY_TARGET <= HWY_AVX2 || !HWY_ARCH_X86
constexpr bool kConvertsFloat16 = HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128;
#else
constexpr bool kConvertsFloat16 = false;
#endif

// Converts without an instruction for it.  Highway's own fallback converts infinity to a
// finite number.
template <class D>
HWY_INLINE hn::Vec<D> Float16ToFloat(D d, const hwy::float16_t *from) {
  const hn::RebindToUnsigned<D> words;
  const hn::Rebind<uint16_t, D> halves;
  const auto bits =
      hn::PromoteTo(words, hn::LoadU(halves, reinterpret_cast<const uint16_t *>(from)));
  const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(words, 0x8000)));
  const auto magnitude = hn::And(bits, hn::Set(words, 0x7FFF));
  // Correct except for the exponent's bias, also for denormal numbers.
  const auto shifted = hn::BitCast(d, hn::ShiftLeft<13>(magnitude));
  const auto scaled = hn::BitCast(words, hn::Mul(shifted, hn::Set(d, 0x1p112F)));
  const auto is_number = hn::Lt(magnitude, hn::Set(words, 0x7C00));
  const auto other = hn::Or(hn::ShiftLeft<13>(magnitude), hn::Set(words, 0x7F800000));
  return hn::BitCast(d, hn::Or(sign, hn::IfThenElse(is_number, scaled, other)));
}

// Loads a vector of elements, converted to type T.
template <class T, class Narrow>
HWY_INLINE hn::Vec<hn::ScalableTag<T>> LoadAs(const Narrow *from) {
  const hn::ScalableTag<T> d;
  if constexpr (std::is_same_v<Narrow, Bool>) {
    const hn::Rebind<uint8_t, decltype(d)> bytes;
    const auto v = hn::LoadU(bytes, reinterpret_cast<const uint8_t *>(from));
    const auto truth = hn::Min(v, hn::Set(bytes, uint8_t{1}));
    return hn::ConvertTo(d, hn::PromoteTo(hn::RebindToSigned<decltype(d)>(), truth));
  } else if constexpr (std::is_same_v<Narrow, hwy::float16_t> && !kConvertsFloat16) {
    return Float16ToFloat(d, from);
  } else {
    const auto v = hn::LoadU(hn::Rebind<Narrow, decltype(d)>(), from);
    if constexpr (std::is_same_v<Narrow, T>) {
      return v;
    } else if constexpr (sizeof(Narrow) == 8) {
      return hn::ConvertTo(d, v);
    } else if constexpr (std::is_same_v<Narrow, uint32_t>) {
      return hn::ConvertTo(d, hn::PromoteTo(hn::RebindToUnsigned<decltype(d)>(), v));
    } else if constexpr (sizeof(T) == 4 && std::is_integral_v<Narrow>) {
      return hn::ConvertTo(d, hn::PromoteTo(hn::RebindToSigned<decltype(d)>(), v));
    } else {
      return hn::PromoteTo(d, v);
    }
  }
}

template <class Narrow, class T>
void WidenBlock(const std::byte *elements, size_t count, T *out) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  const auto *from = reinterpret_cast<const Narrow *>(elements);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(LoadAs<T>(from + i), d, out + i);
  if (i == count) return;
  HWY_ALIGN Narrow last[hn::MaxLanes(d)] = {};
  HWY_ALIGN T wide[hn::MaxLanes(d)];
  std::memcpy(last, from + i, (count - i) * sizeof(Narrow));
  hn::Store(LoadAs<T>(last), d, wide);
  std::memcpy(out + i, wide, (count - i) * sizeof(T));
}

HWY_INLINE double SumOf(DoubleVector v) { return hn::GetLane(hn::SumOfLanes(Doubles(), v)); }

template <class D, class V>
HWY_INLINE double LeastOf(D d, V v) {
  return static_cast<double>(hn::GetLane(hn::MinOfLanes(d, v)));
}
template <class D, class V>
HWY_INLINE double GreatestOf(D d, V v) {
  return static_cast<double>(hn::GetLane(hn::MaxOfLanes(d, v)));
}

template <class T>
HWY_INLINE DoubleVector LoadWide(const T *x) {
  const auto v = hn::LoadU(hn::Rebind<T, Doubles>(), x);
  if constexpr (sizeof(T) == sizeof(double)) {
    return v;
  } else {
    return hn::PromoteTo(Doubles(), v);
  }
}

// Returns true if an odd number of lanes have the sign bit set.
template <class D, class V>
HWY_INLINE bool IsOdd(D, V signs) {
  const hn::RebindToSigned<D> integers;
  const auto bits = hn::BitCast(integers, signs);
  return hn::CountTrue(integers, hn::Lt(bits, hn::Zero(integers))) % 2 != 0;
}

HWY_INLINE void Accumulate(DoubleVector v, DoubleVector &sum, DoubleVector &abs_sum,
                           DoubleVector &squares) {
  sum = hn::Add(sum, v);
  abs_sum = hn::Add(abs_sum, hn::Abs(v));
  squares = hn::MulAdd(v, v, squares);
}

template <class T>
HWY_INLINE void AccumulateLast(const T *x, size_t count, BlockSums *sums) {
  for (size_t i = 0; i < count; ++i) {
    const auto v = static_cast<double>(x[i]);
    sums->sum += v;
    sums->abs_sum += std::fabs(v);
    sums->squares += v * v;
    sums->min = std::min(sums->min, v);
    sums->max = std::max(sums->max, v);
    sums->abs_min = std::min(sums->abs_min, std::fabs(v));
    sums->is_odd ^= std::signbit(v);
  }
}

// A step is four vectors of double.  Separate short sums round less than one long sum.
constexpr size_t kStepsASum = 8;

// Adds up steps in two alternating accumulators: the latency of an addition is longer than
// its throughput.  Narrow numbers are read from memory again, which is cheaper than splitting
// a vector.
template <class T>
HWY_INLINE void AccumulateSteps(const T *x, size_t steps, DoubleVector &sum, DoubleVector &abs_sum,
                                DoubleVector &squares) {
  const size_t lanes = hn::Lanes(Doubles());
  auto sum0 = hn::Zero(Doubles()), sum1 = sum0, abs0 = sum0, abs1 = sum0;
  auto squares0 = sum0, squares1 = sum0;
  for (; steps > 0; --steps, x += 4 * lanes) {
    Accumulate(LoadWide(x), sum0, abs0, squares0);
    Accumulate(LoadWide(x + lanes), sum1, abs1, squares1);
    Accumulate(LoadWide(x + 2 * lanes), sum0, abs0, squares0);
    Accumulate(LoadWide(x + 3 * lanes), sum1, abs1, squares1);
  }
  sum = hn::Add(sum, hn::Add(sum0, sum1));
  abs_sum = hn::Add(abs_sum, hn::Add(abs0, abs1));
  squares = hn::Add(squares, hn::Add(squares0, squares1));
}

// The hardware prefetcher stops at the end of a page.
HWY_INLINE void FetchAhead(const void *from, size_t bytes) {
  constexpr size_t kAhead = 2048;
  constexpr size_t kLine = 64;
  const auto *ahead = static_cast<const std::byte *>(from) + kAhead;
  for (size_t i = 0; i < bytes; i += kLine) __builtin_prefetch(ahead + i);
}

// Computes the sums of elements that T can hold; adds each in double.
template <class Narrow, class T>
BlockSums SumsOf(const std::byte *elements, size_t count) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Doubles d;
  const hn::ScalableTag<T> numbers;
  const auto *from = reinterpret_cast<const Narrow *>(elements);
  const size_t step = 4 * hn::Lanes(d);
  auto sum = hn::Zero(d), abs_sum = sum, squares = sum;
  auto min = hn::Set(numbers, std::numeric_limits<T>::infinity()), abs_min = min;
  auto max = hn::Neg(min), signs = hn::Zero(numbers);
  HWY_ALIGN T wide[kStepsASum * 4 * hn::MaxLanes(d)];
  size_t i = 0;
  while (i + step <= count) {
    const size_t steps = std::min(kStepsASum, (count - i) / step);
    FetchAhead(from + i, steps * step * sizeof(Narrow));
    for (size_t j = 0; j < steps * step; j += hn::Lanes(numbers)) {
      const auto v = LoadAs<T>(from + i + j);
      if constexpr (!std::is_same_v<Narrow, T>) hn::Store(v, numbers, wide + j);
      min = hn::Min(min, v);
      max = hn::Max(max, v);
      abs_min = hn::Min(abs_min, hn::Abs(v));
      signs = hn::Xor(signs, v);
    }
    if constexpr (std::is_same_v<Narrow, T>) {
      AccumulateSteps(from + i, steps, sum, abs_sum, squares);
    } else {
      AccumulateSteps(&wide[0], steps, sum, abs_sum, squares);
    }
    i += steps * step;
  }
  BlockSums sums{SumOf(sum), SumOf(abs_sum), SumOf(squares), kInfinity,
                 -kInfinity, kInfinity,      false};
  if (i > 0) {
    sums.min = LeastOf(numbers, min);
    sums.max = GreatestOf(numbers, max);
    sums.abs_min = LeastOf(numbers, abs_min);
    sums.is_odd = IsOdd(numbers, signs);
  }
  HWY_ALIGN Narrow rest[4 * hn::MaxLanes(d)] = {};
  HWY_ALIGN T last[4 * hn::MaxLanes(d)];
  std::memcpy(rest, from + i, (count - i) * sizeof(Narrow));
  WidenBlock<Narrow>(reinterpret_cast<const std::byte *>(rest), count - i, &last[0]);
  AccumulateLast(last, count - i, &sums);
  return sums;
}

// Without vectors this is not faster.
#if HWY_TARGET != HWY_SCALAR

using Floats = hn::ScalableTag<float>;

// Converts one vector of 16-bit floats to two vectors of float, in any order.
template <class Narrow, class K, class F>
HWY_INLINE void WidenHalves(const Narrow *from, K v, F &first, F &second) {
  const Floats d;
  if constexpr (std::is_same_v<Narrow, hwy::bfloat16_t>) {
    const hn::RebindToUnsigned<Floats> words;
    const auto pairs = hn::BitCast(words, v);
    first = hn::BitCast(d, hn::ShiftLeft<16>(pairs));
    second = hn::BitCast(d, hn::And(pairs, hn::Set(words, 0xFFFF0000)));
  } else {
    first = LoadAs<float>(from);
    second = LoadAs<float>(from + hn::Lanes(d));
  }
}

using Signed = hn::ScalableTag<int16_t>;
using Unsigned = hn::ScalableTag<uint16_t>;

// Finds bounds of 16-bit floats from their bits.  Read as signed integers, non-negative numbers
// keep their order and follow the negative numbers, which are in order of magnitude.  Read as
// unsigned integers, the negative numbers come last.  The bounds are variables of the caller:
// vectors of SVE cannot be members of a class.
HWY_INLINE void AddBits(hn::Vec<Unsigned> bits, hn::Vec<Signed> &least, hn::Vec<Signed> &greatest,
                        hn::Vec<Unsigned> &first, hn::Vec<Unsigned> &last) {
  const auto with_sign = hn::BitCast(Signed(), bits);
  least = hn::Min(least, with_sign);
  greatest = hn::Max(greatest, with_sign);
  first = hn::Min(first, bits);
  last = hn::Max(last, bits);
}

// Stores the bounds that AddBits() found, of at least one number.
template <class Narrow>
HWY_INLINE void StoreBounds(hn::Vec<Signed> least_of_lanes, hn::Vec<Signed> greatest_of_lanes,
                            hn::Vec<Unsigned> first_of_lanes, hn::Vec<Unsigned> last_of_lanes,
                            BlockSums *sums) {
  constexpr uint16_t kSign = 0x8000;
  const auto least = static_cast<uint16_t>(hn::GetLane(hn::MinOfLanes(Signed(), least_of_lanes)));
  const auto greatest =
      static_cast<uint16_t>(hn::GetLane(hn::MaxOfLanes(Signed(), greatest_of_lanes)));
  const uint16_t first = hn::GetLane(hn::MinOfLanes(Unsigned(), first_of_lanes));
  const uint16_t last = hn::GetLane(hn::MaxOfLanes(Unsigned(), last_of_lanes));
  const bool has_negative = last >= kSign, has_other = greatest < kSign;
  const auto magnitude = static_cast<uint16_t>(least & ~kSign);
  HWY_ALIGN uint16_t bits[hn::MaxLanes(Unsigned())] = {has_negative ? last : least,
                                                       has_other ? greatest : least,
                                                       !has_negative ? first
                                                       : has_other   ? std::min(first, magnitude)
                                                                     : magnitude};
  HWY_ALIGN float numbers[hn::MaxLanes(Floats())];
  hn::Store(LoadAs<float>(reinterpret_cast<const Narrow *>(bits)), Floats(), numbers);
  sums->min = static_cast<double>(numbers[0]);
  sums->max = static_cast<double>(numbers[1]);
  sums->abs_min = static_cast<double>(numbers[2]);
}

template <class V>
HWY_INLINE void AddInDouble(V floats, DoubleVector &sum) {
  const hn::Half<Floats> half;
  const Doubles d;
  sum = hn::Add(sum, hn::PromoteTo(d, hn::LowerHalf(half, floats)));
  sum = hn::Add(sum, hn::PromoteTo(d, hn::UpperHalf(half, floats)));
}

// The number of vectors of 16-bit floats that are added in float before the partial sum is
// added in double.
constexpr size_t kHalvesASum = 8;

// Computes the sums of whole steps of kHalvesASum vectors, at least one.  A partial sum adds
// sixteen numbers of 11 or 8 bits.  Float's 24 bits hold it exactly unless some numbers are
// hundreds of times greater than others.  Its error is at most 2^-20 of the sum of magnitudes,
// and likewise for squares.
template <class Narrow>
BlockSums SumsOfSteps(const Narrow *from, size_t steps) {
  const Unsigned bits;
  const Floats floats;
  auto sum = hn::Zero(Doubles()), abs_sum = sum, squares = sum;
  auto signs = hn::Zero(bits);
  auto least = hn::Set(Signed(), std::numeric_limits<int16_t>::max()), greatest = hn::Not(least);
  auto first_bits = hn::Set(bits, std::numeric_limits<uint16_t>::max()), last_bits = signs;
  for (; steps > 0; --steps) {
    FetchAhead(from, kHalvesASum * hn::Lanes(bits) * sizeof(Narrow));
    auto part = hn::Zero(floats), abs_part = part, squares0 = part, squares1 = part;
    for (size_t i = 0; i < kHalvesASum; ++i, from += hn::Lanes(bits)) {
      const auto v = hn::LoadU(bits, reinterpret_cast<const uint16_t *>(from));
      AddBits(v, least, greatest, first_bits, last_bits);
      signs = hn::Xor(signs, v);
      auto first = part, second = part;
      WidenHalves(from, v, first, second);
      part = hn::Add(part, hn::Add(first, second));
      abs_part = hn::Add(abs_part, hn::Add(hn::Abs(first), hn::Abs(second)));
      squares0 = hn::MulAdd(first, first, squares0);
      squares1 = hn::MulAdd(second, second, squares1);
    }
    AddInDouble(part, sum);
    AddInDouble(abs_part, abs_sum);
    AddInDouble(hn::Add(squares0, squares1), squares);
  }
  BlockSums sums{SumOf(sum), SumOf(abs_sum), SumOf(squares), 0, 0, 0, IsOdd(bits, signs)};
  StoreBounds<Narrow>(least, greatest, first_bits, last_bits, &sums);
  return sums;
}

// Computes the sums of 16-bit floats.  If squares, or sums of squares, could leave float's
// range, or if an element is not finite, adds all of them in double instead.
template <class Narrow>
BlockSums SumsOfHalves(const std::byte *elements, size_t count) {
  constexpr double kLeast = 0x1p-50, kGreatest = 0x1p60;
  const size_t step = kHalvesASum * hn::Lanes(Unsigned());
  const size_t steps = count / step;
  if (steps == 0) return SumsOf<Narrow, float>(elements, count);
  BlockSums sums = SumsOfSteps(reinterpret_cast<const Narrow *>(elements), steps);
  const double magnitude = std::max(-sums.min, sums.max);
  const bool is_in_range = magnitude == 0 || (magnitude >= kLeast && magnitude <= kGreatest);
  if (!is_in_range) return SumsOf<Narrow, float>(elements, count);
  const size_t done = steps * step;
  const BlockSums rest = SumsOf<Narrow, float>(elements + done * sizeof(Narrow), count - done);
  sums.sum += rest.sum;
  sums.abs_sum += rest.abs_sum;
  sums.squares += rest.squares;
  sums.min = std::min(sums.min, rest.min);
  sums.max = std::max(sums.max, rest.max);
  sums.abs_min = std::min(sums.abs_min, rest.abs_min);
  sums.is_odd ^= rest.is_odd;
  return sums;
}

#endif

template <class Narrow, class T>
constexpr auto SumsFunction() {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (std::is_same_v<Narrow, hwy::bfloat16_t> || std::is_same_v<Narrow, hwy::float16_t>) {
    return SumsOfHalves<Narrow>;
  }
#endif
  return SumsOf<Narrow, T>;
}

HWY_INLINE double ProductOf(DoubleVector v) {
  HWY_ALIGN double lanes[hn::MaxLanes(Doubles())];
  hn::Store(v, Doubles(), lanes);
  double product = 1;
  for (size_t i = 0; i < hn::Lanes(Doubles()); ++i) product *= lanes[i];
  return product;
}

// Returns the exponent of a product from `fields`, whose lanes sum `count` exponent fields.
HWY_INLINE int64_t ExponentOf(WordVector fields, int64_t count) {
  return static_cast<int64_t>(hn::GetLane(hn::SumOfLanes(Words(), fields))) - kBias * count;
}

// Moves the exponent from `v` to `fields`, which leaves a magnitude from 1 to 2 in `v`.
HWY_INLINE void TakeExponent(DoubleVector &v, WordVector &fields) {
  const auto mask = hn::Set(Words(), kExponentMask);
  const auto bits = hn::BitCast(Words(), v);
  fields = hn::Add(fields, hn::ShiftRight<52>(hn::And(bits, mask)));
  v = hn::BitCast(Doubles(), hn::Or(hn::AndNot(mask, bits), hn::Set(Words(), kExponentOfOne)));
}

template <class T>
WideProduct BlockProductOf(const T *x, size_t count, int steps_to_take) {
  const Doubles d;
  const size_t lanes = hn::Lanes(d);
  const size_t step = 2 * lanes;
  auto product0 = hn::Set(d, 1.0), product1 = product0;
  auto fields = hn::Zero(Words());
  int64_t fields_taken = 0;
  size_t i = 0;
  while (i + step <= count) {
    size_t steps = std::min(static_cast<size_t>(steps_to_take), (count - i) / step);
    for (; steps > 0; --steps, i += step) {
      product0 = hn::Mul(product0, LoadWide(x + i));
      product1 = hn::Mul(product1, LoadWide(x + i + lanes));
    }
    TakeExponent(product0, fields);
    TakeExponent(product1, fields);
    fields_taken += static_cast<int64_t>(step);
  }
  WideProduct product{ProductOf(hn::Mul(product0, product1)), ExponentOf(fields, fields_taken)};
  for (; i < count; ++i) {
    int exponent = 0;
    product.mantissa *= std::frexp(static_cast<double>(x[i]), &exponent);
    product.exponent += exponent;
  }
  return product;
}

template <class T>
BlockDeviations DeviationsOf(const T *x, size_t count, double centre, bool absolute) {
  const Doubles d;
  const size_t lanes = hn::Lanes(d);
  const auto c = hn::Set(d, centre);
  // Clears the sign bit if `absolute` is true.
  const auto mask = hn::BitCast(d, hn::Set(Words(), absolute ? ~uint64_t{0} >> 1 : ~uint64_t{0}));
  auto sum0 = hn::Zero(d), sum1 = sum0, squares0 = sum0, squares1 = sum0;
  size_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    const auto v0 = hn::Sub(hn::And(LoadWide(x + i), mask), c);
    const auto v1 = hn::Sub(hn::And(LoadWide(x + i + lanes), mask), c);
    sum0 = hn::Add(sum0, v0);
    sum1 = hn::Add(sum1, v1);
    squares0 = hn::MulAdd(v0, v0, squares0);
    squares1 = hn::MulAdd(v1, v1, squares1);
  }
  BlockDeviations out{SumOf(hn::Add(sum0, sum1)), SumOf(hn::Add(squares0, squares1))};
  for (; i < count; ++i) {
    const auto v = static_cast<double>(x[i]);
    const double deviation = (absolute ? std::fabs(v) : v) - centre;
    out.sum += deviation;
    out.squares += deviation * deviation;
  }
  return out;
}

template <class D, class M>
HWY_INLINE int64_t CountOf(D d, M mask) {
  return static_cast<int64_t>(hn::CountTrue(d, mask));
}

template <class T>
int64_t ZerosOf(const T *x, size_t count) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  int64_t zeros = 0;
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    zeros += CountOf(d, hn::Eq(hn::LoadU(d, x + i), hn::Zero(d)));
  }
  for (; i < count; ++i) zeros += x[i] == 0 ? 1 : 0;
  return zeros;
}

template <class T>
BlockCounts CountsOf(const T *x, size_t count) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  const auto infinity = hn::Set(d, kInfinity);
  const auto minus_infinity = hn::Set(d, -kInfinity);
  BlockCounts out{};
  auto min = infinity, max = minus_infinity, abs_min = infinity;
  // The last vector is padded with NaN, and `nans` is corrected for the padding.
  HWY_ALIGN T last[hn::MaxLanes(d)];
  std::fill_n(last, lanes, std::numeric_limits<T>::quiet_NaN());
  if (count % lanes != 0) {
    std::memcpy(last, x + count / lanes * lanes, count % lanes * sizeof(T));
    out.nans -= static_cast<int64_t>(lanes - count % lanes);
  }
  for (size_t i = 0; i < count; i += lanes) {
    const auto v = i + lanes <= count ? hn::LoadU(d, x + i) : hn::Load(d, last);
    const auto is_nan = hn::IsNaN(v);
    out.nans += CountOf(d, is_nan);
    out.positive_infinities += CountOf(d, hn::Eq(v, infinity));
    out.negative_infinities += CountOf(d, hn::Eq(v, minus_infinity));
    out.negatives += CountOf(d, hn::Lt(v, hn::Zero(d)));
    min = hn::Min(min, hn::IfThenElse(is_nan, infinity, v));
    max = hn::Max(max, hn::IfThenElse(is_nan, minus_infinity, v));
    abs_min = hn::Min(abs_min, hn::IfThenElse(is_nan, infinity, hn::Abs(v)));
  }
  out.min = LeastOf(d, min);
  out.max = GreatestOf(d, max);
  out.abs_min = LeastOf(d, abs_min);
  return out;
}

template <class T>
constexpr BlockKernels<T> kKernelsOn = {DeviationsOf<T>, ZerosOf<T>, CountsOf<T>,
                                        BlockProductOf<T>};

template <class Narrow, class T>
constexpr ElementKernels<T> kKernelsOf = {
    SumsFunction<Narrow, T>(), std::is_same_v<Narrow, T> ? nullptr : WidenBlock<Narrow, T>};

const Kernels *AllKernels() {
  static constexpr Kernels kAll = {
      kKernelsOn<float>,
      kKernelsOn<double>,
      kKernelsOf<float, float>,
      kKernelsOf<hwy::float16_t, float>,
      kKernelsOf<hwy::bfloat16_t, float>,
      kKernelsOf<int8_t, float>,
      kKernelsOf<uint8_t, float>,
      kKernelsOf<int16_t, float>,
      kKernelsOf<uint16_t, float>,
      kKernelsOf<Bool, float>,
      kKernelsOf<double, double>,
      kKernelsOf<int32_t, double>,
      kKernelsOf<uint32_t, double>,
      kKernelsOf<int64_t, double>,
      kKernelsOf<uint64_t, double>,
  };
  return &kAll;
}

}  // namespace smdebug::tensor::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace smdebug::tensor {

HWY_EXPORT(AllKernels);

const Kernels &GetKernels() { return *HWY_DYNAMIC_DISPATCH(AllKernels)(); }

}  // namespace smdebug::tensor
#endif
