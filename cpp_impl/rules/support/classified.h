// Pairs the predicted classes of samples with their labels.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rules/support/roles.h"
#include "rules/support/sample.h"

namespace smdebug::rules {

// The collection of the inputs of losses that leave out a class.
inline constexpr std::string_view kIgnoringLosses = "losses_ignoring_a_class";
// The collection of what losses with a weight for each class take: the training knows of its rare
// classes.
inline constexpr std::string_view kWeightedLosses = "weighted_losses";
// And of those with several classes for each sample, though they are in one row.
inline constexpr std::string_view kLossesOfParts = "losses_of_parts";

// Holds the classes in a tensor, one for each sample.
struct Classes {
  std::string worker;
  std::string tensor;
  std::vector<int64_t> classes;  // -1 for a number that is not a class
  bool are_of_parts = false;     // a sample has several, one for each token or pixel
  bool are_weighted = false;     // the loss counts rare classes more
};

// Collects the labels and predictions of a step and pairs those that belong together.  For one
// thread.
class Classified {
 public:
  // `argmax`: predictions are scores in their last dimension, one for each class.  Predictions with
  // one dimension more than the labels are always treated as scores.
  Classified(Selector labels, Selector predictions, bool argmax)
      : roles_({std::move(labels), std::move(predictions)}), argmax_(argmax) {}

  // Returns the role of a tensor of labels or predictions; else, nothing.  A class that a loss
  // ignores, as that of padding, would count as any other, so such a loss is left out.
  std::optional<size_t> RoleOf(std::string_view tensor, const Membership &membership) const {
    if (membership.IsIn(kIgnoringLosses, tensor)) return {};
    if (membership.IsIn(kWeightedLosses, tensor)) weighted_.emplace(tensor);
    if (membership.IsIn(kLossesOfParts, tensor)) of_parts_.emplace(tensor);
    return roles_.Of(tensor, membership);
  }
  // Adds a tensor with such a role.
  void Add(const Sample &sample);

  struct Pair {
    Classes labels;
    Classes predictions;  // empty if no predictions fit
    // The mean cross entropy of scores, or the part that is wrong if there are no scores or more
    // than 1,000 classes.  NaN without predictions.
    double loss;
  };
  // Returns the pairs of each worker in record order: the first labels with the first predictions,
  // and so on.  Labels that are not whole numbers are not classes and are omitted.
  std::vector<Pair> Take();

 private:
  struct Numbers {
    std::string worker;
    std::string tensor;
    std::vector<double> numbers;
    int64_t last_size;  // of the last dimension; 1 without dimensions
  };

  static Numbers NumbersOf(const Sample &sample);
  std::vector<int64_t> ClassesOf(const Numbers &labels) const;
  std::vector<int64_t> ClassesOf(const Numbers &predictions, size_t count) const;
  bool AreOfParts(const Numbers &labels) const;
  bool AreScores(const Numbers &predictions, size_t count) const;
  double LossOf(const Numbers &predictions, const Pair &pair) const;

  Roles roles_;
  const bool argmax_;
  mutable std::set<std::string, std::less<>> weighted_;  // tensors of kWeightedLosses
  mutable std::set<std::string, std::less<>> of_parts_;  // tensors of kLossesOfParts
  std::vector<Numbers> labels_;
  std::vector<Numbers> predictions_;
};

}  // namespace smdebug::rules
