// Where two jobs begin to differ.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "rules/compare.h"
#include "rules/verdict.h"

namespace smdebug::rules {

struct RunDiff {
  // What differs at the first step at which anything does, in the order in which the first
  // job recorded it, then what only the second has; empty if nothing differs.  Each is a
  // finding of the rule "RunDiff"; the label "missing" says that one job does not have it.
  std::vector<Verdict> differences;
  int64_t steps = 0;         // that both have and that were compared
  int64_t tensors = 0;       // compared
  int64_t steps_of_one = 0;  // passed by, since the other job does not have them
};

// Compares the steps that both jobs have, in their order, up to the first difference.  Fails
// as reading a step does.
Result<RunDiff> DiffRuns(Source &a, Source &b, const Source::Wants &wants,
                         const Tolerance &tolerance);

// The same for people: the differences, else one verdict on the whole: NO_ISSUE, or
// NOT_ENOUGH_DATA where nothing could be compared.
std::vector<Verdict> ToVerdicts(const RunDiff &diff);

}  // namespace smdebug::rules
