#include "rules/support/recorded_sums.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <utility>

#include "rules/support/products.h"

namespace smdebug::rules {
namespace {

constexpr double kLeastCosine = 0.8;
// Cosines of one increment and the next.  Of noise it is -0.5, of a smooth drift nearly 1.
constexpr double kLeastOfIncrements = -0.3;
constexpr double kMostOfIncrements = 0.75;
constexpr size_t kLeastElements = 12;

// Averages weigh a step by this, after at least kLeastAveraged steps.
constexpr double kOfStep = 1.0 / 12;
constexpr int64_t kLeastAveraged = 20;
constexpr double kLeastMeanCosine = 0.7;
constexpr double kLeastMeanOfIncrements = -0.42;
constexpr double kMostOfDrift = 0.3;  // of 3 c2 - 2 c1
constexpr double kMostFall = 0.12;    // from c1 to c2; of oscillations c2 is lower
// Averages change slowly, and those of a healthy training may look like sums for a few steps.
constexpr int64_t kLeastSteps = 20;
constexpr int64_t kLeastStepsIfAlike = 12;
constexpr double kAlike = 0.8;

double MedianOf(const std::vector<RecordedSums::Averages> &of_step,
                double RecordedSums::Averages::*field) {
  std::vector<double> values;
  values.reserve(of_step.size());
  for (const RecordedSums::Averages &each : of_step) values.push_back(each.*field);
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

void RecordedSums::Restart() {
  adds_up_ = false;
  first_norm_ = norm_;
  steps_ = 0;
}

// One pass, since at each step all this memory has left the cache.
RecordedSums::Cosines RecordedSums::Advance(const std::vector<double> &gradient) {
  increment_.resize(gradient.size());
  increment_before_.resize(gradient.size());
  constexpr size_t kLanes = 4;
  double sums[4][kLanes] = {};
  const auto add = [&](size_t i, size_t lane) {
    const double increment = gradient[i] - last_[i];
    sums[0][lane] += gradient[i] * last_[i];
    sums[1][lane] += increment * increment;
    sums[2][lane] += increment * increment_[i];
    sums[3][lane] += increment * increment_before_[i];
    increment_before_[i] = increment;
    last_[i] = gradient[i];
  };
  size_t i = 0;
  for (; i + kLanes <= gradient.size(); i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) add(i + lane, lane);
  }
  for (; i < gradient.size(); ++i) add(i, 0);
  const auto total = [&](size_t of) {
    return std::accumulate(std::begin(sums[of]), std::end(sums[of]), 0.0);
  };
  const auto cosine = [](double product, double a_squares, double b_squares) {
    const double norms = std::sqrt(a_squares) * std::sqrt(b_squares);
    return norms > 0 ? product / norms : 0;
  };
  const double squares = total(1);
  const Cosines cosines{cosine(total(0), norm_ * norm_, last_squares_),
                        cosine(total(2), squares, increment_squares_),
                        cosine(total(3), squares, squares_before_)};
  increment_.swap(increment_before_);
  squares_before_ = std::exchange(increment_squares_, squares);
  last_squares_ = norm_ * norm_;
  return cosines;
}

void RecordedSums::AddToAverages(const Cosines &cosines) {
  const double of_step = std::max(kOfStep, 1.0 / static_cast<double>(++averaged_));
  const auto average = [&](double value, double *mean) { *mean += of_step * (value - *mean); };
  average(cosines.of_gradients, &averages_.cosine);
  average(cosines.next, &averages_.next);
  average(cosines.second, &averages_.second);
}

std::optional<RecordedSums::Averages> RecordedSums::GetAverages() const {
  return norm_ > 0 && averaged_ >= kLeastAveraged ? std::optional(averages_) : std::nullopt;
}

void SumsOnAverage::Add(const RecordedSums &gradient) {
  if (const auto averages = gradient.GetAverages()) of_step_.push_back(*averages);
}

int64_t SumsOnAverage::EndStep() {
  if (of_step_.empty()) return steps_ = 0;
  const double cosine = MedianOf(of_step_, &RecordedSums::Averages::cosine);
  const double next = MedianOf(of_step_, &RecordedSums::Averages::next);
  const double second = MedianOf(of_step_, &RecordedSums::Averages::second);
  of_step_.clear();
  const bool are_sums = cosine > kLeastMeanCosine && next > kLeastMeanOfIncrements &&
                        next < kMostOfIncrements && 3 * second - 2 * next < kMostOfDrift &&
                        second > next - kMostFall;
  steps_ = are_sums ? steps_ + 1 : 0;
  return steps_ >= (cosine > kAlike ? kLeastStepsIfAlike : kLeastSteps) ? steps_ : 0;
}

void RecordedSums::Add(const std::vector<double> &gradient) {
  const double squares = Product(gradient, gradient);
  norm_ = gradient.size() < kLeastElements || !std::isfinite(squares) ? 0 : std::sqrt(squares);
  if (!(norm_ > 0) || gradient.size() != last_.size()) {
    last_ = gradient;
    last_squares_ = squares;
    increments_ = 0;
    averaged_ = 0;
    return Restart();
  }
  const Cosines cosines = Advance(gradient);
  if (increments_ == 2) AddToAverages(cosines);
  increments_ = std::min(increments_ + 1, 2);
  if (!(cosines.of_gradients > kLeastCosine)) return Restart();
  const bool is_sum = cosines.next > kLeastOfIncrements && cosines.next < kMostOfIncrements;
  if (adds_up_ && !is_sum) return Restart();
  if (adds_up_) ++steps_;
  adds_up_ = true;
}

}  // namespace smdebug::rules
