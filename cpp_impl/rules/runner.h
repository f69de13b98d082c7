// Runs a rule over a range of steps.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "rules/rule.h"
#include "rules/source.h"

namespace smdebug::rules {

struct RunRange {
  int64_t first = 0;
  std::optional<int64_t> end;  // exclusive; without, until the job ends
  bool stops_at_finding = false;
};

struct RunResult {
  std::vector<int64_t> steps;
  std::string last_message;
  // RULE_CONDITION_MET if the run stopped at a finding; why it ended early; or success.
  Status status;
};

// Waits for each step, then has it judged with the source standing still.
RunResult Run(Rule &rule, Source &source, const RunRange &range);

}  // namespace smdebug::rules
