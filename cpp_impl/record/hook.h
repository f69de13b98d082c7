// Recording: turns the tensors of a running job into a trial.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/closing.h"
#include "base/fork.h"
#include "base/mode.h"
#include "base/mutex.h"
#include "base/result.h"
#include "config/collection_set.h"
#include "config/placement.h"
#include "record/attached_rules.h"
#include "record/hook_options.h"
#include "record/late_steps.h"
#include "record/open_step.h"
#include "record/pending_values.h"
#include "record/state_store.h"
#include "record/step_numbers.h"
#include "record/step_plan.h"
#include "record/write_queue.h"
#include "storage/store.h"
#include "tensor/given_statistics.h"
#include "tensor/view.h"

namespace smdebug::record {

// The contract of each function is that of smd_hook_... in smdebug/hook.h.
//
// Thread safety: any thread.
//
// Invariants:
//   1. A thread that changes the open step holds mutex_.  It may wait for room in the queue or for
//      a disk meanwhile, so no query needs mutex_.
//   2. Queries (mode, step, selected tensors, counts, results of rules) need only locks that are
//      held briefly.  So callbacks on any thread may call them.
//   3. Log functions and releases run with no lock held: mutex_ is locked by DeferringLock.
//   4. Locks are taken in this order: mutex_, then one of plan_mutex_ and those of numbers_,
//      rules_ and queue_.
//   5. phase_ describes the open step to threads without mutex_: Publish() follows every change of
//      open_ and rules_, and changes phase_.
//   6. Results of plan_ are valid until phase_ changes, so as long as mutex_ is held.
//   7. A step's number is used once: pending values go into a step that recorded nothing, or into
//      a new one.
//   8. late_ holds the steps from the oldest one that waits for a late tensor to the last one that
//      ended, except discarded ones.  They are written and evaluated in their order.
class Hook {
 public:
  static Result<std::shared_ptr<Hook>> Open(HookOptions options);
  // Must not run in a forked child: see Mark().
  ~Hook();

  Status SetMode(Mode mode);
  Mode GetMode() const { return numbers_.GetMode(); }
  Result<int64_t> BeginStep();
  Status EndStep();
  Status DiscardStep();
  Status AddToStep(const std::vector<std::string> &collections);
  int64_t LastStep(Mode mode) const { return numbers_.Last(mode); }

  bool SavesStep() const { return (phase_ & (kRecords | kEvaluates)) != 0; }
  bool Wants(std::string_view tensor);
  // Grows when Wants() may answer otherwise than before, in a step that has begun.
  int64_t Selections() {
    const MutexLock lock(plan_mutex_);
    return static_cast<int64_t>(plan_.Round() + rules_.Changes());
  }
  // Borrows large elements of `view` from `owner`, if that is given.
  Status Save(std::string_view tensor, const tensor::View &view, Owner *owner = nullptr);
  Status Save(std::string_view tensor, const tensor::View &view,
              std::shared_ptr<const void> owner) {
    SharedOwner shared(std::move(owner));
    return Save(tensor, view, &shared);
  }
  Status SaveStatistics(std::string_view tensor, const tensor::GivenStatistics &given);
  // Drops the open step, as if a tensor could not be saved.
  void DropStep();

  // The parts of a tensor that the open step saves, and whether rules evaluate it.
  struct Selection {
    const SavedParts *parts = nullptr;  // valid during Describe
    bool is_evaluated = false;          // attached rules want it
  };
  // Expects a tensor late, and calls `describe` if it is selected.
  Status Expect(std::string_view tensor, const std::function<void(const Selection &)> &describe);
  Status SaveLate(int64_t step, std::string_view tensor, const tensor::View &view,
                  Owner *owner = nullptr);
  Status SaveLate(int64_t step, std::string_view tensor, const tensor::GivenStatistics &given);
  Status Forgo(int64_t step, std::string_view tensor);
  // Drops a step that is open or waits.
  void DropStep(int64_t step);

  Status SaveCustom(std::string_view tensor, const tensor::View &view,
                    const std::vector<std::string> &collections);
  Status SaveScalar(std::string_view name, const tensor::View &view, double timestamp);

  Status Attach(rules::Evaluation evaluation);
  bool IsAttached(const rules::RuleSet &set) { return rules_.Has(set); }
  rules::Action LastAction() const { return rules_.LastAction(); }
  std::vector<rules::Finding> TakeFindings() { return rules_.TakeFindings(); }

  Status Flush(Deadline deadline);
  Status Close();

  config::CollectionSet &Collections() { return collections_; }
  Status SetPlacement(std::string_view tensor, config::Placement placement);
  Status SetMetadata(std::string_view key, std::string_view value);
  Status ExportCollections();
  bool IsRecording() const { return is_recording_; }
  QueueCounts Counts() const { return queue_.Counts(); }
  const ProcessMark &Mark() const { return mark_; }
  Clock &GetClock() const { return *options_.clock; }

