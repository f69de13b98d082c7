// The results of rules over a trial.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "problems.h"
#include "request.h"

namespace smdebug::cli::report {

// The findings of one rule, or what it found worth a look if it has none.
struct RuleFindings {
  std::string rule;
  std::string summary;            // describes when the rule finds something
  std::vector<int64_t> steps;     // the steps of all findings, ascending
  std::vector<Finding> findings;  // the first findings, by step

  Level GetLevel() const { return findings.front().level; }
};

struct RuleReport {
  // Findings precede what is worth a look, causes precede symptoms (such as a loss that does not
  // fall), and all are sorted by their first steps.  The culprit is the first finding of the first
  // rule.
  std::vector<RuleFindings> found;
  std::vector<RuleResult> others;  // rules without findings, in the order of the request
  std::vector<SkippedRule> skipped;
  std::vector<Cause> causes;                     // the likely ones, the likeliest first
  bool is_aws = false;                           // the profile "aws" decided
  std::map<std::string, std::string> summaries;  // for all built-in rules

  std::map<std::string, std::set<int64_t>> steps_by_tensor;  // for all findings

  std::map<std::string, size_t> count_by_worker;

  bool HasFinding(const std::string &tensor, int64_t step) const;
  // Return tensors and steps with findings, in order of the findings and without repetitions.
  std::vector<std::string> CulpritTensors() const;
  std::vector<int64_t> CulpritSteps() const;
  size_t CountFindings() const;
  // Returns the number of rules that found something of that level.
  size_t CountRules(Level level) const;
};

// Evaluates all readable steps.  Fails as RuleSet::Add() and Problems::Try().
RuleReport EvaluateRules(const ReportRequest &request, Problems *problems);

}  // namespace smdebug::cli::report
