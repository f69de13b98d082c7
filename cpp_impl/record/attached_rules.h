// The rules attached to a hook, and what they have found so far.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "base/mutex.h"
#include "record/kept_statistics.h"
#include "record/kept_tensor.h"
#include "record/live_rules.h"
#include "tensor/view.h"

namespace smdebug::record {

// Thread safety: any thread.
//
// Invariants:
//   1. Rules run with run_mutex_ held.  They compute only: they do not wait, log or call back.
//   2. Results have a lock of their own, so a callback gets them at once.
//   3. Evaluates() is true only between a BeginStep() that returned true and the call that ends
//      that step or leaves it.
//   4. Rules see one step after the other.  turn_ is the step that they see.  If it has been left
//      but waits for late tensors, later steps are in waiting_, with copies of their tensors.
class AttachedRules {
 public:
  // Replaces the rules attached before, which still evaluate the steps that began with them.  Their
  // findings stay.
  void Attach(std::unique_ptr<LiveRules> rules);
  bool Has(const rules::RuleSet &set) SMD_EXCLUDES(run_mutex_);

  // Returns true if rules evaluate the step that begins.
  bool BeginStep(const rules::StepPlace &place);
  bool Evaluates() const { return evaluates_; }
  // Returns true if rules evaluate this tensor of the newest step.
  bool Wants(std::string_view tensor);
  // Grows when Wants() may answer otherwise than at the step before.
  uint64_t Changes() const { return changes_; }
  // Passes a tensor of a step that has not ended to the rules, if they evaluate it.
  void Observe(int64_t step, std::string_view tensor, const tensor::View &view) {
    if (evaluated_steps_ != 0) ObserveAny(step, tensor, view);
  }
  void Observe(int64_t step, std::string_view tensor, const tensor::GivenStatistics &given) {
    if (evaluated_steps_ != 0) ObserveAny(step, tensor, given);
  }
  // Leaves the newest step, which ends when its late tensors have come.
  void LeaveStep() noexcept { evaluates_ = false; }
  // Ends a step.  Steps end in their order, except those of the next two functions.
  void EndStep(int64_t step);
  // Ends the newest step, whose findings do not count.
  void DiscardStep(int64_t step);
  // Ends the job, all of whose steps have ended.
  void EndJob();
  // Ends a step after a lack of memory.  Needs no memory.  -1: no step has begun.
  void AbortStep(int64_t step) noexcept;

  // The recommended action of the last step that ended.
  rules::Action LastAction() const;
  // Returns the findings since the last call, at most the newest 10,000.
  std::vector<rules::Finding> TakeFindings();

 private:
  struct Kept {
    std::string tensor;
    std::variant<KeptTensor, KeptStatistics> observed;
  };
  struct Turn {
    std::shared_ptr<LiveRules> rules;  // those attached when the step began, or NULL
    rules::StepPlace place{};
    bool is_evaluated = false;
    bool is_discarded = false;
    std::vector<Kept> kept{};
  };

  template <class Observed>
  void ObserveAny(int64_t step, std::string_view tensor, const Observed &observed)
      SMD_EXCLUDES(run_mutex_);
  Turn *Find(int64_t step) SMD_REQUIRES(run_mutex_);
  // Shows the rules the next waiting step, if they see none.
  void TakeTurn() SMD_REQUIRES(run_mutex_);
  void NoteChanges() SMD_REQUIRES(run_mutex_);
  void Replay(Turn &turn) SMD_REQUIRES(run_mutex_);
  void EndTurn() SMD_REQUIRES(run_mutex_);
  void NoteEnd(int64_t step) SMD_REQUIRES(run_mutex_);
  void CollectResults(LiveRules &rules) SMD_REQUIRES(run_mutex_);

  Mutex run_mutex_;
  std::shared_ptr<LiveRules> rules_ SMD_GUARDED_BY(run_mutex_);
  std::optional<Turn> turn_ SMD_GUARDED_BY(run_mutex_);
  std::deque<Turn> waiting_ SMD_GUARDED_BY(run_mutex_);
  int64_t newest_ SMD_GUARDED_BY(run_mutex_) = -1;
  // What the answers at the newest step depend on.
  std::tuple<const LiveRules *, bool, uint64_t> answering_ SMD_GUARDED_BY(run_mutex_);
  std::atomic<uint64_t> changes_{0};
  std::atomic<bool> evaluates_{false};
  std::atomic<int> evaluated_steps_{0};  // in turn_ and waiting_: spares the lock

  mutable Mutex mutex_;  // taken after run_mutex_
  rules::Action action_ SMD_GUARDED_BY(mutex_) = rules::Action::kContinue;
  std::deque<rules::Finding> findings_ SMD_GUARDED_BY(mutex_);
};

}  // namespace smdebug::record
