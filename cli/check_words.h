// Plain words for the checks of rules, and for what they measure.
#pragma once

#include <string>
#include <string_view>

namespace smdebug::cli {

// Returns, for example, "not updated" for "not_updated", and "gradients and loss" for
// "gradients+loss".
std::string CheckWords(const std::string &check);

// What the value and the limit of a finding are.
struct Measure {
  std::string_view what;  // such as "zeros"; "" if nothing is known
  std::string_view unit;  // such as "%"; may be ""
};
Measure MeasureOf(const std::string &rule, const std::string &check);

}  // namespace smdebug::cli
