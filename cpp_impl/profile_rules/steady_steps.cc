#include "profile_rules/steady_steps.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "profile_rules/numbers.h"

namespace smdebug::profile_rules {

std::span<const Cycle> Steady(const WorkerSteps &steps) {
  const std::span<const Cycle> all(steps.Cycles());
  const size_t warm_up = std::clamp<size_t>(all.size() / 10, 3, 50);
  return all.size() > warm_up ? all.subspan(warm_up) : std::span<const Cycle>();
}

std::vector<double> Lengths(std::span<const Cycle> cycles) {
  std::vector<double> lengths;
  lengths.reserve(cycles.size());
  for (const Cycle &cycle : cycles) lengths.push_back(cycle.length);
  return lengths;
}

double MedianLength(std::span<const Cycle> cycles) { return QuantileOf(Lengths(cycles), 0.5); }

double ShareOf(std::span<const Cycle> cycles, Part part) {
  double sum = 0;
  double length = 0;
  for (const Cycle &cycle : cycles) {
    sum += cycle.Of(part);
    length += cycle.length;
  }
  return length > 0 ? sum / length : 0;
}

std::vector<double> PartsOf(std::span<const Cycle> cycles, Part part) {
  std::vector<double> times;
  times.reserve(cycles.size());
  for (const Cycle &cycle : cycles) times.push_back(cycle.Of(part));
  return times;
}

double MedianOf(std::span<const Cycle> cycles, Part part) {
  return QuantileOf(PartsOf(cycles, part), 0.5);
}

Growth LargestGrowth(std::span<const Cycle> before, std::span<const Cycle> after) {
  Growth largest;
  for (size_t i = 0; i < kExclusiveParts; ++i) {
    const auto part = static_cast<Part>(i);
    const double growth = MedianOf(after, part) - MedianOf(before, part);
    if (growth > largest.microseconds) largest = {part, growth};
  }
  return largest;
}

namespace {

// Stalls come at equal distances: most gaps are within a tenth, or one cycle, of their median.
void FindPeriod(Slow *slow) {
  if (slow->indices.size() < 4) return;
  std::vector<double> gaps;
  for (size_t i = 1; i < slow->indices.size(); ++i) {
    gaps.push_back(static_cast<double>(slow->indices[i] - slow->indices[i - 1]));
  }
  const double median = QuantileOf(gaps, 0.5);
  const double reach = std::max(1.0, median / 10);
  const auto close = std::count_if(gaps.begin(), gaps.end(),
                                   [&](double gap) { return std::abs(gap - median) <= reach; });
  slow->period = median;
  slow->is_periodic =
      median >= 4 && static_cast<double>(close) >= 0.7 * static_cast<double>(gaps.size());
}

using PartSet = std::array<bool, kExclusiveParts>;

double TimeIn(const Cycle &cycle, const PartSet &parts) {
  double sum = 0;
  for (size_t i = 0; i < kExclusiveParts; ++i) sum += parts[i] ? cycle.parts[i] : 0;
  return sum;
}

// Finds the cycles in which some parts are longer than usual by `factor` - 1 median cycles.
Slow FindLong(std::span<const Cycle> cycles, double factor, const PartSet &looks_at) {
  Slow slow;
  const double median = MedianLength(cycles);
  slow.limit = median * factor;
  std::array<double, kExclusiveParts> medians{};
  for (size_t i = 0; i < kExclusiveParts; ++i) medians[i] = MedianOf(cycles, static_cast<Part>(i));
  std::vector<double> times;
  for (const Cycle &cycle : cycles) times.push_back(TimeIn(cycle, looks_at));
  const double usual = QuantileOf(times, 0.5);
  std::array<double, kExclusiveParts> excess{};
  double length = 0;
  for (size_t i = 0; i < cycles.size(); ++i) {
    length += cycles[i].length;
    if (times[i] - usual <= slow.limit - median) continue;
    slow.indices.push_back(i);
    slow.excess += times[i] - usual;
    for (size_t k = 0; k < kExclusiveParts; ++k) {
      if (looks_at[k]) excess[k] += cycles[i].parts[k] - medians[k];
    }
  }
  if (slow.indices.empty()) return slow;
  const auto largest = std::max_element(excess.begin(), excess.end());
  slow.part = static_cast<Part>(largest - excess.begin());
  slow.part_share = slow.excess > 0 ? *largest / slow.excess : 0;
  slow.excess_share = length > 0 ? slow.excess / length : 0;
  FindPeriod(&slow);
  return slow;
}

}  // namespace

Slow FindSlow(std::span<const Cycle> cycles, double factor) {
  PartSet all{};
  all.fill(true);
  return FindLong(cycles, factor, all);
}

Slow FindHostStalls(std::span<const Cycle> cycles, double factor) {
  PartSet host{};
  for (const Part part : {Part::kHost, Part::kRest, Part::kIdle, Part::kCheckpoint}) {
    host[static_cast<size_t>(part)] = true;
  }
  return FindLong(cycles, factor, host);
}

}  // namespace smdebug::profile_rules
