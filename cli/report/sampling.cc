#include "sampling.h"

#include <algorithm>
#include <set>

namespace smdebug::cli::report {

std::vector<size_t> EvenPlaces(size_t count, size_t most) {
  std::vector<size_t> places;
  if (count <= most) {
    for (size_t i = 0; i < count; ++i) places.push_back(i);
  } else if (most == 1) {
    places.push_back(count - 1);
  } else {
    for (size_t i = 0; i < most; ++i) places.push_back(i * (count - 1) / (most - 1));
  }
  return places;
}

std::vector<int64_t> SampleSteps(const std::vector<int64_t> &steps, size_t most,
                                 const std::vector<int64_t> &wanted) {
  if (steps.size() <= most) return steps;
  std::set<int64_t> chosen;
  for (const int64_t step : wanted) {
    // At least half of the sample remains for evenly spaced steps.
    if (chosen.size() >= most / 2) break;
    if (std::binary_search(steps.begin(), steps.end(), step)) chosen.insert(step);
  }
  for (const size_t place : EvenPlaces(steps.size(), most - chosen.size())) {
    chosen.insert(steps[place]);
  }
  return {chosen.begin(), chosen.end()};
}

}  // namespace smdebug::cli::report
