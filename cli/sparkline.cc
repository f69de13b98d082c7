#include "sparkline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace smdebug::cli {
namespace {

constexpr std::array kLevels = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr double kFarApart = 1000;  // the ratio of the largest to the smallest

struct Range {
  double least_positive = std::numeric_limits<double>::infinity();
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();

  void Add(double number) {
    if (!std::isfinite(number)) return;
    least = std::min(least, number);
    if (number > 0) least_positive = std::min(least_positive, number);
    most = std::max(most, number);
  }
};

Range RangeOf(const std::vector<double> &numbers) {
  Range range;
  for (const double number : numbers) range.Add(number);
  return range;
}

std::vector<double> Buckets(const std::vector<double> &numbers, size_t count) {
  std::vector<double> means;
  for (size_t i = 0; i < count; ++i) {
    const size_t first = i * numbers.size() / count;
    const size_t end = (i + 1) * numbers.size() / count;
    double sum = 0;
    for (size_t k = first; k < end; ++k) sum += numbers[k] / static_cast<double>(end - first);
    means.push_back(sum);
  }
  return means;
}

}  // namespace

Sparkline DrawSparkline(const std::vector<double> &numbers, size_t width) {
  Sparkline drawn;
  const Range given = RangeOf(numbers);
  drawn.is_logarithmic = given.least >= 0 && given.most / given.least_positive >= kFarApart;
  std::vector<double> scaled = numbers;
  if (drawn.is_logarithmic) {
    // Zeros are drawn at the level of the smallest number.
    for (double &number : scaled) {
      if (number < given.least_positive) number = given.least_positive;
      number = std::log(number);
    }
  }
  const std::vector<double> buckets = Buckets(scaled, std::min(width, numbers.size()));
  const Range range = RangeOf(buckets);
  for (const double bucket : buckets) {
    if (!std::isfinite(bucket)) {
      drawn.picture += "!";
      continue;
    }
    const double place =
        range.most > range.least ? (bucket - range.least) / (range.most - range.least) : 0;
    const auto level = static_cast<size_t>(std::lround(place * (kLevels.size() - 1)));
    drawn.picture += kLevels.at(level);
  }
  return drawn;
}

}  // namespace smdebug::cli
