// Defines rule sets that have a name.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "rules/rule_set.h"
#include "rules/support/parameters.h"

namespace smdebug::rules {

// A rule of a named set, with the parameters that differ from its calibrated defaults.
struct NamedSetRule {
  std::string_view rule;
  std::string_view parameters;  // as JSON
};

// Returns the rules of the set in the order in which they are evaluated, or none for an unknown
// name.  The only set is "llm", for large trainings.
std::span<const NamedSetRule> RulesOfSet(std::string_view set);

// Adds the rules of the set; an unknown name adds none.  Fails as RuleSet::Add().
Status AddRulesOfSet(std::string_view name, Profile profile, RuleSet *set);

}  // namespace smdebug::rules
