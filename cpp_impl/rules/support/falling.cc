#include "rules/support/falling.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace smdebug::rules {
namespace {

constexpr size_t kMost = 50;
constexpr size_t kLeast = 4;
constexpr double kSignificance = 2;  // standard errors of the difference
constexpr double kLeastPart = 0.01;

struct Mean {
  double value;
  double squared_error;
};

Mean MeanOf(std::deque<double>::const_iterator at, size_t count) {
  const auto n = static_cast<double>(count);
  double sum = 0;
  double squares = 0;
  for (size_t i = 0; i < count; ++i, ++at) {
    sum += *at;
    squares += *at * *at;
  }
  return {sum / n, std::max(0.0, squares / n - sum / n * (sum / n)) / n};
}

}  // namespace

void Falling::Add(double loss) {
  if (!std::isfinite(loss)) return;
  losses_.push_back(loss);
  if (losses_.size() > kMost) losses_.pop_front();
}

int Falling::Direction() const {
  if (losses_.size() < kLeast) return 0;
  const size_t half = losses_.size() / 2;
  const Mean first = MeanOf(losses_.begin(), half);
  const Mean second =
      MeanOf(losses_.begin() + static_cast<std::ptrdiff_t>(half), losses_.size() - half);
  const double change = second.value - first.value;
  const bool is_clear =
      std::abs(change) > kSignificance * std::sqrt(first.squared_error + second.squared_error) &&
      std::abs(change) > kLeastPart * std::abs(first.value);
  return !is_clear ? 0 : change < 0 ? -1 : 1;
}

}  // namespace smdebug::rules
