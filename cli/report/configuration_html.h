// How a trial was recorded and judged, as HTML that needs no script.
#pragma once

#include <string>

#include "inventory.h"
#include "request.h"

namespace smdebug::cli::report {

// Path, steps, modes, workers, tensors.
std::string TrialFactsHtml(const Trial &trial, const Inventory &inventory);

// Collections with their save and reduction configs, hyperparameters, and the parameters of rules,
// of which `rules` judged.  What cannot be read is left out.
std::string ConfigurationHtml(const ReportRequest &request, const Inventory &inventory,
                              size_t rules, Problems *problems);

// What could not be read; "" if that is nothing.
std::string ProblemsHtml(const Problems &problems);

}  // namespace smdebug::cli::report
