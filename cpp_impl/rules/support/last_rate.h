// The learning rate that updates have now.
#pragma once

#include <algorithm>
#include <cstdint>

namespace smdebug::rules {

// The largest learning rate of the last step that has one: some hooks tell only what changes.
struct LastRate {
  int64_t step = -1;
  double most = 0;

  // Reports whether a schedule has ended at 0, or has not begun.
  bool IsZero() const { return step >= 0 && most == 0; }

  void Add(int64_t now, double rate) {
    most = now == step ? std::max(most, rate) : rate;
    step = now;
  }
};

}  // namespace smdebug::rules
