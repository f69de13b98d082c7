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

// Adds every rule that needs no parameter and that `set` does not hold: those of the named set, or,
// for an unknown name, the built-in ones that belong to no named set.  Fails as
// RuleSet::AddMissing().
Status AddAllRules(std::string_view name, Profile profile, Action action, RuleSet *set);

}  // namespace smdebug::rules
