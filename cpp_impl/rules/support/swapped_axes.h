// Finds modules that take another axis for the samples than the loss does.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "rules/support/sample.h"

namespace smdebug::rules {

// A module of sequences that takes the second axis for the samples, as those of PyTorch do unless
// they get batch_first=True, mixes samples if they lie along the first one.  Follows the training
// steps of one worker.  For one thread.
class SwappedAxes {
 public:
  // Takes an input of a module, in the order in which modules end; `is_sequence`: of such a one.
  void AddInput(const Sample &sample, bool is_sequence);
  void EndStep() {
    now_.clear();
    first_.reset();
  }

  struct Swapped {
    std::string input;
    int64_t samples;    // along the first axis
    int64_t length;     // of the second one
    int64_t steps = 0;  // consecutive
  };
  // Takes the targets of a loss, one for each sample.  Returns an input of this step whose axes
  // were swapped at `steps` consecutive steps with targets, or more.
  std::optional<Swapped> AddTargets(const Sample &targets, int64_t steps);

 private:
  struct Axes {
    int64_t first;
    int64_t second;
  };
  std::optional<int64_t> first_;                     // size of what the first module got
  std::map<std::string, Axes, std::less<>> now_;     // by input, of this step
  std::map<std::string, Swapped, std::less<>> all_;  // by input
};

}  // namespace smdebug::rules
