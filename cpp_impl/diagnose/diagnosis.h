// Ranks the likely causes of what a rule set has found.
#pragma once

#include <string>
#include <vector>

#include "diagnose/cause.h"
#include "diagnose/table.h"
#include "diagnose/traits.h"
#include "rules/evidence.h"
#include "rules/finding.h"

namespace smdebug::diagnose {

// A cause, why it is likely, and what would make it more or less so.
struct LikelyCause {
  Cause cause;
  double confidence = 0;        // the chance that it is the cause; calibrated
  std::vector<Group> evidence;  // what speaks for it, the strongest first
  // Rules that saw no tensors, or too few, and whose findings would speak for or against it.
  std::vector<std::string> missing;
};

// The chance of each cause of a table, and last that of "none of these".
using Chances = std::vector<double>;

Chances ChancesOf(const Findings &findings, const Table &table);

// Returns the confidence that a cause with that chance is named with: the share of such causes that
// were right in runs that the weights were not fitted to.
double ConfidenceOf(double chance, const Table &table);

// Returns at most three causes of the table, the likeliest first; none if nothing was found that is
// more than worth a look, or if what was found speaks for none of them.
std::vector<LikelyCause> Diagnose(const Findings &findings,
                                  const std::vector<rules::RuleResult> &results,
                                  const Table &table);

}  // namespace smdebug::diagnose
