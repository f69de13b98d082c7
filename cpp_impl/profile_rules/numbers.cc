#include "profile_rules/numbers.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace smdebug::profile_rules {

Quantiles::Quantiles(std::span<const double> numbers) : sorted_(numbers.begin(), numbers.end()) {
  std::sort(sorted_.begin(), sorted_.end());
}

double Quantiles::At(double share) const {
  if (sorted_.empty()) return 0;
  const double place = share * static_cast<double>(sorted_.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted_.size() - 1);
  const double part = place - static_cast<double>(below);
  const double distance = sorted_[above] - sorted_[below];
  return part < 0.5 ? sorted_[below] + distance * part : sorted_[above] - distance * (1 - part);
}

double QuantileOf(std::span<const double> numbers, double share) {
  return Quantiles(numbers).At(share);
}

double Mean(std::span<const double> numbers) {
  if (numbers.empty()) return 0;
  return std::accumulate(numbers.begin(), numbers.end(), 0.0) / static_cast<double>(numbers.size());
}

double Deviation(std::span<const double> numbers) {
  if (numbers.empty()) return 0;
  const double mean = Mean(numbers);
  double sum = 0;
  for (const double number : numbers) sum += (number - mean) * (number - mean);
  return std::sqrt(sum / static_cast<double>(numbers.size()));
}

void AddBoxPlot(const Quantiles &values, double box_p25, Json *out) {
  const double p25 = values.At(0.25);
  const double p75 = values.At(0.75);
  (*out)["p25"] = p25;
  (*out)["p50"] = values.At(0.5);
  (*out)["p75"] = p75;
  (*out)["p95"] = values.At(0.95);
  const double height = p75 - box_p25;
  (*out)["upper"] = std::min(p75 + 1.5 * height, values.Most());
  (*out)["lower"] = std::max(p25 - 1.5 * height, values.Least());
}

void AddHistogram(std::span<const double> numbers, Json *out) {
  constexpr size_t kBins = 100;
  double first = 0;
  double last = 1;
  if (!numbers.empty()) {
    const auto [least, most] = std::minmax_element(numbers.begin(), numbers.end());
    first = *least;
    last = *most;
    if (first == last) {
      first -= 0.5;
      last += 0.5;
    }
  }
  std::vector<double> edges(kBins + 1);
  const double width = (last - first) / kBins;
  for (size_t i = 0; i <= kBins; ++i) edges[i] = first + static_cast<double>(i) * width;
  edges.back() = last;
  std::vector<int64_t> counts(kBins, 0);
  for (const double number : numbers) {
    auto bin = static_cast<size_t>((number - first) * (kBins / (last - first)));
    bin = std::min(bin, kBins - 1);
    if (bin > 0 && number < edges[bin]) --bin;
    if (bin + 1 < kBins && number >= edges[bin + 1]) ++bin;
    ++counts[bin];
  }
  Json probabilities = Json::Array();
  for (const int64_t count : counts) probabilities.Add(count);
  Json ends = Json::Array();
  for (const double edge : edges) ends.Add(edge);
  (*out)["probs"] = std::move(probabilities);
  (*out)["binedges"] = std::move(ends);
}

}  // namespace smdebug::profile_rules
