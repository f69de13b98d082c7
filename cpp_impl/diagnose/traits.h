// What a diagnosis looks at in findings.  tests/rules/traits.py computes the same.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "rules/evidence.h"

namespace smdebug::diagnose {

// A trait of the findings of one check of a rule; kEarly, kLate and kAlone also of all findings.
enum class Trait : uint8_t {
  kFound,
  kFirst,     // no other check found something before
  kEarly,     // begins within the first steps
  kLate,      // begins later
  kSingle,    // in one tensor
  kWide,      // in four tensors or more
  kLasting,   // twenty findings or more
  kInWeight,  // what the first tensor is
  kInGradient,
  kInLoss,
  kInInput,   // of the model
  kInOutput,  // of a layer, or an input of an inner one
  kInLabel,
  kAlone,  // of all findings: those of one rule
};

// The findings, or the clues, of one check of a rule.
struct Group {
  rules::Finding first;  // the one with the lowest step
  int64_t count = 0;     // of findings
  int64_t tensors = 0;
  bool is_clue = false;
  uint32_t traits = 0;  // a bit for each Trait

  bool Has(Trait trait) const { return (traits >> static_cast<uint32_t>(trait) & 1) != 0; }
};

// All findings and clues of a job.
struct Findings {
  std::vector<Group> groups;  // in the order in which rules reported them
  uint32_t traits = 0;        // of all findings together
  bool has_findings = false;  // not only clues, and what is worth a look

  bool Has(Trait trait) const { return (traits >> static_cast<uint32_t>(trait) & 1) != 0; }
};

Findings GroupsOf(const std::vector<rules::Evidence> &evidence);

}  // namespace smdebug::diagnose
