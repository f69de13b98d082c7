#include "profile_rules/lanes.h"

#include <algorithm>

namespace smdebug::profile_rules {

bool Lanes::Take(double start, double end, Lane *lane) {
  if (start < lane->last_start && start < lane->last_end) return false;
  while (!lane->open.empty() && lane->open.back() <= start) lane->open.pop_back();
  if (!lane->open.empty() && end > lane->open.back()) return false;
  lane->open.push_back(end);
  lane->last_start = start;
  lane->last_end = std::max(lane->last_end, end);
  return true;
}

size_t Lanes::LaneOf(double start, double end) {
  for (size_t i = 0; i < lanes_.size(); ++i) {
    if (Take(start, end, &lanes_[i])) return i;
  }
  if (lanes_.size() == kMost) return kMost - 1;
  lanes_.push_back({{end}, start, end});
  return lanes_.size() - 1;
}

}  // namespace smdebug::profile_rules
