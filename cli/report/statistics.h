// How large the tensors of layers were, step by step.
#pragma once

#include <string>
#include <vector>

#include "compact.h"
#include "inventory.h"
#include "judgement.h"

namespace smdebug::cli::report {

// Of one tensor.
struct LayerStatistics {
  std::string tensor;
  std::vector<std::string> collections;
  std::vector<size_t> found;  // columns at which a rule found something
  // [worker][statistic][step]; a worker that did not save it has no statistics.
  std::vector<std::vector<std::vector<MaybeNumber>>> numbers;
};

struct Statistics {
  std::vector<int64_t> steps;      // global numbers; of one mode, where layers were saved in it
  std::vector<StepPlace> places;   // of these steps
  size_t all_steps = 0;            // of which these are a sample
  std::vector<std::string> names;  // as "l2"
  std::vector<std::string> workers;
  std::vector<LayerStatistics> layers;
  size_t all_layers = 0;  // of which these are some
};

// Statistics that were saved, or computed of values that were; three at most, of which everything
// is measured by the same.  What cannot be read is left out.
Statistics ReadStatistics(const Trial &trial, const Inventory &inventory,
                          const Judgement &judgement, Problems *problems);

void ToJson(const Statistics &statistics, JsonWriter *json);

}  // namespace smdebug::cli::report
