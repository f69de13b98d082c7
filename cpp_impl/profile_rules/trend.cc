#include "profile_rules/trend.h"

#include <algorithm>
#include <cmath>

#include "profile_rules/numbers.h"

namespace smdebug::profile_rules {
namespace {

constexpr size_t kMostWindows = 64;
constexpr size_t kLeastWindows = 16;
// Kendall's rank correlation of a leak with time.
constexpr double kLeakOrder = 0.8;
// Of a leak's rise, the least part that is in the second half.
constexpr double kLateShare = 0.25;

struct Window {
  double time = 0;
  double least = 0;
};

std::vector<Window> Windows(const std::vector<Bucket> &buckets) {
  const size_t warm_up = buckets.size() / 10;
  const size_t left = buckets.size() - warm_up;
  const size_t count = std::min(left, kMostWindows);
  std::vector<Window> windows(count);
  for (size_t i = 0; i < count; ++i) {
    const size_t first = warm_up + i * left / count;
    const size_t last = warm_up + (i + 1) * left / count;
    windows[i] = {buckets[first].Time(), buckets[first].least};
    for (size_t k = first; k < last; ++k) {
      windows[i].least = std::min<double>(windows[i].least, buckets[k].least);
    }
  }
  return windows;
}

double Order(const std::vector<Window> &windows) {
  int64_t order = 0;
  int64_t pairs = 0;
  for (size_t i = 0; i < windows.size(); ++i) {
    for (size_t k = i + 1; k < windows.size(); ++k, ++pairs) {
      order += windows[k].least > windows[i].least;
      order -= windows[k].least < windows[i].least;
    }
  }
  return static_cast<double>(order) / static_cast<double>(std::max<int64_t>(1, pairs));
}

double MeanOf(const std::vector<Window> &windows, size_t first, size_t last) {
  double sum = 0;
  for (size_t i = first; i < last; ++i) sum += windows[i].least;
  return sum / static_cast<double>(last - first);
}

void FindLeak(const std::vector<Window> &windows, double leak, Rise *rise) {
  const size_t part = std::max<size_t>(1, windows.size() / 8);
  const double begin = MeanOf(windows, 0, part);
  const double end = MeanOf(windows, windows.size() - part, windows.size());
  const size_t middle = windows.size() / 2;
  const double half = MeanOf(windows, middle - part / 2, middle + part - part / 2);
  const bool is_late = end - half >= kLateShare * (end - begin);
  if (end - begin < leak || !is_late || Order(windows) < kLeakOrder) return;
  rise->is_leak = true;
  rise->begin = begin;
  rise->end = end;
  rise->points = end - begin;
  const double hours = (windows.back().time - windows.front().time) / 3600;
  rise->per_hour = hours > 0 ? rise->points / hours : 0;
}

void FindJump(const std::vector<Window> &windows, double jump, Rise *rise) {
  const size_t side = std::max<size_t>(3, windows.size() / 10);
  for (size_t i = side; i + side <= windows.size(); ++i) {
    double before = 0;
    double after = windows[i].least;
    for (size_t k = 0; k < i; ++k) before = std::max(before, windows[k].least);
    for (size_t k = i; k < windows.size(); ++k) after = std::min(after, windows[k].least);
    if (after - before < jump || after - before <= rise->points) continue;
    rise->is_jump = true;
    rise->points = after - before;
    rise->begin = before;
    rise->end = after;
    rise->time = windows[i].time;
  }
}

}  // namespace

Rise FindRise(const std::vector<Bucket> &buckets, double leak, double jump) {
  Rise rise;
  const std::vector<Window> windows = Windows(buckets);
  if (windows.size() < kLeastWindows) return rise;
  rise.windows = windows.size();
  FindJump(windows, jump, &rise);
  if (!rise.is_jump) FindLeak(windows, leak, &rise);
  return rise;
}

}  // namespace smdebug::profile_rules
