// The built-in rules, and which of them a command line asks for.
#pragma once

#include <string>
#include <vector>

#include "smdebug.hpp"

namespace smdebug::cli {

struct RuleInfo {
  struct Parameter {
    std::string name;
    std::string aws;
    std::string calibrated;
    std::string meaning;
  };
  std::string name;
  std::string summary;
  std::vector<Parameter> parameters;
};

// smd_panel_rules().
std::vector<RuleInfo> BuiltinRules();

// "NAME", "NAME,k=v,...", or "NAME,{JSON}", as --rule takes it.
struct RuleRequest {
  std::string name;
  std::string parameters;  // a JSON object
};
// Fails: UsageError.
RuleRequest ParseRule(const std::string &text);

// A rule that cannot judge unless more is said, and what.
struct UnaskedRule {
  std::string name;
  std::string message;  // begins with the name
};

// Adds the rules that are requested; if there are none, all that need nothing said, and returns the
// others.  Fails as Panel::Add().
std::vector<UnaskedRule> AddRules(const std::vector<RuleRequest> &requests, Panel *panel);

}  // namespace smdebug::cli