 private:
  // Bits of phase_.
  static constexpr uint64_t kOpen = 1;       // a step is open
  static constexpr uint64_t kRecords = 2;    // it records
  static constexpr uint64_t kEvaluates = 4;  // attached rules evaluate it
  static constexpr uint64_t kOneMore = 8;    // the bits from here on count the changes

  Hook(HookOptions options, std::shared_ptr<storage::Store> store,
       std::shared_ptr<storage::Store> tensorboard_store);
  void AddCollections();
  Status RestoreState();
  Status NoteState() SMD_REQUIRES(mutex_);
  Status AcquireClaim() SMD_REQUIRES(mutex_);

  Status OpenAt(const StepPosition &position) SMD_REQUIRES(mutex_);
  // Returns true if the open step saves something.
  void StartRecording() SMD_REQUIRES(mutex_);
  bool MayRecord() const { return is_recording_ || options_.is_dry_run; }
  Status CloseStep() SMD_REQUIRES(mutex_);
  Status WriteStep(OpenStep &step, PendingValues *values) SMD_REQUIRES(mutex_);
  void WarnOfUnknownCollections();
  // Ends the open step, after success or failure.
  void AbortStep() noexcept SMD_REQUIRES(mutex_);
  void Publish() noexcept SMD_REQUIRES(mutex_);
  // Finds what the open step saves of a tensor that is saved now.
  Result<const SavedParts *> FindToSave(std::string_view tensor);
  // The parts of a tensor that are saved, NULL for none, and the phase in which they were found.
  struct Selected {
    uint64_t phase = 0;
    const SavedParts *parts = nullptr;
    bool IsNeeded() const { return parts != nullptr || (phase & kEvaluates) != 0; }
  };
  Result<Selected> Select(std::string_view tensor);
  // Selects again if the step has changed meanwhile.
  Status SelectAgain(std::string_view tensor, Selected *selected) SMD_REQUIRES(mutex_);
  // An error of the writer threads, if they are reported soon.
  Status EarlyError();

  // A tensor that is expected, and its step.
  struct Awaited {
    OpenStep *step;
    ExpectedTensor *tensor;
  };
  Result<Awaited> FindAwaited(int64_t step, std::string_view tensor) SMD_REQUIRES(mutex_);
  OpenStep *FindUnfinished(int64_t step) SMD_REQUIRES(mutex_);
  template <class Observed>
  Status Arrive(const Awaited &awaited, std::string_view tensor, const Observed &observed,
                Status saved) SMD_REQUIRES(mutex_);
  // Ends the open step for the job, but keeps it until its turn.
  Status Postpone() SMD_REQUIRES(mutex_);
  void SelectCustoms(PendingValues *values);
  // Completes the steps that wait no more.
  Status CompleteReady() SMD_REQUIRES(mutex_);
  Status CompleteOldest() SMD_REQUIRES(mutex_);
  Status CompleteAll() SMD_REQUIRES(mutex_);
  void ReportMissing(OpenStep &step) SMD_REQUIRES(mutex_);

  Status WritePending(OpenStep &step, PendingValues *values) SMD_REQUIRES(mutex_);
  Status WriteLeftovers() SMD_REQUIRES(mutex_);
  Status WriteTheEnd() SMD_REQUIRES(mutex_);
  std::string CollectionsText();
  // Grows with each change of what a collections file tells besides its collections.
  uint64_t MetaVersion() const { return placements_.Version() + metadata_.Version(); }
  void PutCollections(const std::shared_ptr<Step> &before = nullptr) SMD_REQUIRES(mutex_);

  const HookOptions options_;
  const ProcessMark mark_;
  const std::shared_ptr<storage::Store> store_;
  config::CollectionSet collections_;
  config::PlacementSet placements_;
  config::MetadataSet metadata_;
  std::atomic<bool> is_recording_;
  std::atomic<uint64_t> phase_{0};
  StepNumbers numbers_;
  AttachedRules rules_;
  WriteQueue queue_;

  Mutex plan_mutex_;
  StepPlan plan_ SMD_GUARDED_BY(plan_mutex_);

  Closing closing_;
  Mutex mutex_;
  std::unique_ptr<OpenStep> open_ SMD_GUARDED_BY(mutex_);
  LateSteps late_ SMD_GUARDED_BY(mutex_);
  PendingValues pending_ SMD_GUARDED_BY(mutex_);
  // The last step, if it recorded nothing, so that its number may be used.
  std::optional<StepPosition> unused_ SMD_GUARDED_BY(mutex_);
  bool is_closed_ SMD_GUARDED_BY(mutex_) = false;
  bool has_closed_a_step_ SMD_GUARDED_BY(mutex_) = false;
  std::string collections_text_ SMD_GUARDED_BY(mutex_);  // as last written
  uint64_t written_meta_ SMD_GUARDED_BY(mutex_) = 0;     // MetaVersion() then
  std::unique_ptr<StateStore> state_store_ SMD_GUARDED_BY(mutex_);
  int64_t training_run_ SMD_GUARDED_BY(mutex_) = 0;
  std::optional<int64_t> last_saved_ SMD_GUARDED_BY(mutex_);
};

}  // namespace smdebug::record
