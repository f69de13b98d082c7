// Finds the rules over profiles by name.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "base/result.h"
#include "profile_rules/profile_rule.h"

namespace smdebug::profile_rules {

// Returns all rules in listing order.
std::span<const ProfileRuleSpec> ProfileRules();

// Fails with INVALID_ARGUMENT; the message suggests the nearest name.
Result<const ProfileRuleSpec *> FindProfileRule(std::string_view name);

inline bool IsInProfile(const ProfileRuleSpec &rule, rules::Profile profile) {
  return profile == rules::Profile::kCalibrated || rule.aws != nullptr;
}

// Fails with INVALID_CONFIG for an unknown or bad parameter, and for one that is not of this
// profile.
Result<std::unique_ptr<ProfileRule>> MakeProfileRule(const ProfileRuleSpec &rule,
                                                     const rules::Parameters::Given &given,
                                                     rules::Profile profile,
                                                     const NameTable *names);

// Returns the parameters of a rule as the original's reports write them: "threshold:50\n...".
std::string ParameterText(const ProfileRuleSpec &rule, const rules::Parameters::Given &given,
                          rules::Profile profile);

}  // namespace smdebug::profile_rules
