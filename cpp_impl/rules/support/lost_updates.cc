#include "rules/support/lost_updates.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace smdebug::rules {
namespace {

// Returns a bound on the chance of at most `hits` of `tries`, each with this probability.
double ChanceOfSoFew(double hits, double tries, double probability) {
  const double share = tries > 0 ? hits / tries : 1;
  if (share >= probability || probability <= 0) return 1;
  const double rest = 1 - share;
  double exponent = share > 0 ? share * std::log(share / probability) : 0;
  exponent += rest > 0 ? rest * std::log(rest / std::max(1e-3, 1 - probability)) : 0;
  return std::exp(-tries * exponent);
}

}  // namespace

std::optional<LostUpdates::Counts> LostUpdates::Add(const std::vector<double> &elements,
                                                    int64_t half) {
  if (elements.size() != last_.size()) {
    *this = {};
    first_.resize(elements.size());
    second_.resize(elements.size());
    last_ = elements;
    return std::nullopt;
  }
  std::vector<uint8_t> &changed = steps_ < half ? first_ : second_;
  for (size_t i = 0; i < elements.size(); ++i) {
    if (elements[i] != last_[i]) changed[i] = 1;
  }
  last_ = elements;
  if (++steps_ < 2 * half) return std::nullopt;
  const Counts counts = Sum();
  // The second half is the first of the next window.
  first_ = std::exchange(second_, std::vector<uint8_t>(last_.size()));
  steps_ = half;
  return counts;
}

LostUpdates::Counts LostUpdates::Sum() const {
  Counts counts;
  for (size_t i = 0; i < last_.size(); ++i) {
    if (last_[i] == 0) continue;
    (first_[i] != 0 ? counts.changed : counts.stayed) += 1;
    if (second_[i] != 0) (first_[i] != 0 ? counts.of_changed : counts.of_stayed) += 1;
  }
  return counts;
}

void LostUpdates::Counts::Add(const Counts &other) {
  stayed += other.stayed;
  of_stayed += other.of_stayed;
  changed += other.changed;
  of_changed += other.of_changed;
}

double LostUpdates::Counts::ShareOfNeither() const {
  const double all = stayed + changed;
  return all > 0 ? (stayed - of_stayed) / all : 0;
}

double LostUpdates::Counts::Ratio() const {
  const double usual = changed > 0 ? of_changed / changed : 0;
  return stayed > 0 && usual > 0 ? of_stayed / stayed / usual : 1;
}

double LostUpdates::Counts::Chance() const {
  return changed > 0 ? ChanceOfSoFew(of_stayed, stayed, of_changed / changed) : 1;
}

}  // namespace smdebug::rules
