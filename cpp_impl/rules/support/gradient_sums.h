// Detects whether an optimiser gets sums of all previous gradients.
#pragma once

#include <cstdint>
#include <vector>

namespace smdebug::rules {

// Compares the updates of one weight with its gradients.  Gradients that are never reset add up.
// If the recorded gradients are single gradients, only the updates show the sum: each update is the
// previous update plus a little more.  Supports gradient descent with or without momentum, and Adam
// with its usual second moment.  For other optimisers it reports nothing.
class GradientSums {
 public:
  // Adds some elements of a weight and of its gradient at the next step.  The elements are the same
  // at every step.  `is_updated`: the weight was recorded after the step's update, not before it.
  void Add(std::vector<double> weight, std::vector<double> gradient, bool is_updated);
  // Forgets the previous steps.  Called after a gap in the steps.
  void Clear() { *this = {}; }

  // Returns how many of the last updates, in a row, follow from sums and not from the gradients.
  int64_t StepsOfSums() const { return steps_of_sums_; }
  // Reports whether the last update was large enough, compared with the rounding of the weight, to
  // tell sums from gradients.
  bool IsJudged() const { return is_judged_; }

 private:
  // Holds updates and their changes from step to step.
  struct Updates {
    std::vector<double> now;
    std::vector<double> last;
    std::vector<double> change;
    std::vector<double> last_change;

    // Makes `now` the last update and returns it to be filled with the next one.  The caller then
    // calls NoteChange().
    std::vector<double> &Next();
    void NoteChange();
    // The fractions of the update and of its change that sums do not explain.
    struct Unexplained {
      double of_update = 1;
      double of_change = 1;
    };
    Unexplained UnexplainedBySum(const std::vector<double> &gradient) const;
    // The fraction of the change that the last change alone does not explain.
    double UnexplainedByLast() const;
  };
  // Holds Adam's divisors: averages of squares.
  struct Squares {
    std::vector<double> now;
    std::vector<double> last;

    void Add(const std::vector<double> &divided);
  };

  // `noise` is the norm of an update that rounding alone may cause.
  void Evaluate(const std::vector<double> &gradient, double noise);
  // Returns the fraction of the update that the gradient, plus momentum times the previous update,
  // does not explain.  Tries gradient descent and Adam, and returns the smaller fraction.
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
  bool is_judged_ = false;
  int digits_ = 0;  // of the weight's elements, see DigitsOf()
};

}  // namespace smdebug::rules
