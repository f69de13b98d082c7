// Tells losses that are trained against each other from parts of one training.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "rules/support/sample.h"

namespace smdebug::rules {

// Follows the losses of one worker's training steps.  In an adversarial training each update of a
// network is a step of its own, which has that network's loss alone; neither loss has to fall, for
// the other network learns as well.  For one thread.
class Opponents {
 public:
  // Notes a loss of a training step.
  void Note(const Sample &loss);
  // Returns whether several losses take turns, and no step has two of them; or the number of losses
  // changes at most steps, as that of a discriminator, of real and of false samples, and a
  // generator.
  bool Are() const;

 private:
  std::map<std::string, int64_t, std::less<>> steps_;  // by loss
  int64_t all_steps_ = 0;
  int64_t last_step_ = -1;
  std::string last_;
  bool has_shared_step_ = false;
  int64_t losses_ = 0;         // of the last step
  int64_t losses_before_ = 0;  // of the step before
  int64_t changes_ = 0;        // steps with another number than the one before
};

}  // namespace smdebug::rules
