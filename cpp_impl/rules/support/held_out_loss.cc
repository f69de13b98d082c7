#include "rules/support/held_out_loss.h"

#include <algorithm>
#include <cmath>

namespace smdebug::rules {
namespace {

constexpr double kNoBetter = 0.99;
constexpr double kSameKind = 1.5;
constexpr int64_t kLeastLate = 3;

}  // namespace

void HeldOutLoss::Add(double loss, double updates, bool is_late) {
  if (updates != updates_) Close();
  updates_ = updates;
  is_late_ = is_late;
  sum_ += loss;
  ++batches_;
}

void HeldOutLoss::Close() {
  if (batches_ == 0) return;
  if (std::isinf(least_)) first_ = Now();
  least_ = std::min(least_, Now());
  most_ = std::max(most_, Now());
  late_ += is_late_ ? 1 : 0;
  sum_ = 0;
  batches_ = 0;
}

bool HeldOutLoss::IsNoBetterThan(double guess) const {
  return batches_ > 0 && is_late_ && late_ + 1 >= kLeastLate &&
         std::min(least_, Now()) > kNoBetter * guess && std::max(most_, Now()) < kSameKind * guess;
}

}  // namespace smdebug::rules
