// How the elements of chosen tensors were spread, step by step.
#pragma once

#include <string>
#include <vector>

#include "compact.h"
#include "inventory.h"
#include "judgement.h"

namespace smdebug::cli::report {

// Of one tensor, as its first worker saved it.
struct Histograms {
  struct Row {
    int64_t step;
    std::vector<size_t> counts;  // a bin each; what is beyond the edges is in the outer ones
    size_t odd = 0;              // elements that are not finite
    bool is_found = false;       // by a rule
  };
  std::string tensor;
  size_t elements = 0;  // looked at, of each step
  std::vector<MaybeNumber> edges;
  std::vector<Row> rows;
};

// Of culprits, then of weights, gradients and others evenly; only where values were saved.  What
// cannot be read is left out.
std::vector<Histograms> ReadHistograms(const Trial &trial, const Inventory &inventory,
                                       const Judgement &judgement, Problems *problems);

void ToJson(const std::vector<Histograms> &all, JsonWriter *json);

}  // namespace smdebug::cli::report
