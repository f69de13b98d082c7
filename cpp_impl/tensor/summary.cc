#include "tensor/summary.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace smdebug::tensor {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Outside these magnitudes, squares of doubles or their sums leave double's range.
constexpr double kLeastSquarable = 0x1p-480;
constexpr double kGreatestSquarable = 0x1p480;

// A sum that also accumulates the rounding errors (Neumaier).
class CompensatedSum {
 public:
  void Add(double number) {
    const double sum = sum_ + number;
    lost_ += std::fabs(sum_) >= std::fabs(number) ? (sum_ - sum) + number : (number - sum) + sum_;
    sum_ = sum;
  }
  double Value() const { return sum_ + lost_; }

 private:
  double sum_ = 0;
  double lost_ = 0;
};

// The mean, its rounding error, and the sum of squared distances from the mean.
struct Spread {
  double mean = 0;
  double rest = 0;
  double squares = 0;

  Spread Negated() const { return {-mean, -rest, squares}; }
};

// Combines the spreads of parts (Chan, Golub, LeVeque).
class SpreadOfAll {
 public:
  void Add(const Spread &part, double count) {
    if (count_ == 0) {
      // Updating a mean of zero would lose `rest` to rounding.
      mean_ = part.mean;
      rest_ = part.rest;
    }
    count_ += count;
    const double share = count / count_;
    const double distance = (part.mean - mean_) + (part.rest - rest_);
    squares_.Add(part.squares);
    squares_.Add(distance * distance * (count_ - count) * share);
    const double step = rest_ + distance * share;
    const double mean = mean_ + step;
    const double taken = mean - mean_;
    rest_ = (mean_ - (mean - taken)) + (step - taken);
    mean_ = mean;
  }
  double Variance() const { return squares_.Value() / count_; }

 private:
  double count_ = 0;
  double mean_ = 0;
  double rest_ = 0;
  CompensatedSum squares_;
};

class Accumulator {
 public:
  template <class T>
  void Add(NumberBlock<T> &block) {
    count_ += static_cast<int64_t>(block.Count());
    const BlockSums sums = block.Sums();
    if (!std::isfinite(sums.abs_sum) && AddNonFinite(block)) return;
    min_ = std::min(min_, sums.min);
    max_ = std::max(max_, sums.max);
    abs_min_ = std::min(abs_min_, sums.abs_min);
    sum_.Add(sums.sum);
    abs_sum_.Add(sums.abs_sum);
    squares_.Add(sums.squares);
    if (sums.abs_min == 0) zeros_ += block.Zeros();
    is_odd_ ^= sums.is_odd;
    AddSpreads(block, sums);
  }

  double GreatestMagnitude() const { return std::max(-min_, max_); }

  Statistics Finish() const;

 private:
  template <class T>
  bool AddNonFinite(NumberBlock<T> &block);
  template <class T>
  void AddSpreads(NumberBlock<T> &block, const BlockSums &sums);

  void FinishFinite(Statistics *out) const;
  void FinishWithInfinities(Statistics *out) const;

  int64_t count_ = 0;
  int64_t nans_ = 0;
  int64_t positive_infinities_ = 0;
  int64_t negative_infinities_ = 0;
  int64_t zeros_ = 0;
  bool is_odd_ = false;
  double min_ = kInfinity;
  double max_ = -kInfinity;
  double abs_min_ = kInfinity;
  CompensatedSum sum_;
  CompensatedSum abs_sum_;
  CompensatedSum squares_;
  SpreadOfAll spread_;
  SpreadOfAll abs_spread_;
};

// Counts what does not depend on the sums: one infinity or NaN determines all of them.
// Returns false if all elements are finite and only their sum is not.
template <class T>
bool Accumulator::AddNonFinite(NumberBlock<T> &block) {
  const BlockCounts counts = block.Counts();
  if (counts.nans + counts.positive_infinities + counts.negative_infinities == 0) return false;
  nans_ += counts.nans;
  positive_infinities_ += counts.positive_infinities;
  negative_infinities_ += counts.negative_infinities;
  zeros_ += block.Zeros();
  min_ = std::min(min_, counts.min);
  max_ = std::max(max_, counts.max);
  abs_min_ = std::min(abs_min_, counts.abs_min);
  is_odd_ ^= counts.negatives % 2 != 0;
  return true;
}

// Computes the spread from the sums alone, unless the mean is so large that the difference
// loses its digits; squares of 16-bit floats have only 20 bits of them.  In that case reads
// the block again, which is still in the cache.
template <class T>
Spread SpreadOf(NumberBlock<T> &block, double sum, double squares, bool absolute) {
  constexpr double kEnough = 0x1p-5;
  const auto n = static_cast<double>(block.Count());
  const double mean = sum / n;
  const double spread = squares - sum * mean;
  if (spread >= squares * kEnough) return {mean, 0, spread};
  const BlockDeviations d = block.Deviations(mean, absolute);
  return {mean, d.sum / n, std::max(d.squares - d.sum * (d.sum / n), 0.0)};
}

