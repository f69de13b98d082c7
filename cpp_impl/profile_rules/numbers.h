// Statistics, as numpy computes them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "profile_rules/json_tree.h"

namespace smdebug::profile_rules {

// Several quantiles of the same numbers, with linear interpolation.
class Quantiles {
 public:
  explicit Quantiles(std::span<const double> numbers);

  // 0 if there are no numbers.
  double At(double share) const;
  double Least() const { return At(0); }
  double Most() const { return At(1); }

 private:
  std::vector<double> sorted_;
};

// The last `count` numbers, or all.
inline std::span<const double> Last(std::span<const double> numbers, size_t count) {
  return numbers.size() > count ? numbers.last(count) : numbers;
}

double QuantileOf(std::span<const double> numbers, double share);
double Mean(std::span<const double> numbers);
double Deviation(std::span<const double> numbers);  // of the whole, not of a sample

// Adds "p25", "p50", "p75", "p95", and the ends of a box plot's whiskers: "upper", "lower".
// `box_p25` is the quartile from which the height of the box is computed.
void AddBoxPlot(const Quantiles &values, double box_p25, Json *out);

// Counts in 100 bins of equal width between the least and the greatest number.  Adds "probs" and
// "binedges".
void AddHistogram(std::span<const double> numbers, Json *out);

}  // namespace smdebug::profile_rules
