// Tells infinities that a model means, as those of masks, from a training that breaks.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "rules/finding.h"
#include "rules/support/sample.h"

namespace smdebug::rules {

// Attention adds minus infinity to the scores of what it leaves out.  So a tensor that a module
// takes or returns may hold it: a tensor with "mask" in its name, and one that held it in its first
// value, if nothing else becomes non-finite at that step.  For one thread.
class Masks {
 public:
  // Notes the finding of a tensor that is not finite.  `is_first`: it was never finite before.
  // Returns what to report now, or nothing.
  std::optional<Finding> Note(const Sample &sample, bool is_first, Finding finding);
  void EndStep();

 private:
  struct Worker {
    std::optional<Finding> suspect;            // the first tensor of this step that may be masked
    std::set<std::string, std::less<>> now;    // all of this step
    std::set<std::string, std::less<>> known;  // of steps at which nothing else was not finite
  };

  std::map<std::string, Worker, std::less<>> workers_;
};

}  // namespace smdebug::rules
