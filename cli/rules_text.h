// Prints findings and results of rules for people.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "smdebug.hpp"

namespace smdebug::cli {

// Prints findings.  A finding that repeats an earlier one at another step is counted; of one in
// another tensor, only the name is printed.
class FindingPrinter {
 public:
  enum class Amount {
    kSome,    // at the end: of each rule, the first few that differ, or the first of each rule
    kFollow,  // as they come: all that differ, and how often they have repeated, now and then
    kAll      // as they come
  };

  explicit FindingPrinter(Amount amount) : amount_(amount) {}

  void Print(const Finding &finding);
  // Prints the findings of kSome, and how many more there are.  Of rules in the evidence of
  // `causes`, prints none.  With causes, prints only the first finding of each rule.
  void PrintHeld(const std::vector<Cause> &causes);
  // Prints the first finding of each rule in the evidence of a cause, unless an earlier call did.
  // Returns the evidence of other rules, which have clues only.
  std::vector<Evidence> PrintOfCause(const Cause &cause);

 private:
  // What repeats: level, rule, check, tensor and worker.
  using Key = std::tuple<Level, std::string, std::string, std::string, std::string>;
  // The findings of one rule.
  struct OfRule {
    Finding first;
    size_t count = 0;
    std::string last;  // step, for people
    bool is_printed = false;
  };

  void PrintRepeat(const Finding &finding, size_t count);
  void PrintFirst(OfRule *of_rule, size_t indent) const;
  void Hold(const Finding &finding, std::string sentence);

  const Amount amount_;
  std::map<Key, size_t> counts_;
  std::set<std::tuple<Level, std::string, std::string>> checks_;  // with level and rule
  std::map<std::string, size_t> shown_;                           // different findings, by rule
  std::vector<std::pair<Finding, std::string>> held_;             // with their sentences
  std::vector<OfRule> of_rules_;                                  // only for kSome
  bool has_findings_ = false;
  size_t hidden_ = 0;
};

// Prints a row for each rule with findings.
void PrintFound(const std::vector<RuleResult> &results);

// Prints a line for the rules without findings of each status.  `reasons`: one for each rule, with
// the reason why it has no result.
void PrintResults(const std::vector<RuleResult> &results, bool reasons);

// Prints the rules that were not evaluated.  Each text begins with the rule's name and a colon.
void PrintSkipped(const std::vector<std::string> &skipped);

// Prints "2 findings; 19 rules evaluated over 150 steps".
void PrintVerdict(const std::vector<RuleResult> &results, size_t steps);

}  // namespace smdebug::cli
