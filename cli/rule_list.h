// The built-in rules that a command line requests.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "smdebug.hpp"

namespace smdebug::cli {

// Returns the exclusive end of a range whose last step is `step`; -1 after the largest number.
inline int64_t EndAfter(int64_t step) { return step == INT64_MAX ? -1 : step + 1; }

// The value of --rule: "NAME", "NAME,k=v,..." or "NAME,{JSON}".
struct RuleRequest {
  std::string name;
  std::string parameters;  // a JSON object
  // The same for people: names and values, or "JSON" and the object that the user gave.
  std::vector<std::pair<std::string, std::string>> given;
};
// Fails: UsageError.
RuleRequest ParseRule(const std::string &text);

// Said wherever the profile "aws" decides.
inline constexpr const char *kAboutAws =
    "Limits are those that the training service documents (--profile aws): they report most "
    "healthy runs, too.";

// A rule whose required parameters are missing.
struct SkippedRule {
  std::string name;
  std::string message;  // begins with the name
};

// Returns the requested rules, with the defaults of --profile: "calibrated", "aws" or "llm", whose
// defaults are calibrated ones.  Without requests, returns the rules for large trainings for "llm";
// else all rules whose defaults suffice, and `skipped` gets the others.  Fails as RuleSet::Add().
RuleSet MakeRuleSet(const std::string &profile, const std::vector<RuleRequest> &requests,
                    std::vector<SkippedRule> *skipped);

}  // namespace smdebug::cli
