#include "rules/support/update_counts.h"

#include <algorithm>
#include <utility>

namespace smdebug::rules {
namespace {

constexpr size_t kMostWeights = 8;
constexpr int64_t kElements = 64;
constexpr double kLeastShare = 1.0 / 16;

}  // namespace

void UpdateCounts::Note(const Sample &weight) {
  auto known = last_.find(weight.Tensor());
  if (known == last_.end()) {
    if (last_.size() >= kMostWeights) return;
    last_.emplace(weight.Tensor(), weight.SomeNumbers(kElements));
    return;
  }
  std::vector<double> now = weight.SomeNumbers(kElements);
  is_compared_ = true;
  has_changed_ |= now != known->second;
  known->second = std::move(now);
}

void UpdateCounts::NoteBatches(const Sample &batches) {
  const double now = batches.Scalar().value_or(1);
  batches_ = now > 1 ? now : 1;
}

void UpdateCounts::EndStep() {
  if (is_compared_) ++steps_;
  if (has_changed_) ++updates_;
  is_compared_ = has_changed_ = false;
}

double UpdateCounts::Share() const {
  const double share =
      steps_ == 0 ? 0 : static_cast<double>(updates_) / static_cast<double>(steps_);
  if (batches_ > 1) return std::max(share, 1 / batches_);
  return share < kLeastShare ? 1 : share;
}

}  // namespace smdebug::rules
