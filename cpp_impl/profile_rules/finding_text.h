// Numbers in the sentences of findings.
#pragma once

#include <string>
#include <string_view>

#include "rules/finding.h"

namespace smdebug::profile_rules {

// Returns the number with `digits` after the point.
std::string Fixed(double number, int digits);
// Returns "42 %" of a share between 0 and 1.
std::string PercentOf(double share);
// Returns a time with its unit, such as "3.2 ms".
std::string Duration(double microseconds);
// Returns the time of day, in UTC, such as "2026-11-24 00:15:21".
std::string TimeText(double seconds);

// Returns a finding that belongs to no step.
rules::Finding MakeFinding(std::string_view rule, std::string_view check, std::string_view worker,
                           std::string_view culprit, double value, double limit,
                           std::string message);

}  // namespace smdebug::profile_rules
