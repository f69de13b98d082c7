// The features and trees of a tree booster.
#pragma once

#include <string>
#include <vector>

#include "compact.h"
#include "inventory.h"

namespace smdebug::cli::report {

// The importance of features by one measure, the most important first.
struct Importance {
  std::string kind;  // such as "gain"
  int64_t step;      // the last saved step
  size_t all = 0;    // the number of all features; `features` has the most important ones
  std::vector<std::string> features;
  std::vector<MaybeNumber> values;
};

// The trees of each saved round.
struct Trees {
  std::vector<int64_t> steps;
  std::vector<MaybeNumber> depths;  // of the deepest tree; a single node has depth 0
  std::vector<MaybeNumber> nodes;   // of all trees
};

struct Booster {
  std::vector<Importance> importances;
  Trees trees;
};

// Returns true if ReadBooster() reads a tensor of this name.
bool IsOfBooster(const std::string &tensor);

// Omits what cannot be read.
Booster ReadBooster(const Inventory &inventory, Problems *problems);

void ToJson(const Booster &booster, JsonWriter *json);

}  // namespace smdebug::cli::report
