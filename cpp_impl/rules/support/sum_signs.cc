#include "rules/support/sum_signs.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace smdebug::rules {
namespace {

// More elements cost more and show the same.
constexpr size_t kMostElements = 64;
constexpr size_t kLeastElements = 12;
// Updates that are smaller than this part of their mean may have any sign.
constexpr double kPartOfMean = 0.1;
constexpr double kFast = 0.9;
constexpr double kSlow = 0.99;
// Sums must agree with this share of the signs, and with so many more than gradients do.
constexpr double kAgreement = 0.97;
constexpr double kMoreThanGradients = 0.08;
// Of all signs, fewer more are enough: a slow average is nearly a sum, but not exactly.
constexpr double kFullAgreement = 0.99;
constexpr double kMoreIfFull = 0.03;
// A sum that starts again with the gradient of this step must agree with so many more signs: then
// gradients were reset.
constexpr double kMoreThanSum = 0.02;
// The first gradients and their sums are alike.
constexpr int64_t kFirstSteps = 6;
constexpr unsigned kLastTen = (1U << 10U) - 1;
constexpr int64_t kMostOfTen = 8;

std::vector<double> SomeOf(const std::vector<double> &elements) {
  const size_t stride = (elements.size() + kMostElements - 1) / kMostElements;
  std::vector<double> some;
  some.reserve(kMostElements);
  for (size_t i = 0; i < elements.size(); i += stride) some.push_back(elements[i]);
  return some;
}

}  // namespace

void SumSigns::Averages::Add(const std::vector<double> &input) {
  fast.resize(input.size());
  slow.resize(input.size());
  for (size_t i = 0; i < input.size(); ++i) {
    fast[i] = kFast * fast[i] + input[i];
    slow[i] = kSlow * slow[i] + (1 - kSlow) * input[i];
  }
}

double SumSigns::AgreementOf(const std::vector<double> &input, const Averages &before) const {
  std::array<size_t, 5> agree{};
  size_t count = 0;
  for (size_t i = 0; i < update_.size(); ++i) {
    if (update_[i] == 0) continue;
    ++count;
    const double fast = before.fast.empty() ? 0 : before.fast[i];
    const double slow = before.slow.empty() ? 0 : before.slow[i];
    const double x = input[i];
    const double momentum = kFast * fast + x;
    const std::array<double, 5> directions = {x, momentum, kFast * momentum + x,
                                              kFast * slow + (1 - kFast) * x,
                                              kSlow * slow + (1 - kSlow) * x};
    for (size_t j = 0; j < directions.size(); ++j) agree[j] += directions[j] * update_[i] < 0;
  }
  const size_t most = *std::max_element(agree.begin(), agree.end());
  return count == 0 ? 0 : static_cast<double>(most) / static_cast<double>(count);
}

int64_t SumSigns::StepsOfSums() const {
  const int64_t steps = std::popcount(last_);
  return steps >= kMostOfTen ? steps : 0;
}

void SumSigns::Evaluate() {
  ++steps_;
  const double by_gradient = AgreementOf(pending_, of_gradients_);
  of_gradients_.Add(pending_);
  sum_.resize(pending_.size());
  std::vector<double> longer = sum_;
  for (size_t i = 0; i < longer.size(); ++i) longer[i] += pending_[i];
  const double of_longer = AgreementOf(longer, of_sums_);
  const double of_reset = AgreementOf(pending_, of_sums_);
  const bool is_reset = of_reset > of_longer + kMoreThanSum;
  sum_ = is_reset ? pending_ : std::move(longer);
  of_sums_.Add(sum_);
  const double by_sum = is_reset ? of_reset : of_longer;
  const auto signs = static_cast<size_t>(
      std::count_if(update_.begin(), update_.end(), [](double each) { return each != 0; }));
  is_judged_ = steps_ > kFirstSteps && signs >= kLeastElements;
  const double more = by_sum - by_gradient;
  const bool is_sum = is_judged_ && ((by_sum >= kAgreement && more >= kMoreThanGradients) ||
                                     (by_sum >= kFullAgreement && more >= kMoreIfFull));
  last_ = ((last_ << 1U) | (is_sum ? 1U : 0U)) & kLastTen;
}

void SumSigns::Add(const std::vector<double> &weight, const std::vector<double> &gradient,
                   bool is_updated) {
  if (weight.size() != gradient.size() || weight.size() < kLeastElements) return Clear();
  std::vector<double> now = SomeOf(weight);
  std::vector<double> gradient_now = SomeOf(gradient);
  if (!weight_.empty() && weight_.size() != now.size()) Clear();
  if (!weight_.empty()) {
    const std::vector<double> &used = is_updated ? gradient_now : gradient_;
    pending_.resize(used.size());
    update_.resize(used.size());
    double sum = 0;
    // A gradient that is not finite, as loss scaling causes it, is not applied.
    const bool is_finite = std::isfinite(std::accumulate(used.begin(), used.end(), 0.0));
    for (size_t i = 0; i < used.size(); ++i) {
      if (is_finite) pending_[i] += used[i];
      update_[i] = now[i] - weight_[i];
      sum += std::fabs(update_[i]);
    }
    // Without a change, gradients of several batches are collected for one update.
    if (std::isfinite(sum) && sum > 0) {
      const double least = kPartOfMean * sum / static_cast<double>(update_.size());
      for (double &each : update_) each = std::fabs(each) < least ? 0 : each;
      Evaluate();
      pending_.clear();
    }
  }
  weight_ = std::move(now);
  gradient_ = std::move(gradient_now);
}

}  // namespace smdebug::rules
