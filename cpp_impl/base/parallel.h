// Runs independent work in several threads.
#pragma once

#include <cstddef>
#include <functional>

namespace smdebug {

// Calls `work(i)` for each i below `count`, in the calling thread and at most `threads - 1` others,
// which end before it returns.  If threads cannot be started, does with fewer.  The first exception
// of `work` is thrown again, after all threads have ended.
void InParallel(size_t count, size_t threads, const std::function<void(size_t index)> &work);

}  // namespace smdebug
