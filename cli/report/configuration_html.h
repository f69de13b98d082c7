// The configuration of a trial and its rules, as HTML without scripts.
#pragma once

#include <string>
#include <vector>

#include "inventory.h"
#include "request.h"
#include "run_facts.h"

namespace smdebug::cli::report {

// Returns the path, steps, modes, workers and tensors, and when, where and with what the job ran.
std::string TrialFactsHtml(const Trial &trial, const Inventory &inventory, const RunFacts &facts);

// Returns collections with their save and reduction configs, what the job recorded about
// itself, hyperparameters, and the parameters of rules.  `rules` is the number of evaluated rules.
// Omits what cannot be read.
std::string ConfigurationHtml(const ReportRequest &request, const Inventory &inventory,
                              const RunFacts &facts, size_t rules, Problems *problems);

// A part of the configuration, for the comparison of several runs.
struct Setting {
  std::string name;
  std::string html;  // its value
};
// Omits what cannot be read.
std::vector<Setting> SettingsOf(const Trial &trial, const Inventory &inventory,
                                const RunFacts &facts, Problems *problems);

// Returns what could not be read; "" if everything could.
std::string ProblemsHtml(const Problems &problems);

}  // namespace smdebug::cli::report
