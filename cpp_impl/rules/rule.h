// A question asked of a job at one step after another.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "rules/source.h"

namespace smdebug::rules {

// What a rule says of a step.
struct Judgement {
  bool is_finding = false;
  bool ends_rule = false;  // nothing more is to be judged
  std::string message;     // of a finding: tensor, value and limit in one sentence
};

// Whether an error says that data is missing, not that something failed.
bool IsMissingData(const Status &status);

class Rule {
 public:
  virtual ~Rule() = default;

  virtual const std::string &Name() const = 0;

  // Judges a step that is there.  An error that says data is missing passes the step
  // over, any other ends the run.
  virtual Result<Judgement> Judge(Source &source, int64_t step) = 0;
};

}  // namespace smdebug::rules
