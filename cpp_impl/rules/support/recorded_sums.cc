#include "rules/support/recorded_sums.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
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

void RecordedSums::Restart(const std::vector<double> &gradient) {
  last_ = gradient;
  increment_.clear();
  first_norm_ = norm_;
  steps_ = 0;
}

void RecordedSums::AddToAverages(const std::vector<double> &gradient) {
  std::vector<double> increment;
  if (norm_ > 0 && gradient.size() == previous_.size()) {
    increment.resize(gradient.size());
    for (size_t i = 0; i < gradient.size(); ++i) increment[i] = gradient[i] - previous_[i];
  } else {
    averaged_ = 0;
    previous_increment_.clear();
  }
  if (!previous_increment_.empty() && !increment_before_.empty()) {
    const double of_step = std::max(kOfStep, 1.0 / static_cast<double>(++averaged_));
    const auto average = [&](double value, double *mean) { *mean += of_step * (value - *mean); };
    average(CosineOf(gradient, previous_), &averages_.cosine);
    average(CosineOf(increment, previous_increment_), &averages_.next);
    average(CosineOf(increment, increment_before_), &averages_.second);
  }
  previous_ = gradient;
  increment_before_ = std::exchange(previous_increment_, std::move(increment));
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
  AddToAverages(gradient);
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
