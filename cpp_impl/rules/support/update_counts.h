// Counts how many of a job's steps update weights.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "rules/support/sample.h"

namespace smdebug::rules {

// With accumulation of gradients, or where loss scaling skips steps, a job records more steps than
// it updates weights.  Follows a few weights of one worker.  For one thread.
class UpdateCounts {
 public:
  // Notes a weight.  The first weights of a job stand for all.
  void Note(const Sample &weight);
  // Notes how many batches the hook says that an update takes.
  void NoteBatches(const Sample &batches);
  // Ends the step.
  void EndStep();
  // Returns the share of steps that changed a weight, 1 if no weight ever changed or too seldom for
  // an accumulation that the hook knows nothing of: something else is then wrong.
  double Share() const;

 private:
  std::map<std::string, std::vector<double>, std::less<>> last_;
  bool is_compared_ = false;
  bool has_changed_ = false;
  int64_t steps_ = 0;
  int64_t updates_ = 0;
  double batches_ = 1;
};

}  // namespace smdebug::rules
