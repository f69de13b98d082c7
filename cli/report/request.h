// Writes a page about a trial, or about several.
#pragma once

#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include "damage.h"
#include "rule_list.h"
#include "smdebug.hpp"

namespace smdebug::cli::report {

struct ReportRequest {
  const Trial &trial;
  std::vector<RuleRequest> rules;                   // the requests for AddRules()
  std::string profile;                              // "calibrated", "aws" or "llm"
  Damage &damage;                                   // of the trial, so far
  std::map<std::string, std::string> options = {};  // those of --set
  std::string profile_path = "";                    // "": what FindProfile() returns
};

struct ReportSummary {
  size_t findings = 0;
  size_t rules_with_findings = 0;
  size_t rules_worth_a_look = 0;  // without findings
  size_t profile_findings = 0;
};

// Writes one self-contained HTML file, which needs no network.  Omits what cannot be read, and
// lists it in the page.  Fails as smdebug::RuleSet::Add(), smdebug::Trial::Steps() and
// ReadProfile(), and if a server does not answer.
ReportSummary WriteReport(const ReportRequest &request, std::ostream &out);

// The number of runs that a page compares.
constexpr size_t kMostRuns = 16;

// Writes one such file that compares the runs: findings, curves and configurations.  The summary
// counts those of all runs.  Fails as WriteReport().
ReportSummary WriteComparison(const std::vector<ReportRequest> &requests, std::ostream &out);

}  // namespace smdebug::cli::report
