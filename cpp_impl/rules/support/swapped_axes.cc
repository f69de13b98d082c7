#include "rules/support/swapped_axes.h"

#include <algorithm>

namespace smdebug::rules {
namespace {

constexpr size_t kMostInputs = 64;
constexpr size_t kAxes = 3;  // of sequences of vectors

}  // namespace

void SwappedAxes::AddInput(const Sample &sample, bool is_sequence) {
  const tensor::View *const form = sample.Form();
  if (form == nullptr || form->shape.empty()) return;
  if (!first_) first_ = form->shape[0];
  if (!is_sequence || form->shape.size() != kAxes || now_.size() >= kMostInputs) return;
  now_.insert_or_assign(std::string(sample.Tensor()), Axes{form->shape[0], form->shape[1]});
}

std::optional<SwappedAxes::Swapped> SwappedAxes::AddTargets(const Sample &targets, int64_t steps) {
  const tensor::View *const form = targets.Form();
  if (form == nullptr || form->shape.empty() || form->shape.size() >= kAxes) return std::nullopt;
  std::optional<Swapped> found;
  const int64_t samples = form->shape[0];
  for (const auto &[input, axes] : now_) {
    const int64_t second = axes.second;
    // Where there is a target for each place of a sequence, either axis may be that of samples.
    const bool is_among =
        std::find(form->shape.begin(), form->shape.end(), second) != form->shape.end();
    // A model that swaps axes itself gets samples along the first one.
    const bool is_swapped = axes.first == samples && first_ == samples && !is_among;
    if (!is_swapped && all_.find(input) == all_.end()) continue;
    Swapped &swapped = all_[input];
    swapped = {input, samples, second, is_swapped ? swapped.steps + 1 : 0};
    if (!found && swapped.steps >= steps) found = swapped;
  }
  // Further losses of the step say nothing new.
  now_.clear();
  return found;
}

}  // namespace smdebug::rules
