// Selects even samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace smdebug::cli::report {

// Returns at most `most` of `count` indices: the first, the last, and evenly spaced ones between.
std::vector<size_t> EvenPlaces(size_t count, size_t most);

// Returns at most `most` of `steps`, which are ascending: first those in `wanted`, then evenly
// spaced ones.
std::vector<int64_t> SampleSteps(const std::vector<int64_t> &steps, size_t most,
                                 const std::vector<int64_t> &wanted);

}  // namespace smdebug::cli::report
