// What is asked of a tensor's elements, in one pass over them.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "tensor/reduction.h"
#include "tensor/value.h"
#include "tensor/view.h"

namespace smdebug::tensor {

enum class Part : uint8_t;  // of an element, see blocks.h

// Computed in double from elements read in place.  Of 16-bit floats, sums may be off by 2^-20
// of the magnitudes added up, and variances by 2^-13 of themselves.  Not a number anywhere
// makes every figure that depends on it not a number, as in NumPy.
struct Statistics {
  int64_t count = 0;
  int64_t nan_count = 0;
  int64_t inf_count = 0;
  int64_t zero_count = 0;
  bool is_odd = false;  // in number of negative elements, if none is 0 or NaN
  // Of the elements and of their absolute values.  Of no elements: NaN but for sum (0).
  struct Moments {
    double min;
    double max;
    double mean;
    double variance;  // ddof 0
    double sum;
  };
  Moments plain{};
  Moments absolute{};
  double l1 = 0;  // sum of absolute values
  double l2 = 0;  // root of the sum of their squares, without overflow in between
};

// One pass over a real, numeric view, strided or compact (bool counts as 0 and 1).
// Fails: UNSUPPORTED (complex, text).
Result<Statistics> ComputeStatistics(const View &view);

// Computes single reductions of one tensor; statistics, the product and the median are
// made when first asked for, then kept.  Not for several threads.
class Reducer {
 public:
  // `view` must outlive the reducer.
  explicit Reducer(const View &view) : view_(view) {}

  // The reduction as NumPy gives it: no dimensions, NumPy's dtype for it (integer
  // sums and products wrap around as int64 or uint64; float16 stays float16; l1 and
  // l2 are entry-wise, of complex numbers too).
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
  std::optional<Statistics> statistics_[4];  // by Part
  std::optional<double> product_;
  std::optional<double> medians_[2];  // of the elements, of their absolute values
};

}  // namespace smdebug::tensor
