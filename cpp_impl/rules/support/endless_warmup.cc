#include "rules/support/endless_warmup.h"

#include <bit>
#include <cmath>
#include <utility>

#include "base/strings.h"
#include "rules/support/tensor_names.h"
#include "rules/support/told.h"
#include "rules/support/words.h"

namespace smdebug::rules {
namespace {

// The first rise comes before this part of the training, and the last one after that.
constexpr double kEarly = 0.25;
constexpr double kLate = 0.8;

// A schedule by epochs has few rises.
constexpr int64_t kFewestRises = 4;

// How far a warm-up takes the rate at least.
constexpr double kLeastRise = 2;

// From an update in the second quarter to the last one, a warm-up multiplies the rate by 2 to 4; if
// it rises as a parabola, as that of a one-cycle schedule does at first, by 16 at most.
constexpr double kMostOfLast = 20;

}  // namespace

void EndlessWarmups::Rate::Add(double rate) {
  if (count == 0) first = last = rate;
  if (rate < last) has_fallen = true;
  if (rate > last) {
    if (rises++ == 0) first_rise = count;
    last_rise = count;
  }
  last = rate;
  ++count;
  if (std::has_single_bit(static_cast<uint64_t>(count))) {
    at_power_before = std::exchange(at_power, rate);
  }
}

bool EndlessWarmups::Rate::RisesToTheEnd() const {
  const auto updates = static_cast<double>(count);
  return !has_fallen && rises >= kFewestRises &&
         static_cast<double>(first_rise) <= kEarly * updates &&
         static_cast<double>(last_rise) >= kLate * updates && last >= kLeastRise * first &&
         last <= kMostOfLast * at_power_before;
}

void EndlessWarmups::Add(const Sample &sample, double rate) {
  if (!std::isfinite(rate) || !IsTraining(sample.Place().mode)) return;
  Rate &known = rates_[{std::string(sample.Worker()), std::string(sample.Tensor())}];
  known.place = sample.Place();
  known.Add(rate);
}

void EndlessWarmups::Report(Findings &findings) const {
  const std::string *told = nullptr;
  for (const auto &[place, rate] : rates_) {
    const auto &[worker, tensor] = place;
    const bool is_told = told != nullptr && *told == worker;
    if (is_told || rate.count < least_ || !rate.RisesToTheEnd()) continue;
    told = &worker;
    const double part = static_cast<double>(rate.last_rise) / static_cast<double>(rate.count);
    findings.AddAt(
        rate.place,
        FindingOf({worker, tensor}, "warmup", part, kLate,
                  StrCat("'", tensor, "' rose until the training ended, after ", rate.count,
                         " updates: at ", Shortest(rate.last), " its warm-up was not over")));
  }
}

}  // namespace smdebug::rules
