#include "rules/support/faded_rates.h"

#include <algorithm>
#include <optional>

#include "base/strings.h"
#include "rules/support/words.h"

namespace smdebug::rules {
namespace {

constexpr int64_t kFewestSteps = 60;
constexpr int64_t kPart = 3;  // of the steps so far, one in three
constexpr int64_t kUnequal = 2;
constexpr int64_t kFewSteps = 10;  // of rules that evaluate each so many steps

}  // namespace

void FadedRates::Rate::NoteChange(double now, int64_t step) {
  if (now == last && changed >= 0) return;
  if (now >= largest) {
    largest = now;
    changed = step;
    shortest = INT64_MAX;
    longest = 0;
  } else {
    shortest = std::min(shortest, step - changed);
    longest = std::max(longest, step - changed);
    changed = step;
  }
  last = now;
}

bool FadedRates::Rate::WaitsForProgress() const {
  return longest > kUnequal * shortest && longest - shortest > kFewSteps;
}

void FadedRates::Add(const Sample &sample, Culprits *culprits) {
  const std::optional<double> now = sample.Scalar();
  if (!now || !(*now >= 0)) return;
  const int64_t step = sample.Place().mode_step;
  Rate &rate = rates_.Of(sample);
  if (rate.first < 0) rate.first = step;
  if (rate.low_since < 0 || *now >= rate.largest) rate.NoteChange(*now, step);
  if (!(*now < least_ * rate.largest)) {
    rate.low_since = -1;
    high_ = sample.Place().step;
    return;
  }
  low_ = sample.Place().step;
  if (rate.low_since < 0) rate.low_since = step;
  const int64_t steps = step - rate.low_since;
  if (steps < kFewestSteps || kPart * steps < step - rate.first) return;
  if (rate.WaitsForProgress()) return;
  culprits->Offer(sample, {-*now, *now, least_ * rate.largest, "faded"}, [&] {
    return StrCat("'", sample.Tensor(), "' has been below ", Shortest(100 * least_),
                  " % of its largest, ", Shortest(rate.largest), ", since step ", rate.low_since,
                  ", for more than a third of the training: its schedule may count steps where it "
                  "means epochs");
  });
}

}  // namespace smdebug::rules
