#include "rules/support/culprits.h"

#include <algorithm>
#include <cmath>

namespace smdebug::rules {
namespace {

// Sums depend on the order of elements in memory, which a stored tensor need not share with the
// one that was recorded.  The same tensor must be named for both.
constexpr double kLeastDifference = 1e-9;

bool IsWorse(double badness, double known) {
  if (!std::isfinite(known)) return badness > known;
  return badness - known > kLeastDifference * std::fabs(known);
}

}  // namespace

Finding *Culprits::Keep(const Sample &sample, const Offence &offence) {
  auto culprit = std::find_if(culprits_.begin(), culprits_.end(), [&](const Culprit &each) {
    return each.finding.worker == sample.Worker() && each.finding.check == offence.check;
  });
  if (culprit == culprits_.end()) {
    culprit = culprits_.insert(culprit, Culprit{offence.badness, {}});
  } else if (!IsWorse(offence.badness, culprit->badness)) {
    return nullptr;
  }
  culprit->badness = offence.badness;
  Finding &finding = culprit->finding;
  finding.worker = sample.Worker();
  finding.tensor = sample.Tensor();
  finding.value = offence.value;
  finding.limit = offence.limit;
  finding.check = offence.check;
  finding.level = offence.level;
  return &finding;
}

void Culprits::Report(Findings &findings) {
  for (Culprit &culprit : culprits_) findings.Add(std::move(culprit.finding));
  culprits_.clear();
}

}  // namespace smdebug::rules
