// Floating-point formats for which C++20 has no types.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace smdebug::tensor {

// A format with one sign bit, then exponent bits, then mantissa bits.
struct SmallFloat {
  int exponent_bits;
  int mantissa_bits;
  // Without infinity, every exponent encodes numbers, and only the last code is NaN.
  bool has_infinity = true;

  constexpr int Bias() const { return (1 << (exponent_bits - 1)) - 1; }
  constexpr uint32_t SignBit() const { return uint32_t{1} << (exponent_bits + mantissa_bits); }
  constexpr uint32_t MantissaMask() const { return (uint32_t{1} << mantissa_bits) - 1; }
  constexpr uint32_t InfinityBits() const { return (SignBit() - 1) & ~MantissaMask(); }
  constexpr uint32_t NanBits() const {
    return has_infinity ? InfinityBits() | (uint32_t{1} << (mantissa_bits - 1)) : SignBit() - 1;
  }
  // Returns the bits of the largest finite number.
  constexpr uint32_t LargestBits() const {
    return has_infinity ? InfinityBits() - 1 : SignBit() - 2;
  }
};

inline constexpr SmallFloat kFloat16Format{5, 10};
inline constexpr SmallFloat kBFloat16Format{8, 7};
inline constexpr SmallFloat kFloat8E5M2Format{5, 2};
inline constexpr SmallFloat kFloat8E4M3FNFormat{4, 3, false};

// Returns the exact value.
inline double DecodeSmallFloat(SmallFloat format, uint32_t bits) {
  const uint32_t magnitude = bits & (format.SignBit() - 1);
  const double sign = (bits & format.SignBit()) != 0 ? -1.0 : 1.0;
  if (magnitude > format.LargestBits()) {
    const bool is_infinity = format.has_infinity && magnitude == format.InfinityBits();
    return is_infinity ? sign * std::numeric_limits<double>::infinity()
                       : std::numeric_limits<double>::quiet_NaN();
  }
  const auto exponent = static_cast<int>(magnitude >> format.mantissa_bits);
  const uint32_t fraction = magnitude & format.MantissaMask();
  const uint32_t mantissa = exponent == 0 ? fraction : fraction | (format.MantissaMask() + 1);
  const int scale = (exponent == 0 ? 1 : exponent) - format.Bias() - format.mantissa_bits;
  return sign * std::ldexp(static_cast<double>(mantissa), scale);
}

// Rounds once, to nearest, ties to even.  A number that is too large becomes infinity, or
// NaN if the format has no infinity.
inline uint32_t EncodeSmallFloat(SmallFloat format, double value) {
  const uint32_t sign = std::signbit(value) ? format.SignBit() : 0;
  if (std::isnan(value)) return sign | format.NanBits();
  const uint32_t overflow = format.has_infinity ? format.InfinityBits() : format.NanBits();
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  if (std::isinf(magnitude)) return sign | overflow;
  const int lowest = 1 - format.Bias();
  const int exponent = std::max(std::ilogb(magnitude), lowest);
  // Steps of the format at this exponent; nearbyint rounds ties to even.
  const auto steps =
      static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - exponent)));
  // The implicit bit of a normal number, and a carry out of the mantissa, add to the
  // exponent field.
  const uint32_t bits = (static_cast<uint32_t>(exponent - lowest) << format.mantissa_bits) + steps;
  return sign | (bits > format.LargestBits() ? overflow : bits);
}

}  // namespace smdebug::tensor
