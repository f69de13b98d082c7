// The steps of a worker after its warm-up.
#pragma once

#include <span>
#include <vector>

#include "profile_rules/step_cycles.h"

namespace smdebug::profile_rules {

// The first cycles allocate, compile and fill queues: a tenth of them, at least 3 and at most 50,
// are dropped.
std::span<const Cycle> Steady(const WorkerSteps &steps);

std::vector<double> Lengths(std::span<const Cycle> cycles);
double MedianLength(std::span<const Cycle> cycles);
// The share of a part in the whole time.
double ShareOf(std::span<const Cycle> cycles, Part part);
std::vector<double> PartsOf(std::span<const Cycle> cycles, Part part);
double MedianOf(std::span<const Cycle> cycles, Part part);

// Of parts of the main thread, the one that differs most between two sets of cycles, by medians.
struct Growth {
  Part part = Part::kRest;
  double microseconds = 0;
};
Growth LargestGrowth(std::span<const Cycle> before, std::span<const Cycle> after);

// The cycles that are much longer than the median, and what their excess is spent on.
struct Slow {
  std::vector<size_t> indices;
  double limit = 0;         // microseconds
  double excess = 0;        // microseconds beyond the median, of all
  double excess_share = 0;  // of the whole time
  Part part = Part::kRest;  // that has most of the excess
  double part_share = 0;    // of the excess
  bool is_periodic = false;
  double period = 0;  // in cycles, if periodic
};
Slow FindSlow(std::span<const Cycle> cycles, double factor);
// Those whose time outside of data, computation and communication is longer than usual by
// `factor` - 1 times the median cycle.  Other programs, which slow down all parts, hide them less.
Slow FindHostStalls(std::span<const Cycle> cycles, double factor);

}  // namespace smdebug::profile_rules
