// Whether an optimiser is given sums of all gradients so far.
#pragma once

#include <cstdint>
#include <vector>

namespace smdebug::rules {

// Compares the updates of one weight with its gradients.  Gradients that are never reset add
// up; where the recorded ones are single ones nevertheless, only the updates show it: each is
// that of the step before, and a little more.  Knows gradient descent with or without
// momentum, and Adam with its usual second moment; of what else it says nothing.
class GradientSums {
 public:
  // Some elements of a weight and of its gradient at the next step, the same ones at every
  // step; whether the weight is as it is after the step's update, not before it.
  void Add(std::vector<double> weight, std::vector<double> gradient, bool is_updated);
  // After a gap in the steps.
  void Clear() { *this = {}; }

  // How many updates up to now, in a row, follow from sums, and not from the gradients.
  int64_t StepsOfSums() const { return steps_of_sums_; }

 private:
  // Updates, and how they changed from step to step.
  struct Updates {
    std::vector<double> last;
    std::vector<double> last_change;

    // As parts of the update, but the last.
    struct Unexplained {
      double by_gradient = 1;
      double by_sum = 1;
      double of_change_by_sum = 1;  // as a part of how the update changed
    };
    Unexplained Add(std::vector<double> update, const std::vector<double> &gradient);
  };
  // Of Adam, its division undone.
  struct Scaled {
    std::vector<double> squares;  // averaged
    Updates updates;

    std::vector<double> Undo(const std::vector<double> &update,
                             const std::vector<double> &divided_for, int64_t steps);
  };

  void Judge(const std::vector<double> &update, const std::vector<double> &gradient);

  std::vector<double> weight_;
  std::vector<double> gradient_;
  std::vector<double> sum_;
  Updates plain_;
  Scaled by_gradient_;
  Scaled by_sum_;
  int64_t steps_ = 0;
  int64_t steps_of_sums_ = 0;
};

}  // namespace smdebug::rules
