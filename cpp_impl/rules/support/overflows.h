// Tells gradients that overflow, which loss scaling expects, from a training that breaks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rules/finding.h"
#include "rules/support/parameters.h"
#include "rules/support/sample.h"

namespace smdebug::rules {

// The parameter of rules that hold back such findings.
inline constexpr ParameterSpec kLossScaling = {
    "loss_scaling", "False", "True",
    "true allows gradients to overflow, unless another tensor is non-finite at that step or the "
    "next, or it lasts 32 steps"};

// Holds back findings of gradients that are not finite.  With loss scaling, gradients overflow now
// and then; the optimiser skips that step and nothing else becomes non-finite.  A finding is
// released if another tensor is not finite at that step or the next, or if gradients overflow for
// many steps in a row.  For one thread.
class Overflows {
 public:
  // If not `is_tolerant`, releases each finding at once.
  explicit Overflows(bool is_tolerant) : is_tolerant_(is_tolerant) {}

  // Notes the finding of a tensor that is not finite.  Returns what to report now, or nothing.
  std::optional<Finding> Note(const Sample &sample, Finding finding);
  // Ends a step.  Returns the findings that it releases.  Steps of evaluation, which have no
  // gradients, neither release nor clear any.
  std::vector<Finding> EndStep(const StepPlace &place);

 private:
  struct Worker {
    std::optional<Finding> suspect;  // the first gradient that overflowed
    int64_t first_step = -1;         // at which it did
    int64_t last_step = -1;          // the last step at which one did
    int64_t steps = 0;               // in a row
  };

  const bool is_tolerant_;
  std::map<std::string, Worker, std::less<>> workers_;
};

}  // namespace smdebug::rules
