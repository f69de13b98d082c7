// Folds that doubles cannot do: 64-bit integers with wrap-around, complex products.
#pragma once

#include <complex>
#include <cstdint>

#include "tensor/value.h"
#include "tensor/view.h"

namespace smdebug::tensor {

// Of integers or bool, modulo 2 to the 64: the bits of NumPy's int64 or uint64.  With
// `absolute`, of absolute values in the elements' own type, where the least number is
// its own.
uint64_t IntegerSum(const View &view, bool absolute);
uint64_t IntegerProduct(const View &view, bool absolute);

// The least and the greatest of integers, as bits of the elements' type sign-extended
// to 64 bits.  There is at least one.
struct IntegerRange {
  uint64_t min;
  uint64_t max;
};
IntegerRange RangeOfIntegers(const View &view);

// Absolute values of signed integers, in their own type.
Value AbsoluteIntegers(const View &view);

std::complex<double> ComplexProduct(const View &view);

// The least or the largest by real, then imaginary part, as NumPy orders them; the first
// that is not a number, if there is one.  Not of no elements.
std::complex<double> ComplexExtreme(const View &view, bool is_max);

}  // namespace smdebug::tensor
