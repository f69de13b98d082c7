// Which tensor a finding is to name.
#pragma once

#include <string_view>
#include <vector>

#include "rules/detector.h"

namespace smdebug::rules {

struct Offence {
  double badness;  // to be compared with that of others; a number
  double value;
  double limit;
  std::string_view label = "";
};

// Keeps the worst tensor of each worker and check at a step.
class Culprits {
 public:
  // Of several that are equally bad the first is kept.  `say` makes the finding's message; it
  // is only called for one that is kept.
  template <class Say>
  void Offer(const Sample &sample, const Offence &offence, Say say) {
    if (Verdict *kept = Keep(sample, offence)) kept->message = say();
  }

  // Adds them in the order in which the checks first failed, and forgets them.
  void Report(Findings &findings);

 private:
  struct Culprit {
    double badness;
    Verdict verdict;
  };

  // Where the message is to go, or NULL if a worse one is known.
  Verdict *Keep(const Sample &sample, const Offence &offence);

  std::vector<Culprit> culprits_;
};

}  // namespace smdebug::rules
