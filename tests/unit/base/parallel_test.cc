#include "base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace smdebug::parallel_test {
namespace {

TEST(InParallel, CallsForEachIndexOnce) {
  for (const size_t threads : {0U, 1U, 2U, 7U, 100U}) {
    std::vector<std::atomic<int>> calls(50);
    InParallel(calls.size(), threads, [&](size_t i) { ++calls[i]; });
    for (const auto &count : calls) EXPECT_EQ(count, 1);
  }
  InParallel(0, 4, [](size_t) { FAIL(); });
}

TEST(InParallel, UsesTheCallingThreadAloneIfThereIsOne) {
  std::set<std::thread::id> threads;
  InParallel(10, 1, [&](size_t) { threads.insert(std::this_thread::get_id()); });
  EXPECT_EQ(threads, std::set{std::this_thread::get_id()});
}

TEST(InParallel, ThrowsAgainWhatTheWorkThrew) {
  std::atomic<int> calls{0};
  const auto work = [&](size_t i) {
    ++calls;
    if (i == 3) throw std::runtime_error("third");
    // Slow work: the throwing thread may be off its core for a while.
    if (i > 3) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  EXPECT_THROW(InParallel(100'000, 4, work), std::runtime_error);
  EXPECT_LT(calls, 100'000) << "the rest is not begun";
}

TEST(InParallel, Nests) {
  std::atomic<int> calls{0};
  InParallel(4, 4, [&](size_t) { InParallel(4, 4, [&](size_t) { ++calls; }); });
  EXPECT_EQ(calls, 16);
}

}  // namespace
}  // namespace smdebug::parallel_test
