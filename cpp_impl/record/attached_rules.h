// The rules attached to a hook, and what they have found so far.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "record/live_rules.h"
#include "tensor/view.h"

namespace smdebug::record {

// Thread safety: any thread.
//
// Invariants:
//   1. Rules run with run_mutex_ held.  They compute only: they do not wait, log or call back.
//   2. Results have a lock of their own, so a callback gets them at once.
//   3. Evaluates() is true only between a BeginStep() that returned true and the step's end.
class AttachedRules {
 public:
  // Replaces the rules attached before.  Their findings stay.
  void Attach(std::unique_ptr<LiveRules> rules);
  bool Has(const rules::RuleSet &set) SMD_EXCLUDES(run_mutex_);

  // Returns true if rules evaluate the step that begins.
  bool BeginStep(const rules::StepPlace &place);
  bool Evaluates() const { return evaluates_; }
  // Returns true if rules evaluate this tensor of the open step.
  bool Wants(std::string_view tensor);
  // Passes a tensor of the step to the rules, if they evaluate it.
  void Observe(std::string_view tensor, const tensor::View &view);
  void Observe(std::string_view tensor, const tensor::GivenStatistics &given);
  void EndStep();
  // Ends a step whose findings do not count.
  void DiscardStep();
  // Ends a step after a lack of memory.  Needs no memory.
  void AbortStep() noexcept { evaluates_ = false; }

  // The recommended action of the last step that ended.
  rules::Action LastAction() const;
  // Returns the findings since the last call, at most the newest 10,000.
  std::vector<rules::Finding> TakeFindings();

 private:
  void CollectResults() SMD_REQUIRES(run_mutex_);

  Mutex run_mutex_;
  std::unique_ptr<LiveRules> rules_ SMD_GUARDED_BY(run_mutex_);
  std::atomic<bool> evaluates_{false};

  mutable Mutex mutex_;  // taken after run_mutex_
  rules::Action action_ SMD_GUARDED_BY(mutex_) = rules::Action::kContinue;
  std::deque<rules::Finding> findings_ SMD_GUARDED_BY(mutex_);
};

}  // namespace smdebug::record
