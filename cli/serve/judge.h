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
  // finding.  Skips steps that cannot be read.  After the last step of a job that has ended, lets
  // rules hear that, once.  Returns true if it did anything.
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
    bool has_heard_end = false;  // whether rules heard, after this step, that the job has ended
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
  bool HasHeardEnd() const;
  // A finding of State::first, and those that are like it, at the steps where they were found.
  struct History {
    Finding first;
    size_t count = 0;  // of all
    size_t every = 1;  // one of so many is in `steps`
    std::vector<int64_t> steps;
    std::vector<double> values;
    std::vector<double> limits;  // of these values
  };
  std::vector<History> Histories() const;
  // Returns the findings that differ, from number `begin` on.
  std::vector<Finding> Since(size_t begin) const;

 private:
  static constexpr size_t kMostKept = 500;
  static constexpr size_t kMostSteps = 20'000;  // of all tensors
  static constexpr size_t kMostValues = 256;    // of findings that are alike

  bool Evaluate(const Trial &trial, const std::vector<int64_t> &steps, Clock::time_point deadline,
                std::vector<Finding> *found);
  // Evaluates the steps up to this one.  Skips one that cannot be read.
  void EvaluateTo(const Trial &trial, int64_t step, std::vector<Finding> *found);
  bool End(const Trial &trial, int64_t last, std::vector<Finding> *found);
  void Note(const std::vector<Finding> &found);
  void Keep(const Finding &finding);

  const bool names_causes_;
  RuleSet set_;
  mutable std::mutex mutex_;
  State state_;
  StepsByTensor found_steps_;
  size_t found_count_ = 0;
  std::map<std::string, size_t> known_;  // what differs: the place in histories_ and state_.first
  std::vector<History> histories_;
};

}  // namespace smdebug::cli::serve
