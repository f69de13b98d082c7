// Rows of a timeline in which events nest: viewers drop events that only overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace smdebug::profile_rules {

// The rows of one phase.  For one thread at a time.
class Lanes {
 public:
  // The most rows of a phase; events that fit into none of them are in the last one.
  static constexpr size_t kMost = 64;

  // Returns the first row in which an event nests.  Events come by their begins, those that begin
  // together the longest first; one that comes late is placed behind all others of a row.
  size_t LaneOf(double start, double end);

 private:
  struct Lane {
    std::vector<double> open;  // the ends of the events that are not over, the innermost last
    double last_start = 0;
    double last_end = 0;
  };

  static bool Take(double start, double end, Lane *lane);

  std::vector<Lane> lanes_;
};

}  // namespace smdebug::profile_rules
