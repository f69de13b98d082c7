#include "rules/support/loss_curve.h"

#include <algorithm>
#include <cmath>

namespace smdebug::rules {
namespace {

// A fall of the mean counts if it exceeds its standard error by this factor.
constexpr double kSignificantFall = 2;
constexpr size_t kMostLosses = 20;
constexpr size_t kMostPointsOfShape = 64;
constexpr size_t kLeastPointsOfShape = 4;
constexpr double kSteeper = 2;

}  // namespace

void CurveShape::Add(double value) {
  if (added_++ % every_ == 0) points_.push_back(value);
  if (points_.size() < kMostPointsOfShape) return;
  for (size_t i = 0; i < kMostPointsOfShape / 2; ++i) points_[i] = points_[2 * i];
  points_.resize(kMostPointsOfShape / 2);
  every_ *= 2;
}

bool CurveShape::Steepens() const {
  if (points_.size() < kLeastPointsOfShape) return false;
  const double middle = points_[points_.size() / 2];
  const double fall = points_.front() - middle;
  return fall > 0 && middle - points_.back() > kSteeper * fall;
}

// The mean and the spread of some losses.
class LossCurve::Spread {
 public:
  void Add(double value) {
    sum_ += value;
    squares_ += value * value;
    ++count_;
  }
  double Mean() const { return sum_ / static_cast<double>(count_); }
  double SquaredError() const {
    const auto count = static_cast<double>(count_);
    return std::max(0.0, squares_ / count - Mean() * Mean()) / count;
  }

 private:
  double sum_ = 0;
  double squares_ = 0;
  int64_t count_ = 0;
};

double LossCurve::MedianOf(const Point &begin, int64_t count) {
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) values.push_back((begin + i)->second);
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  if (values.size() % 2 != 0) return values[middle];
  return (values[middle - 1] + values[middle]) / 2;
}

void LossCurve::Add(int64_t step, double value, const CurveWindow &compared) {
  const auto [num_steps, window] = compared;
  points_.emplace_back(step, value);
  if (first_step_ < 0) {
    first_step_ = step;
    first_loss_ = value;
  }
  ++losses_;
  was_below_0_ |= value < 0;
  was_above_0_ |= value > 0;
  if (first_losses_.size() < kMostLosses) first_losses_.push_back(value);
  last_losses_.push_back(value);
  if (last_losses_.size() > kMostLosses) last_losses_.pop_front();
  // `before_` is one past the newest point that is far enough back, and older than the newest
  // window, which is longer where few steps are saved.
  while (static_cast<int64_t>(before_) + window < Count() &&
         points_[before_].first <= step - num_steps) {
    ++before_;
  }
  if (!first_ && Count() == window) first_ = MedianOf(points_.begin(), window);
  while (before_ > static_cast<size_t>(window)) {
    points_.pop_front();
    --before_;
  }
}

std::optional<LossComparison> LossCurve::Compare(const CurveWindow &compared) {
  const auto [num_steps, window] = compared;
  const int64_t step = points_.back().first;
  const auto count = static_cast<int64_t>(before_);
  if (count < window || Count() - count < window || step < next_) return {};
  next_ = step + num_steps;
  const auto newest = points_.cend() - window;
  const auto before = points_.cbegin() + (count - window);
  const double now = MedianOf(newest, window);
  shape_.Add(now);
  return LossComparison{now,
                        MedianOf(before, window),
                        points_[before_ - 1].first,
                        first_.value_or(0),
                        first_step_ <= num_steps,
                        FallOf(-kSignificantFall) > 0,
                        MostFall(),
                        first_loss_,
                        step - first_step_,
                        ErrorOf(newest, before, window),
                        was_below_0_,
                        was_above_0_,
                        shape_.Steepens()};
}

double LossCurve::ErrorOf(const Point &now, const Point &before, int64_t count) {
  Spread of_now;
  Spread of_before;
  for (int64_t i = 0; i < count; ++i) {
    of_now.Add((now + i)->second);
    of_before.Add((before + i)->second);
  }
  return std::sqrt(of_now.SquaredError() + of_before.SquaredError());
}

// Fewer where the last ones would be among the first.
size_t LossCurve::Compared() const { return std::clamp<size_t>(losses_ / 2, 1, kMostLosses); }

LossCurve::Spread LossCurve::First() const {
  Spread first;
  for (size_t i = 0; i < Compared(); ++i) first.Add(first_losses_[i]);
  return first;
}

LossCurve::Spread LossCurve::Last() const {
  Spread last;
  for (size_t i = 0; i < Compared(); ++i) last.Add(last_losses_[last_losses_.size() - 1 - i]);
  return last;
}

double LossCurve::FallOf(double errors) const {
  const Spread first = First();
  const Spread last = Last();
  return first.Mean() - last.Mean() +
         errors * std::sqrt(first.SquaredError() + last.SquaredError());
}

double LossCurve::MostFall() const {
  const double first = std::abs(First().Mean());
  return first > 0 ? 100 * FallOf(kSignificantFall) / first : 0;
}

}  // namespace smdebug::rules
