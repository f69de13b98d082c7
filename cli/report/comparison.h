// The tables that compare several runs, as HTML without scripts.
#pragma once

#include <string>
#include <vector>

#include "configuration_html.h"
#include "curves.h"
#include "rule_report.h"

namespace smdebug::cli::report {

// A run of several, and what was read of it.
struct ComparedRun {
  std::string name;  // unlike those of the others
  std::string path;
  std::string state;  // "ended", "not ended" or "failed"
  RuleReport rules;
  Inventory inventory;
  Curves curves;
  std::vector<Setting> settings;
};

// Returns the box on top: how many runs have findings, and which is the likeliest cause of each.
std::string ComparisonHeadlineHtml(const std::vector<ComparedRun> &runs);

// Returns the state, last loss, likely causes and findings of the runs, side by side.
std::string FindingsTableHtml(const std::vector<ComparedRun> &runs);

// Returns what differs in the configurations.
std::string DifferencesHtml(const std::vector<ComparedRun> &runs);

}  // namespace smdebug::cli::report
