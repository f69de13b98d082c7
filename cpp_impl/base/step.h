// The numbers of steps.
#pragma once

#include <cstdint>
#include <limits>

namespace smdebug {

// The largest number of a global or mode step.  The next number still fits the type, so code
// may compute the step after any step.
inline constexpr int64_t kMaxStep = std::numeric_limits<int64_t>::max() - 1;

}  // namespace smdebug
