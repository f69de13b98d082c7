// What to do about the findings of a rule.
#pragma once

#include <string_view>

namespace smdebug::cli {

// Returns one or two sentences for the user of a built-in rule; "" for other rules.
// docs/all_rules.md shows the same text: tools/rules_page.py writes it there.
std::string_view AdviceFor(std::string_view rule);

}  // namespace smdebug::cli
