#include "rules/culprits.h"

#include <algorithm>

namespace smdebug::rules {

Verdict *Culprits::Keep(const Sample &sample, const Offence &offence) {
  auto culprit = std::find_if(culprits_.begin(), culprits_.end(), [&](const Culprit &each) {
    return each.verdict.worker == sample.Worker() && each.verdict.label == offence.label;
  });
  if (culprit == culprits_.end()) {
    culprit = culprits_.insert(culprit, Culprit{offence.badness, {}});
  } else if (!(offence.badness > culprit->badness)) {
    return nullptr;
  }
  culprit->badness = offence.badness;
  Verdict &verdict = culprit->verdict;
  verdict.worker = sample.Worker();
  verdict.tensor = sample.Tensor();
  verdict.value = offence.value;
  verdict.limit = offence.limit;
  verdict.label = offence.label;
  return &verdict;
}

void Culprits::Report(Findings &findings) {
  for (Culprit &culprit : culprits_) findings.Add(std::move(culprit.verdict));
  culprits_.clear();
}

}  // namespace smdebug::rules
