// Finds the built-in rules by name.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "rules/rule_set.h"
#include "rules/rule_spec.h"
#include "rules/support/parameters.h"

namespace smdebug::rules {

// Returns all built-in rules in listing order.
std::span<const RuleSpec *const> BuiltinRules();

// Opens another job, which a rule compares with its own.
using OpenJob = std::function<Result<std::shared_ptr<Source>>(const std::string &path)>;

// Returns a factory of the rule.  Fails with INVALID_ARGUMENT for an unknown rule, with
// INVALID_CONFIG for an unknown or bad parameter, and with any error of `open`.  The errors for
// unknown names suggest the nearest known name.  Without `open`, the caller passes other jobs to
// Rule::CompareWith().
Result<RuleFactory> BuiltinRule(std::string_view rule, const Parameters::Given &given,
                                Profile profile, const OpenJob &open = nullptr);

}  // namespace smdebug::rules
