// Detects recorded gradients that are sums of all previous gradients.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace smdebug::rules {

// Follows the recorded gradients of one weight.  Gradients that are never reset add up: each is the
// previous one plus that of a new batch.  So they keep their direction and grow, while their
// increments have directions of their own.  In a healthy training, gradients that are as alike
// differ by noise, which an increment takes back the next time, or drift smoothly.
//
// Clipped sums do not grow, and sums that are reset now and then do so only for some steps.  Both
// show in averages of the cosine of an increment with the last one, c1, and with the one before it,
// c2.  Of gradients with noise of variance v that drift by d a step, c1 is (d² - v) / (d² + 2v) and
// c2 is d² / (d² + 2v), so that 3 c2 - 2 c1 is 1.  Of sums, both are alike.
class RecordedSums {
 public:
  // Adds some elements of the gradient at the next step, always the same.
  void Add(const std::vector<double> &gradient);
  // Forgets the previous steps.
  void Clear() { *this = {}; }

  // Returns the number of last steps, in a row, at which the gradient was such a sum.
  int64_t Steps() const { return norm_ > kLeastGrowth * first_norm_ ? steps_ : 0; }
  // Averages over the last steps.
  struct Averages {
    double cosine;  // of this step's gradient and the previous one
    double next;    // c1
    double second;  // c2
  };
  // Returns nothing before there were enough steps.
  std::optional<Averages> GetAverages() const;
  // Reports whether there was a gradient to tell from.
  bool IsJudged() const { return norm_ > 0; }

 private:
  static constexpr double kLeastGrowth = 2;

  // The cosines of this step's gradient and increment with the last ones; 0 if there are none.
  struct Cosines {
    double of_gradients;
    double next;
    double second;
  };

  // Replaces the last gradient and the increments.
  Cosines Advance(const std::vector<double> &gradient);
  void AddToAverages(const Cosines &cosines);
  void Restart();

  // The last gradient, and what it and the one before it added; the sums of their squares.
  std::vector<double> last_;
  std::vector<double> increment_;
  std::vector<double> increment_before_;
  double last_squares_ = 0;
  double increment_squares_ = 0;
  double squares_before_ = 0;
  int increments_ = 0;  // how many of the two are known

  double norm_ = 0;
  double first_norm_ = 0;  // since the gradients began to add up
  bool adds_up_ = false;   // the last gradient may be the one before it plus another
  int64_t steps_ = 0;
  Averages averages_{};
  int64_t averaged_ = 0;
};

// Decides by the averages of all gradients of a worker whether they are sums.
class SumsOnAverage {
 public:
  void Add(const RecordedSums &gradient);
  // Ends the step, and returns for how many last steps, in a row, the gradients have been sums, if
  // these are enough to tell.
  int64_t EndStep();

 private:
  std::vector<RecordedSums::Averages> of_step_;
  int64_t steps_ = 0;
};

}  // namespace smdebug::rules
