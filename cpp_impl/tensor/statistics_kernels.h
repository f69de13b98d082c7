// Vectorised loops over blocks of elements, compiled once for each instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

namespace smdebug::tensor {

// The greatest number of elements in a block.  A block fits the first-level cache.
inline constexpr size_t kBlockElements = 2048;

// A number beyond the range of double: `mantissa` times 2 to the `exponent`.
struct WideProduct {
  double mantissa = 1;
  int64_t exponent = 0;
};

// If an element is infinite or NaN, `abs_sum` is too, and the other members are unspecified.
// Sums are computed in double.  For 16-bit floats, sixteen at a time are added in float
// first: the error of both sums is at most 2^-20 of `abs_sum`, and the relative error of
// `squares` is at most 2^-20.
struct BlockSums {
  double sum;
  double abs_sum;
  double squares;
  double min;
  double max;
  double abs_min;
  bool is_odd;  // the number of minus signs is odd
};

// A product moves its exponent to an integer after each `steps` factors (1 to 16), so that
// it stays within double's range.  Fewer steps take more time.
inline constexpr int kProductBits = 960;
inline constexpr int kMostSteps = 16;

// Sums over the distances from a centre.
struct BlockDeviations {
  double sum;
  double squares;
};

// The statistics of a block with a non-finite element.  `min`, `max` and `abs_min` ignore
// NaN.
struct BlockCounts {
  int64_t nans;
  int64_t positive_infinities;
  int64_t negative_infinities;
  int64_t negatives;
  double min;
  double max;
  double abs_min;
};

// Loops over elements of type T.
template <class T>
struct BlockKernels {
  // If `absolute` is true, uses the absolute values of the elements.
  BlockDeviations (*deviations)(const T *x, size_t count, double centre, bool absolute);
  int64_t (*zeros)(const T *x, size_t count);
  BlockCounts (*counts)(const T *x, size_t count);
  // Correct only if no factor is zero and every magnitude is within 2 to the plus or minus
  // kProductBits / steps.
  WideProduct (*product)(const T *x, size_t count, int steps);
};

// Loops over elements of another type that T can hold, aligned for that type.  Conversion is
// exact, except that 64-bit integers are rounded.
template <class T>
struct ElementKernels {
  BlockSums (*sums)(const std::byte *elements, size_t count);
  // NULL if the elements are of type T.
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

// Returns the loops for the best instruction set of this machine.
const Kernels &GetKernels();

}  // namespace smdebug::tensor
