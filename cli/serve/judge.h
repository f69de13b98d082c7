// Evaluates the rules over a run while it grows.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "json_writer.h"
#include "rule_list.h"
#include "smdebug.hpp"

namespace smdebug::cli::serve {

struct RuleChoice {
  std::string profile;
  std::vector<RuleRequest> requests;
};

// Any thread; Advance() one at a time.
class Judge {
 public:
  // Fails as MakeRuleSet().
  explicit Judge(const RuleChoice &choice);

  using Clock = std::chrono::steady_clock;
  // Evaluates steps after the last one, up to `last`, until `deadline`.  Calls `found` for each
  // finding.  Skips steps that cannot be read.  Returns true if it evaluated any.
  template <class Found>
  bool Advance(const Trial &trial, const std::vector<int64_t> &steps, Clock::time_point deadline,
               const Found &found) {
    std::vector<Finding> all;
    const bool has_moved = Evaluate(trial, steps, deadline, &all);
    for (const Finding &finding : all) found(finding);
    return has_moved;
  }

  struct State {
    int64_t evaluated_to = -1;
    size_t findings = 0;         // of Level::kFinding
    std::vector<Finding> first;  // the first that differ in rule, check, tensor or worker
    std::vector<RuleResult> results;
    std::vector<Cause> causes;
  };
  // The steps with findings of each tensor.
  using StepsByTensor = std::map<std::string, std::set<int64_t>>;
  StepsByTensor FoundSteps() const;
  State Now() const;
  // Returns the numbers alone, without copies of findings.
  size_t Count() const;
  int64_t EvaluatedTo() const;
  // Returns the findings that differ, from number `begin` on.
  std::vector<Finding> Since(size_t begin) const;

 private:
  static constexpr size_t kMostKept = 500;
  static constexpr size_t kMostSteps = 20'000;  // of all tensors

  bool Evaluate(const Trial &trial, const std::vector<int64_t> &steps, Clock::time_point deadline,
                std::vector<Finding> *found);
  void Note(const std::vector<Finding> &found);

  const bool names_causes_;
  RuleSet set_;
  mutable std::mutex mutex_;
  State state_;
  StepsByTensor found_steps_;
  size_t found_count_ = 0;
  std::map<std::string, size_t> known_;  // what differs, and how often it was found
};

}  // namespace smdebug::cli::serve
