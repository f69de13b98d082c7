// A page about a trial.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "rule_list.h"
#include "smdebug.hpp"

namespace smdebug::cli::report {

struct ReportRequest {
  const Trial &trial;
  std::vector<RuleRequest> rules;    // as AddRules() takes them
  std::string profile;               // "aws" or "calibrated"
  std::vector<std::string> damages;  // what was wrong with the trial's files so far, for people
};

struct ReportSummary {
  size_t findings = 0;
  size_t rules_with_findings = 0;
};

// Writes one HTML file that needs no other and no network.  What of the trial cannot be read is
// said in the page and left out.  Fails: as smdebug::Panel::Add(), as smdebug::Trial::Steps(), and
// where a server does not answer.
ReportSummary WriteReport(const ReportRequest &request, std::ostream &out);

}  // namespace smdebug::cli::report
