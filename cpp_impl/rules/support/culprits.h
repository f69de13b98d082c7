// Selects the tensor that a finding names.
#pragma once

#include <string_view>
#include <vector>

#include "rules/rule.h"

namespace smdebug::rules {

struct Offence {
  double badness;  // compared with that of other tensors; not NaN
  double value;
  double limit;
  std::string_view check = "";
  Level level = Level::kFinding;
};

// Keeps the worst tensor of each worker and check at a step.
class Culprits {
 public:
  // If several tensors are equally bad, the first is kept.  `say` makes the finding's message and
  // is called only for a tensor that is kept.
  template <class Say>
  void Offer(const Sample &sample, const Offence &offence, Say say) {
    if (Finding *kept = Keep(sample, offence)) kept->message = say();
  }

  // Forgets the findings for which `is_spared` returns true.
  template <class IsSpared>
  void Spare(IsSpared is_spared) {
    std::erase_if(culprits_, [&](const Culprit &each) { return is_spared(each.finding); });
  }

  // Adds the findings in the order in which the checks first failed, then forgets them.
  void Report(Findings &findings);

 private:
  struct Culprit {
    double badness;
    Finding finding;
  };

  // Returns the finding whose message is to be set, or NULL if a worse tensor is known.
  Finding *Keep(const Sample &sample, const Offence &offence);

  std::vector<Culprit> culprits_;
};

}  // namespace smdebug::rules
