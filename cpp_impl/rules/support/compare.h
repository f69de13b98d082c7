// Compares tensors of two jobs or of two steps.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "rules/source.h"

namespace smdebug::rules {

// Two numbers are equal if |a - b| <= atol + rtol * |b|.  NaN equals NaN.
struct Tolerance {
  bool bitwise = false;  // compares bytes instead
  double rtol = 1e-5;
  double atol = 1e-8;
};

// Describes how two tensors differ.
struct Difference {
  std::string check;  // "value", "shape", "dtype", "texts" or a reduction's name
  double value;       // the largest difference above its limit; NaN if none is reported
  double limit;       // the allowed difference at that place
  std::string message;
};

// Compares `a` with `b`: the elements, the texts, or the reductions that both have.  Returns
// nothing if they are equal or if there is nothing to compare.
std::optional<Difference> Compare(const Sample &a, const Sample &b, const Tolerance &tolerance);

// Reports whether there is anything to compare.
bool AreComparable(const Sample &a, const Sample &b);

// Keeps a copy of all data that a step holds of the selected tensors.
class StepCopy {
 public:
  // Fails if Source::VisitStep() fails.
  static Result<StepCopy> Of(Source &source, int64_t step, const Source::Wants &wants);

  // Returns NULL if the worker did not record the tensor.
  const Sample *Find(std::string_view worker, std::string_view tensor) const;
  size_t Size() const { return tensors_.size(); }
  // Visits the samples in the order in which they were read.
  template <class Visit>
  void ForEach(Visit visit) const {
    for (const auto &tensor : tensors_) visit(tensor->sample);
  }

 private:
  struct Tensor {
    explicit Tensor(const Sample &original);
    std::string worker;
    std::string name;
    std::vector<int64_t> shape;
    AlignedBuffer elements;
    std::vector<std::string> texts;
    Sample sample;  // refers to the fields above
  };

  using Key = std::pair<std::string_view, std::string_view>;  // worker, tensor

  std::vector<std::unique_ptr<Tensor>> tensors_;
  std::map<Key, const Tensor *> by_name_;
};

}  // namespace smdebug::rules
