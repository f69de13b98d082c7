#include "tensor/histogram.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "tensor/blocks.h"

namespace smdebug::tensor {
namespace {

constexpr double kLeast = 1e-12;
constexpr double kEnd = 1e20;
constexpr double kGrowth = 1.1;

// Returns the number of magnitudes from kLeast up to, but not including, kEnd.
consteval size_t CountMagnitudes() {
  size_t count = 0;
  double magnitude = kLeast;
  while (magnitude < kEnd) {
    magnitude *= kGrowth;
    ++count;
  }
  return count;
}
constexpr size_t kMagnitudes = CountMagnitudes();

// Multiplies step by step, as TensorFlow does: other formulas round differently.
consteval std::array<double, kMagnitudes> MakeMagnitudes() {
  std::array<double, kMagnitudes> magnitudes{};
  double magnitude = kLeast;
  for (double &each : magnitudes) {
    each = magnitude;
    magnitude *= kGrowth;
  }
  return magnitudes;
}
constexpr std::array<double, kMagnitudes> kMagnitudeTable = MakeMagnitudes();

// The limits in ascending order: the negative magnitudes, 0, the positive magnitudes.
constexpr size_t kLimits = 2 * kMagnitudes + 1;
double LimitAt(size_t index) {
  if (index < kMagnitudes) return -kMagnitudeTable[kMagnitudes - 1 - index];
  return index == kMagnitudes ? 0 : kMagnitudeTable[index - kMagnitudes - 1];
}

constexpr size_t ExponentOf(double number) {
  return static_cast<size_t>(std::bit_cast<uint64_t>(number) >> 52 & 0x7FF);
}

// For each exponent, the first magnitude with this exponent or a larger one.  From there a
// lookup takes a few steps; a binary search would take eleven unpredictable branches.
consteval std::array<uint16_t, 2048> MakeFirstOfExponent() {
  std::array<uint16_t, 2048> first{};
  size_t index = 0;
  for (size_t exponent = 0; exponent < first.size(); ++exponent) {
    while (index < kMagnitudes && ExponentOf(kMagnitudeTable[index]) < exponent) ++index;
    first[exponent] = static_cast<uint16_t>(index);
  }
  return first;
}
constexpr std::array<uint16_t, 2048> kFirstOfExponent = MakeFirstOfExponent();

// Return the number of magnitudes below `number`, and up to it.  `number` is not negative.
size_t CountBelow(double number) {
  size_t index = kFirstOfExponent[ExponentOf(number)];
  while (index < kMagnitudes && kMagnitudeTable[index] < number) ++index;
  return index;
}
size_t CountUpTo(double number) {
  const size_t below = CountBelow(number);
  return below < kMagnitudes && kMagnitudeTable[below] == number ? below + 1 : below;
}

class Counter {
 public:
  void Add(double number) {
    if (!std::isfinite(number)) return;
    ++count_;
    min_ = std::min(min_, number);
    max_ = std::max(max_, number);
    sum_ += number;
    sum_squares_ += number * number;
    ++counts_[BucketOf(number)];
  }

  std::optional<Histogram> Finish() const {
    if (count_ == 0) return std::nullopt;
    Histogram histogram{min_, max_, sum_, sum_squares_, count_, {}, {}};
    size_t first = 0;
    while (counts_[first] == 0) ++first;
    size_t end = counts_.size();
    while (counts_[end - 1] == 0) --end;
    histogram.limits.push_back(LimitAt(first));
    histogram.counts.push_back(0);
    for (size_t bucket = first; bucket < end; ++bucket) {
      histogram.limits.push_back(LimitAt(bucket + 1));
      histogram.counts.push_back(static_cast<double>(counts_[bucket]));
    }
    return histogram;
  }

 private:
  // Bucket i is between limits i and i + 1.
  static constexpr size_t kBuckets = kLimits - 1;

  static size_t BucketOf(double number) {
    const size_t limits_up_to =
        number >= 0 ? kMagnitudes + 1 + CountUpTo(number) : kMagnitudes - CountBelow(-number);
    return std::clamp<size_t>(limits_up_to, 1, kBuckets) - 1;
  }

  std::array<int64_t, kBuckets> counts_{};
  int64_t count_ = 0;
  double min_ = std::numeric_limits<double>::infinity();
  double max_ = -std::numeric_limits<double>::infinity();
  double sum_ = 0;
  double sum_squares_ = 0;
};

}  // namespace

std::optional<Histogram> MakeHistogram(const View &view) {
  if (!IsFloat(view.dtype) && !IsSigned(view.dtype) && !IsUnsigned(view.dtype)) {
    return std::nullopt;
  }
  Counter counter;
  ForEachNumberBlock(view, Part::kWhole, [&](auto &block) {
    const auto *numbers = block.Numbers();
    for (size_t i = 0; i < block.Count(); ++i) counter.Add(static_cast<double>(numbers[i]));
  });
  return counter.Finish();
}

}  // namespace smdebug::tensor
