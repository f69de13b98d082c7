// Detects whether an optimiser gets sums of all previous gradients, by the signs of its updates.
#pragma once

#include <cstdint>
#include <vector>

namespace smdebug::rules {

// Compares the signs of a weight's updates with those of directions that follow from its gradients,
// and of those that follow from sums of its gradients.  Optimisers that divide by the size of
// gradients, as Adam and RMSprop do, or that take only a sign, as Lion does, change the size of an
// update and not its sign.  So GradientSums, which compares sizes, may not recognise them.
class SumSigns {
 public:
  // See GradientSums::Add().
  void Add(const std::vector<double> &weight, const std::vector<double> &gradient, bool is_updated);
  // Forgets the previous steps.
  void Clear() { *this = {}; }

  // Returns how many of the last ten updates follow from sums and not from gradients, if most do.
  int64_t StepsOfSums() const;
  // Reports whether there were enough elements and steps to tell.
  bool IsJudged() const { return is_judged_; }

 private:
  // Averages of what an optimiser gets, with the usual factors.
  struct Averages {
    std::vector<double> fast;  // 0.9
    std::vector<double> slow;  // 0.99

    void Add(const std::vector<double> &input);
  };
  // Returns the largest share of elements whose update has the opposite sign of one of the
  // directions of usual optimisers.
  double AgreementOf(const std::vector<double> &input, const Averages &before) const;

  void Evaluate();

  std::vector<double> weight_;
  std::vector<double> gradient_;
  std::vector<double> update_;   // 0 where it is too small to have a sign
  std::vector<double> pending_;  // the gradients since the last update
  std::vector<double> sum_;
  Averages of_gradients_;
  Averages of_sums_;
  int64_t steps_ = 0;
  unsigned last_ = 0;  // a bit for each of the last ten updates: they follow from sums
  bool is_judged_ = false;
};

}  // namespace smdebug::rules
