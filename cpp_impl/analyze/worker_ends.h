// When a job of several workers has ended.
#pragma once

#include <cstddef>

namespace smdebug::analyze {

// After the first worker has ended, one that records nothing for so long was killed.
inline constexpr double kLongestSilence = 300;  // seconds

// Reports whether other workers go on though a job has its end marker, which the first one that
// ends leaves.  Each notes its own end in its collections file; a worker of the original does not,
// and one that was killed.  `silence`: the seconds since anything was recorded.
inline bool OthersGoOn(size_t ended, size_t all, double silence) {
  return silence <= kLongestSilence && ended > 0 && ended < all;
}

}  // namespace smdebug::analyze
