// Judges how far updates move all weights together, and gives clues about that.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "rules/rule.h"
#include "rules/support/told.h"

namespace smdebug::rules {

// The size of an update is the sum of the absolute changes of all weights of layers, relative to
// the sum of their absolute values.  Steps that change nothing, as where gradients accumulate, do
// not count.  For one thread.
class UpdateSizes {
 public:
  // Limits of the size; none: no size is too large, or too small.
  struct Limits {
    std::optional<double> first;  // the largest of one of the first updates
    std::optional<double> usual;  // the largest of most of the first 30
    std::optional<double> tiny;   // the smallest of later ones
    std::optional<double> left;   // the smallest part of the weights' first absolute values
  };

  explicit UpdateSizes(const Limits &limits) : limits_(limits) {}

  // Notes a weight at the first step that has it.
  void AddFirst(const Sample &weight, double mean_square);
  // Notes a weight's change since the step before, and what it was there, as sums of absolute
  // values.
  void Add(const Sample &weight, double difference, double before);
  // Ends the step and adds what it tells.
  void EndStep(Findings &findings);

 private:
  // The tensor that is most of something.
  struct Extreme {
    Subject subject;
    double value = 0;

    bool IsKnown() const { return !subject.tensor.empty(); }
    void Take(const Sample &sample, double other);
  };

  void JudgeFirst(double size, Findings &findings);
  void EndUpdate(double size, Findings &findings);
  void JudgeWeights(Findings &findings) const;
  void JudgeUsual(Findings &findings);
  void JudgeTiny(Findings &findings) const;
  void JudgeGrowth(double size, Findings &findings);
  void JudgeLeft(Findings &findings);

  const Limits limits_;
  double difference_ = 0;  // of this step
  double before_ = 0;
  int64_t elements_ = 0;  // of this step
  Extreme farthest_;      // of this step: the weight that changed most of itself
  Extreme largest_;       // of the weights at first, for their shapes
  Extreme smallest_;
  int64_t first_weights_ = 0;
  int64_t small_weights_ = 0;
  int64_t updates_ = 0;
  bool has_clue_of_first_ = false;
  bool has_found_first_ = false;
  std::vector<double> first_;  // sizes of the first updates
  std::deque<double> last_;    // logarithms of sizes
  double record_ = 0;          // the largest size before those
  double early_ = 0;           // the sum of the logarithms of a few early sizes
  double before_first_ = 0;    // the sum of the weights' absolute values before the first update
  int64_t of_first_ = 0;       // the elements that it changed
  int64_t shrunk_ = 0;         // consecutive updates
};

}  // namespace smdebug::rules
