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
    std::vector<double> now;
    std::vector<double> last;
    std::vector<double> change;
    std::vector<double> last_change;

    // Makes `now` the last one, to be filled anew; then NoteChange().
    std::vector<double> &Next();
    void NoteChange();
    // What sums leave, as a part of the update and of how it changed.
    struct Unexplained {
      double of_update = 1;
      double of_change = 1;
    };
    Unexplained UnexplainedBySum(const std::vector<double> &gradient) const;
  };
  // What Adam divides by: averages of squares.
  struct Squares {
    std::vector<double> now;
    std::vector<double> last;

    void Add(const std::vector<double> &divided);
  };

  void Judge(const std::vector<double> &gradient);
  // What a gradient, and the update before times momentum, leave of the update, as a part of
  // it; by descent or by Adam, whichever leaves less.
  double UnexplainedByGradient(const std::vector<double> &gradient) const;

  std::vector<double> weight_;
  std::vector<double> gradient_;
  std::vector<double> sum_;
  Updates plain_;
  Squares of_gradients_;
  Squares of_sums_;
  Updates by_sum_;  // with Adam's division by the sums' squares undone
  int64_t steps_ = 0;
  int64_t steps_of_sums_ = 0;
};

}  // namespace smdebug::rules
