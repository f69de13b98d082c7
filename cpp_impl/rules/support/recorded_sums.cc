#include "rules/support/recorded_sums.h"

#include <cmath>
#include <utility>

#include "rules/support/products.h"

namespace smdebug::rules {
namespace {

constexpr double kLeastCosine = 0.8;
// Cosines of one increment and the next.  Of noise it is -0.5, of a smooth drift nearly 1.
constexpr double kLeastOfIncrements = -0.3;
constexpr double kMostOfIncrements = 0.75;
constexpr size_t kLeastElements = 12;

}  // namespace

void RecordedSums::Restart(const std::vector<double> &gradient) {
  last_ = gradient;
  increment_.clear();
  first_norm_ = norm_;
  steps_ = 0;
}

void RecordedSums::Add(const std::vector<double> &gradient) {
  const double squares = Product(gradient, gradient);
  norm_ = gradient.size() < kLeastElements || !std::isfinite(squares) ? 0 : std::sqrt(squares);
  if (!(CosineOf(gradient, last_) > kLeastCosine)) return Restart(gradient);
  std::vector<double> increment(gradient.size());
  for (size_t i = 0; i < gradient.size(); ++i) increment[i] = gradient[i] - last_[i];
  const double cosine = CosineOf(increment, increment_);
  const bool is_first = increment_.empty();
  const bool is_sum = cosine > kLeastOfIncrements && cosine < kMostOfIncrements;
  if (!is_first && !is_sum) return Restart(gradient);
  if (!is_first) ++steps_;
  last_ = gradient;
  increment_ = std::move(increment);
}

}  // namespace smdebug::rules
