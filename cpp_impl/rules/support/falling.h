// Tells whether a model still improves, by the losses of its last steps.
#pragma once

#include <deque>

namespace smdebug::rules {

// For one thread.
class Falling {
 public:
  // Adds the mean loss of a step, unless it is not finite.
  void Add(double loss);
  // Reports whether the second half of the last 50 losses is lower than the first half by more than
  // chance and by more than one percent.  False with fewer than 4.
  bool Falls() const { return Direction() < 0; }
  // Reports whether the second half is higher by as much.
  bool Rises() const { return Direction() > 0; }

 private:
  // Returns -1, 0 or 1.
  int Direction() const;

  std::deque<double> losses_;
};

}  // namespace smdebug::rules
