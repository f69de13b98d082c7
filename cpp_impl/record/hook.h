// Recording: turns the tensors of a running job into a trial.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/fork.h"
#include "base/mode.h"
#include "base/mutex.h"
#include "base/result.h"
#include "config/collection_set.h"
#include "record/hook_options.h"
#include "record/kept_tensor.h"
#include "record/live_rules.h"
#include "record/state_store.h"
#include "record/step_builder.h"
#include "record/step_plan.h"
#include "record/tensorboard_step.h"
#include "record/write_queue.h"
#include "storage/store.h"
#include "tensor/view.h"

namespace smdebug::record {

// Safe from any thread.  The contract of each function is that of smd_hook_... in
// smdebug/hook.h.
class Hook {
 public:
  static Result<std::shared_ptr<Hook>> Open(HookOptions options);
  // Must not run in a forked child: see Mark().
  ~Hook();

  Status SetMode(Mode mode);
  Mode GetMode() const;
  Result<int64_t> BeginStep();
  Status EndStep();
  Status AddToStep(const std::vector<std::string> &collections);
  int64_t LastStep(Mode mode) const;

  bool SavesStep() const { return saves_now_ || watches_now_; }
  bool Wants(std::string_view tensor);
  // `owner`, if given, keeps the view's memory until it is destroyed.
  Status Save(std::string_view tensor, const tensor::View &view,
              std::shared_ptr<const void> owner = nullptr);
  // Gives the open step up, as one that lacks a tensor.
  void GiveUpStep();
  Status SaveCustom(std::string_view tensor, const tensor::View &view,
                    const std::vector<std::string> &collections);
  Status SaveScalar(std::string_view name, const tensor::View &view, double timestamp);

  Status Watch(std::shared_ptr<rules::SharedPanel> panel);
  rules::Action Advice() const;
  std::vector<rules::Verdict> TakeVerdicts();

  Status Flush(Deadline deadline);
  Status Close();

  config::CollectionSet &Collections() { return collections_; }
  Status ExportCollections();
  bool IsRecording() const { return is_recording_; }
  QueueCounts Counts() const { return queue_.Counts(); }
  const ProcessMark &Mark() const { return mark_; }
  Clock &GetClock() const { return *options_.clock; }

 private:
  struct Scalar {
    std::string name;
    KeptTensor tensor;
    double timestamp;
  };
  struct Custom {
    KeptTensor tensor;
    std::vector<config::CollectionPtr> collections;
  };

  Hook(HookOptions options, std::shared_ptr<storage::Store> store,
       std::shared_ptr<storage::Store> tensorboard_store);
  void AddCollections();
  Status TakeUpState();
  Status NoteState() SMD_REQUIRES(mutex_);
  Status AcquireClaim() SMD_REQUIRES(mutex_);
  // Begins to write what the step of `mode` that is the last one saves.
  void StartSaving(Mode mode) SMD_REQUIRES(mutex_);
  Status CloseStep() SMD_REQUIRES(mutex_);
  Status CloseSavedStep() SMD_REQUIRES(mutex_);
  // What went wrong in the background, if it is to be told soon.
  Status EarlyError();
  Status Write(std::string_view name, const tensor::View &view, const Wanted &wanted,
               std::shared_ptr<const void> owner) SMD_REQUIRES(mutex_);
  Status WriteWanted(std::string_view name, const tensor::View &view, const Wanted &wanted,
                     std::shared_ptr<const void> owner) SMD_REQUIRES(mutex_);
  Status WriteReductions(std::string_view name, const tensor::View &view, const Wanted &wanted)
      SMD_REQUIRES(mutex_);
  void ShowInTensorboard(std::string_view name, const tensor::View &view, const Wanted &wanted)
      SMD_REQUIRES(mutex_);
  Status WriteKept() SMD_REQUIRES(mutex_);
  Status WriteLeftovers() SMD_REQUIRES(mutex_);
  format::EventContext ContextAt(double wall_time) const SMD_REQUIRES(mutex_);
  std::string CollectionsText() const SMD_REQUIRES(mutex_);
  Result<int64_t> OpenStep() SMD_REQUIRES(mutex_);
  void PutCollections(const std::shared_ptr<Step> &before = nullptr) SMD_REQUIRES(mutex_);
  int64_t &StepOf(Mode mode) SMD_REQUIRES(mutex_) { return steps_[ModeIndex(mode)]; }

  const HookOptions options_;
  const ProcessMark mark_;
  const std::shared_ptr<storage::Store> store_;
  const std::shared_ptr<storage::Store> tensorboard_store_;  // NULL: nothing is shown
  config::CollectionSet collections_;
  std::atomic<bool> is_recording_;

  mutable Mutex mutex_;
  Mode mode_ SMD_GUARDED_BY(mutex_) = Mode::kGlobal;
  std::optional<Mode> last_mode_ SMD_GUARDED_BY(mutex_);  // of the last step begun
  // The last step of each mode; that of kGlobal counts all.
  std::array<int64_t, kModes.size()> steps_ SMD_GUARDED_BY(mutex_) = {-1, -1, -1, -1};
  StepPlan plan_ SMD_GUARDED_BY(mutex_);
  std::shared_ptr<Step> step_ SMD_GUARDED_BY(mutex_);                  // the open one, if it saves
  std::optional<TensorboardStep> tensorboard_ SMD_GUARDED_BY(mutex_);  // of step_
  std::atomic<bool> is_step_open_{false};
  std::atomic<bool> saves_now_{false};
  std::unique_ptr<LiveRules> live_rules_ SMD_GUARDED_BY(mutex_);
  std::atomic<bool> watches_now_{false};
  bool is_closed_ SMD_GUARDED_BY(mutex_) = false;
  std::optional<int64_t> last_saved_ SMD_GUARDED_BY(mutex_);
  std::string collections_text_ SMD_GUARDED_BY(mutex_);  // as last written
  std::vector<Scalar> scalars_ SMD_GUARDED_BY(mutex_);
  std::map<std::string, Custom, std::less<>> customs_ SMD_GUARDED_BY(mutex_);
  std::unique_ptr<StateStore> state_store_ SMD_GUARDED_BY(mutex_);
  int64_t training_run_ SMD_GUARDED_BY(mutex_) = 0;
  std::unique_ptr<storage::Claim> claim_ SMD_GUARDED_BY(mutex_);
  WriteQueue queue_;
  StepBuilder builder_ SMD_GUARDED_BY(mutex_);
};

}  // namespace smdebug::record
