#include "rules/support/class_weights.h"

#include <algorithm>
#include <cmath>

namespace smdebug::rules {
namespace {

constexpr size_t kMostClasses = 4'096;
constexpr double kLeastLabels = 200;
constexpr double kMostLabels = 100'000;
constexpr double kLeastOfClass = 5;
constexpr double kCorrelation = 0.8;

}  // namespace

void ClassWeights::Set(std::vector<double> weights) {
  if (weights.size() > kMostClasses) weights.clear();
  if (weights.size() != counts_.size()) {
    counts_.assign(weights.size(), 0);
    labels_ = 0;
  }
  weights_ = std::move(weights);
}

std::optional<ClassWeights::Reversed> ClassWeights::Add(std::span<const double> labels) {
  if (weights_.empty()) return {};
  for (const double label : labels) {
    if (labels_ >= kMostLabels) break;
    const bool is_class = label >= 0 && label < static_cast<double>(counts_.size());
    if (!is_class || label != std::floor(label)) continue;
    ++counts_[static_cast<size_t>(label)];
    ++labels_;
  }
  std::vector<size_t> seen;
  for (size_t i = 0; i < counts_.size(); ++i) {
    // A weight of 0 leaves a class out.
    if (counts_[i] >= kLeastOfClass && weights_[i] > 0 && std::isfinite(weights_[i])) {
      seen.push_back(i);
    }
  }
  if (labels_ < kLeastLabels || seen.size() < 2) return {};
  const auto [rare, common] = std::minmax_element(
      seen.begin(), seen.end(), [&](size_t a, size_t b) { return counts_[a] < counts_[b]; });
  const Reversed reversed{static_cast<int64_t>(*common), static_cast<int64_t>(*rare),
                          counts_[*common] / counts_[*rare], weights_[*common] / weights_[*rare]};
  const bool differ = reversed.more_frequent >= kTimes && reversed.more_weight >= kTimes;
  if (!differ || !GrowWithCounts(seen)) return {};
  return reversed;
}

// Reports whether the logarithms of weights and counts are correlated.
bool ClassWeights::GrowWithCounts(const std::vector<size_t> &seen) const {
  double mean_count = 0;
  double mean_weight = 0;
  for (const size_t each : seen) {
    mean_count += std::log(counts_[each]);
    mean_weight += std::log(weights_[each]);
  }
  mean_count /= static_cast<double>(seen.size());
  mean_weight /= static_cast<double>(seen.size());
  double both = 0;
  double of_counts = 0;
  double of_weights = 0;
  for (const size_t each : seen) {
    const double count = std::log(counts_[each]) - mean_count;
    const double weight = std::log(weights_[each]) - mean_weight;
    both += count * weight;
    of_counts += count * count;
    of_weights += weight * weight;
  }
  return both > kCorrelation * std::sqrt(of_counts * of_weights);
}

}  // namespace smdebug::rules
