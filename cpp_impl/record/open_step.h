// Holds a step that the job is recording.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "format/event_writer.h"
#include "record/batch.h"
#include "record/chunk_pool.h"
#include "record/expected_tensors.h"
#include "record/hook_options.h"
#include "record/owner.h"
#include "record/step_builder.h"
#include "record/step_plan.h"
#include "record/tensorboard_step.h"
#include "record/write_queue.h"
#include "storage/store.h"
#include "tensor/given_statistics.h"
#include "tensor/value.h"
#include "tensor/view.h"

namespace smdebug::record {

// One object for many steps of a hook, one after the other: none is open, one is open, or one is
// open and records.  A step that ended, but waits for late tensors, is still open here.
//
// Thread safety: one thread at a time.  Save(), SaveScalar() and Seal() may wait for room in the
// queue.
//
// Invariants:
//   1. step_ is set while the open step records; then position_ is set too.
//   2. A record reaches the queue whole, or the step is dropped: an incomplete record would shift
//      all later records.
//   3. When no step records, the builder is empty.
class OpenStep {
 public:
  // `options` and `queue` must outlive it; `tensorboard_store` may be NULL.
  OpenStep(const HookOptions &options, std::shared_ptr<storage::Store> tensorboard_store,
           WriteQueue &queue, ChunkPool pool = {});
  // Returns another object for steps of the same hook.
  std::unique_ptr<OpenStep> Another() const;

  bool IsOpen() const { return position_.has_value(); }
  bool Records() const { return step_ != nullptr; }
  // Returns false in a dry run, and in a process without the claim: nothing is written.
  bool IsWritten() const { return is_written_; }
  bool IsDropped() const { return step_ != nullptr && step_->is_dropped; }
  // Only while a step is open.
  const StepPosition &Position() const { return *position_; }
  // The late tensors of the step.
  ExpectedTensors &Expected() { return expected_; }
  // Returns the step in the queue; NULL if the step does not record.
  const std::shared_ptr<Step> &ToQueue() const { return step_; }

  void Begin(const StepPosition &position) { position_ = position; }
  // Starts to record tensors.
  void Record(bool is_written);

  // Borrows large elements from `owner`, if that is given.
  Status Save(std::string_view name, const tensor::View &view, const SavedParts &parts,
              Owner *owner);
  // Saves the reductions and the shape.  Fails, and saves nothing, with UNSUPPORTED (`parts` has
  // the raw value) or INVALID_ARGUMENT (a reduction was not given).
  Status SaveStatistics(std::string_view name, const tensor::GivenStatistics &given,
                        const SavedParts &parts);
  Status SaveScalar(std::string_view name, const tensor::View &view, double timestamp);

  // Adds the last records, and lets the queue commit the step's files.
  Status Seal();
  // Drops the step, because it lacks a tensor.  Like the next two functions, needs no memory.
  void Drop() {
    if (step_) queue_.Drop(*step_);
  }
  // Drops the step at the request of the caller.
  void Discard() {
    if (step_) queue_.Discard(*step_);
  }
  // Closes the step.
  void End() noexcept;

 private:
  format::EventContext ContextAt(double wall_time) const;
  Status Write(std::string_view name, const tensor::View &view, const SavedParts &parts,
               Owner *owner);
  void WriteShape(std::string_view name, const tensor::View &form, const SavedParts &parts);
  // Takes back the newest shape: of a tensor that is refused, nothing stays.
  void TakeShapeBack(const SavedParts &parts);
  Status WriteReductions(std::string_view name, const tensor::View &view, const SavedParts &parts);
  Status WriteGiven(std::string_view name, const tensor::GivenStatistics &given,
                    const SavedParts &parts);
  Status WriteReduction(std::string_view name, tensor::Reduction reduction, tensor::Value value,
                        const format::EventContext &context);
  void ShowInTensorboard(std::string_view name, const tensor::View &view, const SavedParts &parts);
  void PutSummary();

  const HookOptions &options_;
  const std::shared_ptr<storage::Store> tensorboard_store_;
  WriteQueue &queue_;
  const ChunkPool pool_;
  StepBuilder builder_;  // kept over steps for its memory
  ExpectedTensors expected_;
  std::optional<StepPosition> position_;
  std::shared_ptr<Step> step_;
  std::optional<TensorboardStep> tensorboard_;
  bool is_written_ = false;
};

}  // namespace smdebug::record
