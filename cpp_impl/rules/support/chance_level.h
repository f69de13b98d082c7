// Tells how large a loss is of a model that knows nothing but how frequent each target is.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rules/support/membership.h"
#include "rules/support/sample.h"

namespace smdebug::rules {

// Returns "CrossEntropyLoss" for the target of that loss, "CrossEntropyLoss_input_1", and "loss"
// for that of a function that computed it, "loss/CrossEntropyLoss_input_1"; "" for any other tensor
// and for losses whose level is not known.
std::string_view LossOfTarget(std::string_view tensor);
// Returns the same for the output of the loss, as "CrossEntropyLoss_output_0", and for "loss",
// which Keras calls it.
std::string_view LossOfOutput(std::string_view tensor);
// Reports whether a tensor is such a target, and the loss is no sum over samples, whose level
// nobody knows.
bool IsTargetOfMean(std::string_view tensor, const Membership &membership);

// Collects targets of one loss: classes of a cross entropy, or numbers of a squared error.
class ChanceLevel {
 public:
  void Add(const Sample &targets);
  // Returns how often classes joined late: those that were new were many of the targets in
  // training, after the others had been seen well.  The tasks of a training may come one after
  // another.
  int64_t Joins() const { return joins_; }
  // Reports whether the targets so far were classes.
  bool IsOfClasses() const { return !classes_.empty(); }
  // Returns the entropy of the classes or the variance of the numbers, or nothing if there were too
  // few targets.
  std::optional<double> Get() const;
  // Returns the loss of a guess that takes all classes that were seen for equally frequent.  Losses
  // that weigh rare classes more may be as large.  Of numbers, returns what Get() returns.
  std::optional<double> OfUniform() const;
  // Returns about the largest loss that a model may begin with: of classes, what OfUniform()
  // returns; of numbers, the mean of their squares and 1, as outputs may begin at about 1.
  std::optional<double> OfNothing() const;

 private:
  void NoteClasses(const std::vector<double> &targets);

  std::map<int64_t, int64_t> classes_;
  std::set<int64_t> trained_;  // those that were seen in training
  double trained_count_ = 0;
  int64_t joins_ = 0;
  double count_ = 0;
  double sum_ = 0;
  double squares_ = 0;
};

}  // namespace smdebug::rules
