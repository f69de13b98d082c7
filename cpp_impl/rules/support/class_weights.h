// Compares the weights that a loss gives to classes with how often they occur.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace smdebug::rules {

// Weights of classes let the rare ones count more.  Computed from the counts themselves, not from
// their inverse, they let the frequent ones count more.  Follows one loss of one worker.  For one
// thread.
class ClassWeights {
 public:
  static constexpr double kTimes = 2;

  // Takes the weight of each class.  Weights of thousands of classes are left out.
  void Set(std::vector<double> weights);
  bool AreThere() const { return !weights_.empty(); }

  struct Reversed {
    int64_t common;  // a class that is `more_frequent` times as frequent as `rare`
    int64_t rare;
    double more_frequent;
    double more_weight;  // the weight of `common` in that of `rare`
  };
  // Takes the labels of a step; those that are no class with a weight are left out.  Returns the
  // most frequent class and the rarest if both figures are at least `kTimes` and the weights of all
  // classes grow with their counts; nothing while there are few labels.
  std::optional<Reversed> Add(std::span<const double> labels);

 private:
  bool GrowWithCounts(const std::vector<size_t> &seen) const;

  std::vector<double> weights_;
  std::vector<double> counts_;  // of labels, by class
  double labels_ = 0;
};

}  // namespace smdebug::rules
