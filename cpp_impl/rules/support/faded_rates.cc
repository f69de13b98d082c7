#include "rules/support/faded_rates.h"

#include <algorithm>
#include <optional>

#include "base/strings.h"
#include "rules/support/words.h"

namespace smdebug::rules {
namespace {

constexpr int64_t kFewestSteps = 60;
constexpr int64_t kPart = 3;  // of the steps so far, one in three

}  // namespace

void FadedRates::Add(const Sample &sample, Culprits *culprits) {
  const std::optional<double> now = sample.Scalar();
  if (!now || !(*now >= 0)) return;
  const int64_t step = sample.Place().mode_step;
  Rate &rate = rates_.Of(sample);
  if (rate.first < 0) rate.first = step;
  rate.largest = std::max(rate.largest, *now);
  if (!(*now < least_ * rate.largest)) {
    rate.low_since = -1;
    return;
  }
  if (rate.low_since < 0) rate.low_since = step;
  const int64_t steps = step - rate.low_since;
  if (steps < kFewestSteps || kPart * steps < step - rate.first) return;
  culprits->Offer(sample, {-*now, *now, least_ * rate.largest, "faded"}, [&] {
    return StrCat("'", sample.Tensor(), "' has been below ", Shortest(100 * least_),
                  " % of its largest, ", Shortest(rate.largest), ", since step ", rate.low_since,
                  ", for more than a third of the training: its schedule may count steps where it "
                  "means epochs");
  });
}

}  // namespace smdebug::rules
