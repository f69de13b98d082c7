// Histograms of selected tensors over the steps.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compact.h"
#include "inventory.h"
#include "rule_report.h"

namespace smdebug::cli::report {

// The histograms of one tensor, as its first worker saved it.
struct Histograms {
  struct Row {
    int64_t step;
    std::vector<size_t> counts;  // one per bin; the outer bins include elements beyond the edges
    size_t odd = 0;              // the number of non-finite elements
    bool is_found = false;       // a rule has a finding at this step
  };
  std::string tensor;
  size_t elements = 0;  // the number of elements sampled at each step
  std::vector<MaybeNumber> edges;
  double unit = 0;  // bins grow beyond this size; 0: all are equal
  std::vector<Row> rows;
};

// Reads the histograms of culprits, then of an even selection of weights, gradients and others, as
// far as their values were saved.  Omits what cannot be read.
std::vector<Histograms> ReadHistograms(const Trial &trial, const Inventory &inventory,
                                       const RuleReport &report, Problems *problems);

// Reads those of one tensor of a worker; "" is the first one.  Returns nothing if the values were
// saved at none of these steps.
std::optional<Histograms> ReadHistogramsOf(const Tensor &tensor, const std::string &worker,
                                           const std::vector<int64_t> &steps);

void ToJson(const Histograms &histograms, JsonWriter *json);
void ToJson(const std::vector<Histograms> &all, JsonWriter *json);

}  // namespace smdebug::cli::report
