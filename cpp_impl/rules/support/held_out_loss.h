// Follows a loss on samples that a training does not see.
#pragma once

#include <cstdint>
#include <limits>

namespace smdebug::rules {

// For one thread.
class HeldOutLoss {
 public:
  // Adds a loss of an evaluation; all with the same `updates`, the updates of weights before it,
  // are batches of one.  `is_late`: a training has learned something by then.
  void Add(double loss, double updates, bool is_late);
  // Reports whether no evaluation had a loss clearly below that of a guess, and the last three were
  // late.  False for a loss that is too far above it to be of the same kind, as a sum is.
  bool IsNoBetterThan(double guess) const;
  double First() const { return first_; }
  // The mean of the last evaluation.
  double Now() const { return sum_ / static_cast<double>(batches_); }

 private:
  void Close();

  double updates_ = -1;
  double sum_ = 0;
  int64_t batches_ = 0;
  bool is_late_ = false;
  // Of the evaluations before the last one:
  double first_ = 0;
  double least_ = std::numeric_limits<double>::infinity();
  double most_ = 0;
  int64_t late_ = 0;
};

}  // namespace smdebug::rules
