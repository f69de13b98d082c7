// Finds weights that never get a gradient, while others do.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "rules/finding.h"
#include "rules/support/updated_weight.h"

namespace smdebug::rules {

// Reports whether a weight never had a gradient and never changed.  One that changes is trained,
// and its gradient not recorded, or is an average of others.
bool IsLeftOut(const UpdatedWeight &parameter);

// Weights that had no gradient so far.
struct LeftOut {
  std::vector<const UpdatedWeight *> due;     // since long enough; those of an optimizer come first
  std::vector<const UpdatedWeight *> unused;  // the same, of layers that the model does not use
  int64_t without = 0;
  int64_t with = 0;          // weights that had one
  bool has_telling = false;  // not only biases of zeros, which may be averages of others
};

// Counts a step with gradients; a weight is due, once, after `patience` of these.
LeftOut FindLeftOut(std::map<std::string, UpdatedWeight> &parameters, int64_t patience);

// Both are for at least one weight.
Finding FindingOfLeftOut(const std::string &worker, const std::vector<const UpdatedWeight *> &due,
                         int64_t patience, bool is_to_update);
Finding LookAtUnused(const std::string &worker, const std::vector<const UpdatedWeight *> &unused,
                     int64_t patience);

}  // namespace smdebug::rules
