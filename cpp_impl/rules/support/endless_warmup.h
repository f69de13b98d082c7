// Finds learning rates that rise until the training ends.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "rules/rule.h"

namespace smdebug::rules {

// A warm-up ends early in a training.  One that is counted in other units than the training, or is
// longer, never lets the rate rise to what was chosen.  A search for a rate multiplies it at each
// step, and is spared.  For one thread.
class EndlessWarmups {
 public:
  // A training of fewer updates is no evidence.
  explicit EndlessWarmups(int64_t least) : least_(least) {}

  // Takes a learning rate of a training step.
  void Add(const Sample &sample, double rate);

  // Tells, at the end of the job, of each worker which rate rose until then.
  void Report(Findings &findings) const;

 private:
  struct Rate {
    StepPlace place{-1, Mode::kGlobal, -1};  // of the last update
    int64_t count = 0;                       // of updates
    double first = 0;
    double last = 0;
    bool has_fallen = false;
    int64_t rises = 0;
    int64_t first_rise = 0;  // the updates before it
    int64_t last_rise = 0;
    // The rate at the last update whose number is a power of two, and at that of the power before,
    // which is in the second quarter of all updates.
    double at_power = 0;
    double at_power_before = 0;

    void Add(double rate);
    bool RisesToTheEnd() const;
  };

  const int64_t least_;
  std::map<std::pair<std::string, std::string>, Rate> rates_;  // by worker and tensor
};

}  // namespace smdebug::rules
