// Reductions that need more than doubles: 64-bit integers that wrap around, and complex
// numbers.
#pragma once

#include <complex>
#include <cstdint>

#include "tensor/value.h"
#include "tensor/view.h"

namespace smdebug::tensor {

// Return the sum and the product of integer or bool elements modulo 2^64, as the bits of
// NumPy's int64 or uint64.  If `absolute` is true, the absolute values are taken first, in
// the elements' type, where the least number is its own absolute value.
uint64_t IntegerSum(const View &view, bool absolute);
uint64_t IntegerProduct(const View &view, bool absolute);

// The least and the greatest integer, as bits of the elements' type sign-extended to 64
// bits.
struct IntegerRange {
  uint64_t min;
  uint64_t max;
};
// The view must have at least one element.
IntegerRange RangeOfIntegers(const View &view);

// Returns the absolute values of signed integers, in the same type.
Value AbsoluteIntegers(const View &view);

std::complex<double> ComplexProduct(const View &view);

// Returns the least or the greatest element by real part, then by imaginary part, as NumPy
// does.  If an element is NaN, returns the first NaN.  The view must not be empty.
std::complex<double> ComplexExtreme(const View &view, bool is_max);

}  // namespace smdebug::tensor
