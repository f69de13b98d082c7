// Statistics of layers over the steps.
#pragma once

#include <string>
#include <vector>

#include "compact.h"
#include "inventory.h"
#include "rule_report.h"

namespace smdebug::cli::report {

// The statistics of one tensor.
struct LayerStatistics {
  std::string tensor;
  std::vector<std::string> collections;
  std::vector<size_t> found;  // the columns with findings
  // [worker][statistic][step]; empty for a worker that did not save the tensor.
  std::vector<std::vector<std::vector<MaybeNumber>>> numbers;
};

struct Statistics {
  std::vector<int64_t> steps;      // global numbers; only of the main mode if it has layers
  std::vector<StepPlace> places;   // the modes of these steps
  size_t all_steps = 0;            // the number of all steps; `steps` is a sample
  std::vector<std::string> names;  // such as "l2"
  std::vector<std::string> workers;
  std::vector<LayerStatistics> layers;
  size_t all_layers = 0;            // the number of all layers; `layers` is a selection
  std::vector<std::string> hidden;  // names of the first layers that are not in `layers`
};

// Reads saved statistics, or computes them from saved values.  Chooses at most three statistics,
// the same for all layers.  Omits what cannot be read.
Statistics ReadStatistics(const Trial &trial, const Inventory &inventory, const RuleReport &report,
                          Problems *problems);

void ToJson(const Statistics &statistics, JsonWriter *json);

}  // namespace smdebug::cli::report
