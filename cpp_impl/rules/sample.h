// One tensor of one worker at one step, as a detector sees it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rules/place.h"
#include "tensor/reduction.h"
#include "tensor/spread.h"
#include "tensor/statistics.h"
#include "tensor/view.h"

namespace smdebug::rules {

// Each figure is computed when it is first asked for, then kept: however many detectors
// ask, the elements are gone over once.  Valid while it is observed; for one thread.
class Sample {
 public:
  Sample(StepPlace place, std::string_view worker, std::string_view tensor)
      : place_(place), worker_(worker), tensor_(tensor) {}

  // The elements, which must outlive the sample.
  void SetElements(const tensor::View &elements) { elements_ = elements; }
  // The elements of a tensor of texts, in row-major order; they must outlive the sample.
  void SetTexts(std::vector<std::string_view> texts) { texts_ = std::move(texts); }
  // The same tensor; where it has more than `most` elements, its statistics, reductions and
  // quantiles are estimated from about so many of them.  They are exact all the same, and
  // slow, where these are all zero or not all finite: then others may be different.  `most` 0:
  // always exact.  Valid as long as this one.
  Sample Estimated(int64_t most) const;

  // A reduction that was saved.
  void AddReduction(tensor::Reduction reduction, double value) {
    if (reductions_.empty()) reductions_.reserve(tensor::kReductionKinds);
    reductions_.emplace_back(reduction, value);
  }

  const StepPlace &Place() const { return place_; }
  std::string_view Worker() const { return worker_; }
  std::string_view Tensor() const { return tensor_; }

  // NULL if they were not saved, and of texts.
  const tensor::View *Elements() const { return elements_ ? &*elements_ : nullptr; }
  // The same, but NULL too if they are complex or text.
  const tensor::View *RealElements() const;
  // Of real elements; NULL without.
  const tensor::Statistics *GetStatistics() const;
  // Computed from the elements, else as it was saved; nothing if there is neither.
  std::optional<double> Reduce(tensor::Reduction reduction) const;
  // The q-quantiles, 0 <= q <= 1, of the elements that are numbers, interpolated as NumPy
  // does; nothing without such elements.
  std::optional<std::vector<double>> Quantiles(const std::vector<double> &qs) const;
  // The only element.
  std::optional<double> Scalar() const;
  // The elements as doubles, in row-major order; empty without real elements.
  std::vector<double> Numbers() const;
  // About `most` of them, spread evenly; all if there are not more.
  std::vector<double> SomeNumbers(int64_t most) const;
  // Empty for all but texts.
  const std::vector<std::string_view> &Texts() const { return texts_; }

 private:
  // Of an estimate that has to be exact: the sample to ask.  NULL else.
  const Sample *Exact() const;
  void Compute() const;
  // What figures are computed from.
  tensor::View Figured() const { return some_ ? some_->AsView() : *elements_; }

  StepPlace place_;
  std::string_view worker_;
  std::string_view tensor_;
  std::optional<tensor::View> elements_;
  std::vector<std::string_view> texts_;
  std::vector<std::pair<tensor::Reduction, double>> reductions_;
  const Sample *whole_ = nullptr;  // of an estimate
  int64_t most_ = 0;
  mutable std::optional<tensor::SpreadElements> some_;
  mutable bool has_tried_ = false;
  mutable std::optional<tensor::Statistics> statistics_;
  mutable std::optional<tensor::Reducer> reducer_;
};

// Whether it is of what a layer multiplies with: biases and the like have fewer axes.  Where
// the elements are not there, the name tells.
bool IsOfLayer(const Sample &sample);

}  // namespace smdebug::rules
