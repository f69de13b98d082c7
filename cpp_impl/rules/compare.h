// Tensors of two jobs, or of two steps, compared.
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

// What counts as equal: |a - b| <= atol + rtol * |b|, and not a number as itself.
struct Tolerance {
  bool bitwise = false;  // then the bytes decide
  double rtol = 1e-5;
  double atol = 1e-8;
};

// How two tensors differ.
struct Difference {
  std::string label;  // "value", "shape", "dtype", "texts" or a reduction's name
  double value;       // the largest difference that is too large; not a number if none is told
  double limit;       // what would have been allowed there
  std::string message;
};

// `a` against `b`: the elements, the texts, or the reductions that both have.  Nothing if they
// are equal, and where there is nothing to compare.
std::optional<Difference> Compare(const Sample &a, const Sample &b, const Tolerance &tolerance);

// Whether there is anything to compare.
bool AreComparable(const Sample &a, const Sample &b);

// All that a step holds of some tensors, kept.
class StepCopy {
 public:
  // Fails as Source::VisitStep() does.
  static Result<StepCopy> Of(Source &source, int64_t step, const Source::Wants &wants);

  // NULL if the worker did not record it.
  const Sample *Find(std::string_view worker, std::string_view tensor) const;
  size_t Size() const { return tensors_.size(); }
  // In the order in which they were visited.
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
    Sample sample;  // of the above
  };

  using Key = std::pair<std::string_view, std::string_view>;  // worker, tensor

  std::vector<std::unique_ptr<Tensor>> tensors_;
  std::map<Key, const Tensor *> by_name_;
};

}  // namespace smdebug::rules