template <class T>
void Accumulator::AddSpreads(NumberBlock<T> &block, const BlockSums &sums) {
  const auto n = static_cast<double>(block.Count());
  const Spread spread = sums.min == sums.max ? Spread{sums.min, 0, 0}
                                             : SpreadOf(block, sums.sum, sums.squares, false);
  spread_.Add(spread, n);
  if (sums.min >= 0) {
    abs_spread_.Add(spread, n);
  } else if (sums.max <= 0) {
    abs_spread_.Add(spread.Negated(), n);
  } else {
    abs_spread_.Add(SpreadOf(block, sums.abs_sum, sums.squares, true), n);
  }
}

Statistics Accumulator::Finish() const {
  Statistics out;
  out.count = count_;
  out.nan_count = nans_;
  out.inf_count = positive_infinities_ + negative_infinities_;
  out.zero_count = zeros_;
  out.is_odd = is_odd_;
  if (count_ == 0) {
    out.plain = out.absolute = {kNan, kNan, kNan, kNan, 0};
  } else if (nans_ > 0) {
    out.plain = out.absolute = {kNan, kNan, kNan, kNan, kNan};
    out.l1 = out.l2 = kNan;
  } else if (out.inf_count > 0) {
    FinishWithInfinities(&out);
  } else {
    FinishFinite(&out);
  }
  return out;
}

void Accumulator::FinishFinite(Statistics *out) const {
  const auto count = static_cast<double>(count_);
  const double sum = sum_.Value();
  const double abs_sum = abs_sum_.Value();
  out->plain = {min_, max_, sum / count, spread_.Variance(), sum};
  out->absolute = {abs_min_, GreatestMagnitude(), abs_sum / count, abs_spread_.Variance(), abs_sum};
  out->l1 = abs_sum;
  out->l2 = std::sqrt(squares_.Value());
}

void Accumulator::FinishWithInfinities(Statistics *out) const {
  double sum = kNan;
  if (negative_infinities_ == 0) sum = kInfinity;
  if (positive_infinities_ == 0) sum = -kInfinity;
  out->plain = {min_, max_, sum, kNan, sum};
  out->absolute = {abs_min_, kInfinity, kInfinity, kNan, kInfinity};
  out->l1 = out->l2 = kInfinity;
}

void Scale(Statistics::Moments *moments, const Statistics::Moments &scaled, int exponent) {
  moments->mean = std::ldexp(scaled.mean, exponent);
  moments->variance = std::ldexp(scaled.variance, 2 * exponent);
  moments->sum = std::ldexp(scaled.sum, exponent);
}

// Recomputes the sums with all elements scaled to about 1, and scales the sums back.
void SummarizeExtremes(const View &view, Part part, double magnitude, Statistics *out) {
  const int exponent = std::ilogb(magnitude);
  // The reciprocal itself may be out of range; its two factors are not.
  const double half = std::ldexp(1, -exponent / 2);
  const double other_half = std::ldexp(1, -exponent - -exponent / 2);
  Accumulator accumulator;
  ForEachNumberBlock(view, part, [&](auto &block) {
    alignas(64) double scaled[kBlockElements];
    const auto *x = block.Numbers();
    for (size_t i = 0; i < block.Count(); ++i) {
      scaled[i] = static_cast<double>(x[i]) * half * other_half;
    }
    NumberBlock<double> scaled_block(reinterpret_cast<const std::byte *>(scaled), block.Count(),
                                     GetKernels().of_float64);
    accumulator.Add(scaled_block);
  });
  const Statistics scaled = accumulator.Finish();
  Scale(&out->plain, scaled.plain, exponent);
  Scale(&out->absolute, scaled.absolute, exponent);
  out->l1 = std::ldexp(scaled.l1, exponent);
  out->l2 = std::ldexp(scaled.l2, exponent);
}

}  // namespace

Statistics Summarize(const View &view, Part part) {
  Accumulator accumulator;
  ForEachNumberBlock(view, part, [&](auto &block) { accumulator.Add(block); });
  Statistics out = accumulator.Finish();
  const double magnitude = accumulator.GreatestMagnitude();
  const bool is_extreme =
      magnitude > kGreatestSquarable || (magnitude > 0 && magnitude < kLeastSquarable);
  if (is_extreme && out.nan_count == 0 && out.inf_count == 0) {
    SummarizeExtremes(view, part, magnitude, &out);
  }
  return out;
}

}  // namespace smdebug::tensor
