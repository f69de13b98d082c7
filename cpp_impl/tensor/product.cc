#include "tensor/product.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace smdebug::tensor {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class ProductOfAll {
 public:
  void Multiply(const WideProduct &factor) {
    int exponent = 0;
    product_.mantissa = std::frexp(product_.mantissa * factor.mantissa, &exponent);
    product_.exponent += exponent + factor.exponent;
  }
  double Value() const {
    constexpr int64_t kBeyond = 5000;
    const int64_t exponent = std::clamp(product_.exponent, -kBeyond, kBeyond);
    return std::ldexp(product_.mantissa, static_cast<int>(exponent));
  }

 private:
  WideProduct product_;
};

// Returns how many factors with magnitudes in this range can be multiplied before the
// exponent must be moved out; 0 if even one factor is too much.
int StepsFor(double least, double greatest) {
  const int bits = std::max(std::abs(std::ilogb(least)), std::abs(std::ilogb(greatest))) + 1;
  return std::min(kProductBits / bits, kMostSteps);
}

template <class T>
WideProduct SlowProduct(NumberBlock<T> &block) {
  WideProduct product;
  const T *x = block.Numbers();
  for (size_t i = 0; i < block.Count(); ++i) {
    int exponent = 0;
    product.mantissa *= std::frexp(static_cast<double>(x[i]), &exponent);
    product.exponent += exponent;
    product.mantissa = std::frexp(product.mantissa, &exponent);
    product.exponent += exponent;
  }
  return product;
}

// Returns the magnitude of the product (0 or infinity) if it is certainly out of range.  With
// n factors, it is at least min^n and at most mean^n, for the magnitudes' min and mean.
std::optional<double> MagnitudeBeyondRange(const Statistics &statistics) {
  constexpr double kBeyond = 1100;
  const auto count = static_cast<double>(statistics.count);
  if (count * std::log2(statistics.absolute.mean) < -kBeyond) return 0;
  if (count * std::log2(statistics.absolute.min) > kBeyond) return kInfinity;
  return std::nullopt;
}

}  // namespace

double ProductOf(const View &view, Part part, const Statistics &statistics) {
  const bool has_zero = statistics.zero_count > 0;
  const bool has_infinity = statistics.inf_count > 0;
  const bool has_nan = statistics.nan_count > 0;
  if (has_nan || (has_zero && has_infinity)) return std::numeric_limits<double>::quiet_NaN();
  if (has_zero) return 0;
  if (statistics.count == 0) return 1;
  const double sign = statistics.is_odd ? -1 : 1;
  if (has_infinity) return std::copysign(kInfinity, sign);
  if (const auto beyond = MagnitudeBeyondRange(statistics)) return std::copysign(*beyond, sign);
  const int steps = StepsFor(statistics.absolute.min, statistics.absolute.max);
  ProductOfAll product;
  ForEachNumberBlock(view, part, [&](auto &block) {
    product.Multiply(steps == 0 ? SlowProduct(block) : block.Product(steps));
  });
  return product.Value();
}

}  // namespace smdebug::tensor
