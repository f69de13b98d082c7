// Holds the rules that evaluate one job together, and their results.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "config/save_config.h"
#include "rules/evidence.h"
#include "rules/finding.h"
#include "rules/rule.h"

namespace smdebug::rules {

// Makes a rule that has observed nothing.
using RuleFactory = std::function<std::unique_ptr<Rule>()>;

// Holds rules and their results.  Safe from any thread.  An Evaluation runs the rules over the
// steps of a job.
//
// Invariants:
//  1. While `is_in_use_`, everything below it belongs to the one Evaluation that set it.  Otherwise
//     it belongs to the thread that holds `mutex_`.
//  2. `summaries_[i]` describes `entries_[i]` after the last step that ended.
//  3. Once a step was evaluated (`last_step_` >= 0), `job_` names the only job that may follow.
class RuleSet {
 public:
  // Fails with WRONG_STATE if a step was evaluated, or during an evaluation or attachment.
  Status Add(const RuleFactory &make, Action action = Action::kWarn);
  // Adds each of these rules whose name no rule of the set has.  The others stay as they are, with
  // the more severe of their action and `action`.  Fails as Add() does, and then adds none.
  Status AddMissing(const std::vector<RuleFactory> &makes, Action action);
  // Evaluates only the steps that `saves` selects, as if the job had no other steps.  All steps of
  // a mode without settings are evaluated.  Fails as Add() does.
  Status SetSaveConfig(config::SaveConfig saves);
  // Forgets the job, its steps and the results, but keeps the rules.  Fails with WRONG_STATE during
  // an evaluation.
  Status Reset();

  // Returns the summary of each rule, in the order in which the rules were added.
  std::vector<RuleResult> Results() const;
  // Returns what all rules have found so far, folded.
  std::vector<Evidence> FoldedFindings() const;

 private:
  friend class Evaluation;

  struct Entry {
    RuleFactory make;
    std::unique_ptr<Rule> rule;
    Action action;
    bool has_seen_tensor = false;
    bool has_ended = false;
  };
  struct Summary {
    std::string rule;
    bool needs_tensors = true;
    bool has_seen_tensor = false;
    bool has_evaluated = false;
    std::string missing;
    int64_t findings = 0;
    int64_t looks = 0;
    Finding first;

    void Count(const Finding &finding);
  };
  // An entry that needs a tensor, and what the tensor is to its rule.
  struct Wanting {
    uint32_t entry;
    uint32_t role;
  };
  // What is known of a tensor's name.
  struct Known {
    std::vector<Wanting> wanting;  // the entries that need the tensor
    bool is_asked = false;         // `wanting` holds for the collections of now
    // The number of the tensor of the first worker that was observed, or 0.
    uint32_t number = 0;
    std::string worker;
  };
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };

  static Summary SummaryOf(const Rule &rule);
  static RuleResult ResultOf(const Summary &summary);
  Status CanStillChange(std::string_view what) const SMD_REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::vector<Summary> summaries_ SMD_GUARDED_BY(mutex_);
  EvidenceLog evidence_ SMD_GUARDED_BY(mutex_);
  std::weak_ptr<const void> job_ SMD_GUARDED_BY(mutex_);
  bool is_in_use_ SMD_GUARDED_BY(mutex_) = false;

  std::vector<Entry> entries_;
  config::SaveConfig saves_;
  int64_t last_step_ = -1;                       // also set if the step was not evaluated
  StepPlace last_place_{-1, Mode::kGlobal, -1};  // of the last evaluated step
  int64_t ended_at_ = -1;                        // the last step when the job was last ended
  std::unordered_map<std::string, Known, Hash, std::equal_to<>> names_;
  uint32_t numbers_ = 0;  // given so far; never given again, since rules keep them
};

}  // namespace smdebug::rules
