// Presents one tensor of one worker at one step to a rule.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/placement.h"
#include "rules/support/place.h"
#include "tensor/given_statistics.h"
#include "tensor/reduction.h"
#include "tensor/spread.h"
#include "tensor/statistics.h"
#include "tensor/view.h"

namespace smdebug::rules {

// Computes each figure on first use and caches it, so any number of rules cost one pass over the
// elements.  Valid while it is observed.  For one thread.
class Sample {
 public:
  Sample(StepPlace place, std::string_view worker, std::string_view tensor)
      : place_(place), worker_(worker), tensor_(tensor) {}

  // Sets the number by which the rule set knows this tensor of this worker (see Number()).
  void SetNumber(uint32_t number) { number_ = number; }
  // Sets what the tensor is to the rule that observes it next (see Rule::RoleOf()).
  void SetRole(size_t role) { role_ = role; }
  // Sets the elements, which must outlive the sample.
  void SetElements(const tensor::View &elements) { elements_ = elements; }
  // Sets statistics instead of the elements.  They must outlive the sample.
  void SetGiven(const tensor::GivenStatistics &given);
  // Sets which part of the tensor the worker holds; NULL: the whole.  It must outlive the sample.
  void SetPlacement(const config::Placement *placement) { placement_ = placement; }
  // Sets the elements of a tensor of texts, in row-major order.  The texts must outlive the sample.
  void SetTexts(std::vector<std::string_view> texts) { texts_ = std::move(texts); }
  // Returns a sample of the same tensor with estimated figures.  If the tensor has more than `most`
  // elements, its statistics, reductions and quantiles are estimated from about `most` of them.  If
  // these elements are all zero or not all finite, falls back to exact figures, which are slow to
  // compute: the other elements may differ.  If `most` is 0, figures are always exact.  Valid as
  // long as this sample.
  Sample Estimated(int64_t most) const;
  // Returns the sample that this one estimates, or this one.
  const Sample &Whole() const { return whole_ != nullptr ? *whole_ : *this; }

  // Adds a reduction that was saved.
  void AddReduction(tensor::Reduction reduction, double value) {
    saved_[reduction.Index()] = value;
    is_saved_ |= 1U << reduction.Index();
    are_saved_finite_ &= std::isfinite(value);
  }

  const StepPlace &Place() const { return place_; }
  std::string_view Worker() const { return worker_; }
  std::string_view Tensor() const { return tensor_; }
  // Returns a number above 0 that no other tensor or worker has in this rule set, or 0.
  uint32_t Number() const { return number_; }
  // Returns what the tensor is to the rule that observes it.
  size_t Role() const { return role_; }
  // Returns which part of the tensor the worker holds, or NULL for the whole.
  const config::Placement *Placement() const { return placement_; }

  // Returns the shape and the dtype, in a view that need not have data, or NULL if they are not
  // known.
  const tensor::View *Form() const { return given_ != nullptr ? &given_->form : Elements(); }
  // Returns NULL if the elements were not saved or are texts.
  const tensor::View *Elements() const { return elements_ ? &*elements_ : nullptr; }
  // Returns the elements, or NULL if they were not saved, are complex or are texts.
  const tensor::View *RealElements() const;
  // Returns the statistics of real elements, or NULL if there are none.  Given statistics may lack
  // means, medians and extremes.
  const tensor::Statistics *GetStatistics() const;
  // Computes the reduction from the elements, else returns the saved reduction.  Returns nothing if
  // there is neither.
  std::optional<double> Reduce(tensor::Reduction reduction) const {
    return elements_ ? ReduceElements(reduction) : Saved(reduction);
  }
  // Returns true if there are no elements, and no reduction that was saved is NaN or infinite.
  bool HasOnlyFiniteReductions() const { return !elements_ && are_saved_finite_; }
  // Returns the q-quantiles, 0 <= q <= 1, of the elements that are not NaN, interpolated as NumPy
  // does.  Returns nothing if there are no such elements.
  std::optional<std::vector<double>> Quantiles(const std::vector<double> &qs) const;
  // Returns the only element.
  std::optional<double> Scalar() const;
  // Returns the elements as doubles in row-major order, or an empty vector if there are no real
  // elements.
  std::vector<double> Numbers() const;
  // Returns about `most` of the elements, spread evenly, or all elements if there are no more than
  // `most`.  With given statistics, takes them from their sample.
  std::vector<double> SomeNumbers(int64_t most) const;
  // Returns the texts; empty for a tensor that does not hold texts.
  const std::vector<std::string_view> &Texts() const { return texts_; }

 private:
  // If this sample is an estimate that must be exact, returns the exact sample.  Otherwise returns
  // NULL.
  const Sample *Exact() const;
  void Compute() const;
  std::optional<double> ReduceElements(tensor::Reduction reduction) const;
  std::optional<double> Saved(tensor::Reduction reduction) const {
    const bool is_saved = (is_saved_ >> reduction.Index() & 1U) != 0;
    return is_saved ? std::optional<double>(saved_[reduction.Index()]) : std::nullopt;
  }
  // Returns the elements that figures are computed from.
  tensor::View Figured() const { return some_ ? some_->AsView() : *elements_; }

  StepPlace place_;
  std::string_view worker_;
  std::string_view tensor_;
  uint32_t number_ = 0;
  size_t role_ = 0;
  const config::Placement *placement_ = nullptr;
  std::optional<tensor::View> elements_;
  const tensor::GivenStatistics *given_ = nullptr;
  std::vector<std::string_view> texts_;
  std::array<double, tensor::kReductions> saved_;  // only those that `is_saved_` has a bit of
  uint32_t is_saved_ = 0;
  bool are_saved_finite_ = true;
  const Sample *whole_ = nullptr;  // the exact sample, if this is an estimate
  int64_t most_ = 0;
  mutable std::optional<tensor::SpreadElements> some_;
  mutable bool has_tried_ = false;
  mutable std::optional<tensor::Statistics> statistics_;
  mutable std::optional<tensor::Reducer> reducer_;
};

// Reports whether the tensor belongs to a weight that a layer multiplies with.  Others have one
// axis and more than one element, or "bias" in the last part of their name.
bool IsOfLayer(const Sample &sample);

}  // namespace smdebug::rules
