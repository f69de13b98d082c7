#include "rules/support/products.h"

#include <cmath>
#include <cstddef>
#include <iterator>
#include <numeric>

namespace smdebug::rules {

// Keeps several independent sums, so that no addition waits for the previous one.
double Product(const std::vector<double> &a, const std::vector<double> &b) {
  constexpr size_t kLanes = 8;
  double products[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= a.size(); i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) products[lane] += a[i + lane] * b[i + lane];
  }
  for (; i < a.size(); ++i) products[0] += a[i] * b[i];
  return std::accumulate(std::begin(products), std::end(products), 0.0);
}

double CosineOf(const std::vector<double> &a, const std::vector<double> &b) {
  if (a.size() != b.size()) return 0;
  const double norms = std::sqrt(Product(a, a)) * std::sqrt(Product(b, b));
  return norms > 0 ? Product(a, b) / norms : 0;
}

bool Cancel(const std::vector<double> &a, const std::vector<double> &b) {
  constexpr double kRounding = 1e-6;
  double sum = 0;
  double size = 0;
  for (size_t i = 0; i < a.size() && a.size() == b.size(); ++i) {
    sum += std::abs(a[i] + b[i]);
    size += std::abs(a[i]);
  }
  return size > 0 && sum <= kRounding * size;
}

}  // namespace smdebug::rules
