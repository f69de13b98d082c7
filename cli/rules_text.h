// Prints findings and results of rules for people.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "smdebug.hpp"

namespace smdebug::cli {

// Prints findings as they come.  A finding that repeats an earlier one at another step is counted;
// of one in another tensor, only the name is printed.
class FindingPrinter {
 public:
  enum class Amount {
    kSome,    // of each rule, the first few that differ
    kFollow,  // all that differ, and how often they have repeated, now and then
    kAll
  };

  explicit FindingPrinter(Amount amount) : amount_(amount) {}

  void Print(const Finding &finding);
  // Prints how many findings were not printed, and an empty line if there were any findings.
  void PrintHidden() const;

 private:
  // What repeats: level, rule, check, tensor and worker.
  using Key = std::tuple<Level, std::string, std::string, std::string, std::string>;

  void PrintRepeat(const Finding &finding, size_t count);

  const Amount amount_;
  std::map<Key, size_t> counts_;
  std::set<std::tuple<Level, std::string, std::string>> checks_;  // with level and rule
  std::map<std::string, size_t> shown_;                           // different findings, by rule
  bool has_findings_ = false;
  size_t hidden_ = 0;
};

// Prints a row for each rule with findings, and a line for the others of each status.  `reasons`:
// with the reason for each rule without a result.
void PrintResults(const std::vector<RuleResult> &results, bool reasons);

// Prints the rules that were not evaluated.  Each text begins with the rule's name and a colon.
void PrintSkipped(const std::vector<std::string> &skipped);

// Prints "2 findings; 19 rules evaluated over 150 steps".
void PrintVerdict(const std::vector<RuleResult> &results, size_t steps);

}  // namespace smdebug::cli
