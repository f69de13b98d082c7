// What a booster of trees learned: which features it uses, and how deep its trees are.
#pragma once

#include <string>
#include <vector>

#include "compact.h"
#include "inventory.h"

namespace smdebug::cli::report {

// How important features are, by one measure, the most important first.
struct Importance {
  std::string kind;  // as "gain"
  int64_t step;      // the last that was saved
  size_t all = 0;    // features, of which these are the most important
  std::vector<std::string> features;
  std::vector<MaybeNumber> values;
};

// The trees of each round that was saved.
struct Trees {
  std::vector<int64_t> steps;
  std::vector<MaybeNumber> depths;  // of the deepest; one node has depth 0
  std::vector<MaybeNumber> nodes;   // of all
};

struct Booster {
  std::vector<Importance> importances;
  Trees trees;
};

// What cannot be read is left out.
Booster ReadBooster(const Inventory &inventory, Problems *problems);

void ToJson(const Booster &booster, JsonWriter *json);

}  // namespace smdebug::cli::report
