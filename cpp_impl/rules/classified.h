// What a model took its samples for, and what they were.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rules/roles.h"
#include "rules/sample.h"

namespace smdebug::rules {

// The classes that a tensor holds, one a sample.
struct Classes {
  std::string worker;
  std::string tensor;
  std::vector<int64_t> classes;  // -1 for what is no class
};

// Collects the labels and predictions of a step and puts together what belongs together.
// For one thread.
class Classified {
 public:
  // `argmax`: predictions are scores, one a class, in their last dimension; those with a
  // dimension more than the labels are taken for that anyway.
  Classified(Selector labels, Selector predictions, bool argmax)
      : roles_({std::move(labels), std::move(predictions)}), argmax_(argmax) {}

  // Whether the tensor is one of either.
  bool Ask(std::string_view tensor, const Membership &membership) {
    return roles_.Ask(tensor, membership);
  }
  // One that was asked for.
  void Add(const Sample &sample);

  struct Pair {
    Classes labels;
    Classes predictions;  // empty where there are none that fit
  };
  // Those of each worker in their order: the first labels with the first predictions, and so
  // on.  Labels that are no whole numbers are no classes and left out.
  std::vector<Pair> Take();

 private:
  struct Numbers {
    std::string worker;
    std::string tensor;
    std::vector<double> numbers;
    int64_t last_size;  // of the last dimension; 1 without one
  };

  static Numbers NumbersOf(const Sample &sample);
  std::vector<int64_t> ClassesOf(const Numbers &labels) const;
  std::vector<int64_t> ClassesOf(const Numbers &predictions, size_t count) const;

  Roles roles_;
  const bool argmax_;
  std::vector<Numbers> labels_;
  std::vector<Numbers> predictions_;
};

}  // namespace smdebug::rules
