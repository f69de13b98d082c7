// Statistics and reductions of a tensor's elements.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "tensor/reduction.h"
#include "tensor/value.h"
#include "tensor/view.h"

namespace smdebug::tensor {

enum class Part : uint8_t;  // see blocks.h

// Statistics computed in double, from elements read in place.  For 16-bit floats, the error of
// a sum is at most 2^-20 of the sum of magnitudes, and the relative error of a variance is at
// most 2^-13.  A NaN element makes every figure that depends on it NaN, as in NumPy.
struct Statistics {
  int64_t count = 0;
  int64_t nan_count = 0;
  int64_t inf_count = 0;
  int64_t zero_count = 0;
  bool is_odd = false;  // the number of negative elements is odd; only if none is 0 or NaN
  // Without elements, `sum` is 0 and the others are NaN.
  struct Moments {
    double min;
    double max;
    double mean;
    double variance;  // ddof 0
    double sum;
  };
  Moments plain{};     // of the elements
  Moments absolute{};  // of their absolute values
  double l1 = 0;       // sum of absolute values
  double l2 = 0;       // root of the sum of squares; intermediate results do not overflow
};

// Computes the statistics of a real, numeric view in one pass, strided or compact.  Bool
// elements count as 0 and 1.
// Fails: UNSUPPORTED (complex, text).
Result<Statistics> ComputeStatistics(const View &view);

// Returns a reduction of real elements of type `dtype` with the dtype that Reducer::Compute() gives
// it.  A number that this dtype cannot hold, such as an integer beyond 2^53, becomes a float64.
Value ReductionValue(DType dtype, ReductionKind kind, double number);

// Computes single reductions of one tensor.  Computes the statistics, the product and the
// median when they are first needed, then keeps them.  Only one thread may use a reducer.
class Reducer {
 public:
  // The type of reductions of float16: float32, or NumPy's: float16 if it can hold them.
  enum class Halves : uint8_t { kWidened, kAsNumpy };

  // `view` must outlive the reducer.
  explicit Reducer(const View &view, Halves halves = Halves::kWidened)
      : view_(view), halves_(halves) {}

  // Returns the reduction as NumPy computes it: without dimensions and with NumPy's dtype.
  // Integer sums and products wrap around as int64 or uint64.  Those of 16-bit and 8-bit floats
  // are float32, but see Halves.  l1 and l2 are entry-wise, for complex numbers too.
  // Fails: INVALID_ARGUMENT (min, max, median of no elements), UNSUPPORTED (text; the
  // median of complex numbers).
  Result<Value> Compute(Reduction reduction);

 private:
  Value ComputeComplex(Reduction reduction);
  Value ComputeInteger(Reduction reduction);
  bool Wraps(Reduction reduction);
  Value IntegerTotal(Reduction reduction);
  Value IntegerExtreme(Reduction reduction);
  double Number(Part part, Reduction reduction);
  double Product(Part part);
  double Median(Part part, bool absolute);
  const Statistics &StatisticsOf(Part part);

  View view_;
  Halves halves_;
  std::optional<Statistics> statistics_[4];  // by Part
  std::optional<double> product_;
  std::optional<double> medians_[2];  // of the elements, of their absolute values
};

}  // namespace smdebug::tensor
