// Vectorised loops over blocks of elements, compiled for every instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

namespace smdebug::tensor {

// The most elements a block may have; they stay in the first-level cache.
inline constexpr size_t kBlockElements = 2048;

// A number beyond the range of double: `mantissa` times 2 to the `exponent`.
struct WideProduct {
  double mantissa = 1;
  int64_t exponent = 0;
};

// If there is an infinity or what is not a number, so is `abs_sum`, and the rest may be
// anything.  Added in double; of 16-bit floats sixteen at a time in float first, by which both
// sums are off by at most 2^-20 of `abs_sum`, and `squares` by as much of itself.
struct BlockSums {
  double sum;
  double abs_sum;
  double squares;
  double min;
  double max;
  double abs_min;
  bool is_odd;  // in number of minus signs
};

// Exponents are taken out of products every so many `steps`, 1 to 16, so that they stay
// within double's range.  Fewer steps take more time.
inline constexpr int kProductBits = 960;
inline constexpr int kMostSteps = 16;

// Of distances from a centre.
struct BlockDeviations {
  double sum;
  double squares;
};

// What there is besides sums where these are not finite; `min`, `max` and `abs_min` are
// of what is a number.
struct BlockCounts {
  int64_t nans;
  int64_t positive_infinities;
  int64_t negative_infinities;
  int64_t negatives;
  double min;
  double max;
  double abs_min;
};

// For elements of type T.
template <class T>
struct BlockKernels {
  // Of the elements or of their absolute values.
  BlockDeviations (*deviations)(const T *x, size_t count, double centre, bool absolute);
  int64_t (*zeros)(const T *x, size_t count);
  BlockCounts (*counts)(const T *x, size_t count);
  // Right if no factor is zero and all magnitudes lie within 2 to the plus or minus
  // kProductBits / steps.
  WideProduct (*product)(const T *x, size_t count, int steps);
};

// For elements of some type that T can hold, aligned for that type.  Exact, but for
// 64-bit integers, which are rounded.
template <class T>
struct ElementKernels {
  BlockSums (*sums)(const std::byte *elements, size_t count);
  // NULL if the elements are T already.
  void (*widen)(const std::byte *elements, size_t count, T *out);
};

struct Kernels {
  BlockKernels<float> on_float;
  BlockKernels<double> on_double;
  ElementKernels<float> of_float32;
  ElementKernels<float> of_float16;
  ElementKernels<float> of_bfloat16;
  ElementKernels<float> of_int8;
  ElementKernels<float> of_uint8;
  ElementKernels<float> of_int16;
  ElementKernels<float> of_uint16;
  ElementKernels<float> of_bool;
  ElementKernels<double> of_float64;
  ElementKernels<double> of_int32;
  ElementKernels<double> of_uint32;
  ElementKernels<double> of_int64;
  ElementKernels<double> of_uint64;
};

// For the best instruction set of this machine.
const Kernels &GetKernels();

}  // namespace smdebug::tensor
