// Detects recorded gradients that are sums of all previous gradients.
#pragma once

#include <cstdint>
#include <vector>

namespace smdebug::rules {

// Follows the recorded gradients of one weight.  Gradients that are never reset add up: each is the
// previous one plus that of a new batch.  So they keep their direction and grow, while their
// increments have directions of their own.  In a healthy training, gradients that are as alike
// differ by noise, which an increment takes back the next time, or drift smoothly.
class RecordedSums {
 public:
  // Adds some elements of the gradient at the next step, always the same.
  void Add(const std::vector<double> &gradient);

  // Returns the number of last steps, in a row, at which the gradient was such a sum.
  int64_t Steps() const { return norm_ > kLeastGrowth * first_norm_ ? steps_ : 0; }
  // Reports whether there was a gradient to tell from.
  bool IsJudged() const { return norm_ > 0; }

 private:
  static constexpr double kLeastGrowth = 2;

  void Restart(const std::vector<double> &gradient);

  std::vector<double> last_;
  std::vector<double> increment_;
  double first_norm_ = 0;  // since the gradients began to add up
  double norm_ = 0;
  int64_t steps_ = 0;
};

}  // namespace smdebug::rules
