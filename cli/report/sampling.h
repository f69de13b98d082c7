// Fewer of many, evenly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace smdebug::cli::report {

// At most `most` of `count` places: the first, the last, and evenly between.
std::vector<size_t> EvenPlaces(size_t count, size_t most);

// At most `most` of `steps`, which ascend: those of `wanted` first, then evenly.
std::vector<int64_t> SampleSteps(const std::vector<int64_t> &steps, size_t most,
                                 const std::vector<int64_t> &wanted);

}  // namespace smdebug::cli::report
