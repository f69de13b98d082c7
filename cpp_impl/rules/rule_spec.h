// Describes a built-in rule: its parameters and its factory.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "base/result.h"
#include "rules/rule.h"
#include "rules/support/parameters.h"

namespace smdebug::rules {

struct RuleSpec {
  std::string_view name;
  std::string_view summary;  // when the rule reports a finding, in one sentence
  std::span<const ParameterSpec> parameters;
  Result<std::unique_ptr<Rule>> (*make)(const Parameters &parameters);
  std::string_view set = "";  // "llm" for a rule of that set alone, see named_sets.h
};

// A rule with this parameter observes estimates of larger tensors.
inline constexpr ParameterSpec kSample = {"sample", "0", "4096",
                                          "number of elements, spread evenly, from which "
                                          "statistics of a larger tensor are estimated; 0 for all"};

}  // namespace smdebug::rules
