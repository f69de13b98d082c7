// What the rules say of a trial.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "problems.h"
#include "request.h"

namespace smdebug::cli::report {

// What one rule has found.
struct RuleFindings {
  std::string rule;
  std::string summary;            // what the rule looks for
  std::vector<int64_t> steps;     // of all findings, ascending
  std::vector<Verdict> findings;  // the first of them, by step
};

struct Judgement {
  // Causes before symptoms, as a loss that does not fall, and both by their first steps: the
  // culprit is the first of the first.
  std::vector<RuleFindings> found;
  std::vector<Verdict> outcomes;  // of the other rules, in the order of the request
  std::vector<UnaskedRule> unasked;
  std::map<std::string, std::string> summaries;  // of all built-in rules

  std::map<std::string, std::set<int64_t>> steps_by_tensor;  // of all findings

  std::map<std::string, size_t> count_by_worker;

  bool HasFinding(const std::string &tensor, int64_t step) const;
  // Tensors and steps with findings, the first ones first, each once.
  std::vector<std::string> CulpritTensors() const;
  std::vector<int64_t> CulpritSteps() const;
  size_t CountFindings() const;
};

// Judges all steps but those that cannot be read.  Fails as Panel::Add() and Problems::Try().
Judgement Judge(const ReportRequest &request, Problems *problems);

}  // namespace smdebug::cli::report
