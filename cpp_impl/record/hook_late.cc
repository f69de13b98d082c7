// The hook's late tensors: they come after their step has ended for the job.
#include <new>
#include <utility>

#include "base/deferral.h"
#include "base/strings.h"
#include "record/hook.h"

namespace smdebug::record {
namespace {

// After these, nothing of the tensor was saved, so it may be sent again.
bool IsRefused(const Status &saved) {
  return saved.GetCode() == Code::kInvalidArgument || saved.GetCode() == Code::kUnsupported;
}

}  // namespace

// ---- the tensors ---------------------------------------------------------------------------

Status Hook::Expect(std::string_view tensor,
                    const std::function<void(const Selection &)> &describe) {
  SMD_ASSIGN_OR_RETURN(Selected selected, Select(tensor));
  if (!selected.IsNeeded()) return Status::Ok();
  const DeferringLock lock(mutex_);
  SMD_RETURN_IF_ERROR(SelectAgain(tensor, &selected));
  const Selection selection{selected.parts, rules_.Wants(tensor)};
  if (selection.parts == nullptr && !selection.is_evaluated) return Status::Ok();
  open_->Expected().Expect(tensor, selection.parts);
  describe(selection);
  return Status::Ok();
}

OpenStep *Hook::FindUnfinished(int64_t step) {
  const bool is_open = open_->IsOpen() && open_->Position().global_step == step;
  return is_open ? open_.get() : late_.Find(step);
}

Result<Hook::Awaited> Hook::FindAwaited(int64_t step, std::string_view tensor) {
  if (is_closed_) return WrongState(StrCat("'", tensor, "': the hook is closed"));
  OpenStep *unfinished = FindUnfinished(step);
  if (unfinished == nullptr) {
    const bool has_begun = step >= 0 && step <= numbers_.Last(Mode::kGlobal);
    return WrongState(StrCat("'", tensor, "': step ", step,
                             has_begun ? " waits for no tensor: it was completed or discarded"
                                       : " has not begun"));
  }
  ExpectedTensor *expected = unfinished->Expected().Find(tensor);
  if (expected == nullptr) {
    return WrongState(StrCat("'", tensor, "' is not expected at step ", step,
                             "; call smd_hook_expect() while the step is open"));
  }
  if (expected->missing == 0) {
    return WrongState(StrCat("'", tensor, "' has already come at step ", step));
  }
  return Awaited{unfinished, expected};
}

template <class Observed>
Status Hook::Arrive(const Awaited &awaited, std::string_view tensor, const Observed &observed,
                    Status saved) {
  if (IsRefused(saved)) return saved;
  rules_.Observe(awaited.step->Position().global_step, tensor, observed);
  awaited.step->Expected().NoteCame(*awaited.tensor);
  KeepFirst(&saved, CompleteReady());
  return saved.IsOk() ? EarlyError() : saved;
}

Status Hook::SaveLate(int64_t step, std::string_view tensor, const tensor::View &view,
                      Owner *owner) {
  SMD_RETURN_IF_ERROR(mark_.Check());
  const DeferringLock lock(mutex_);
  SMD_ASSIGN_OR_RETURN(const Awaited awaited, FindAwaited(step, tensor));
  Status saved;
  if (awaited.tensor->is_saved) {
    saved = awaited.step->Save(tensor, view, awaited.tensor->parts, owner);
  }
  return Arrive(awaited, tensor, view, std::move(saved));
}

Status Hook::SaveLate(int64_t step, std::string_view tensor,
                      const tensor::GivenStatistics &given) {
  SMD_RETURN_IF_ERROR(mark_.Check());
  const DeferringLock lock(mutex_);
  SMD_ASSIGN_OR_RETURN(const Awaited awaited, FindAwaited(step, tensor));
  Status saved;
  if (awaited.tensor->is_saved) {
    saved = awaited.step->SaveStatistics(tensor, given, awaited.tensor->parts);
  }
  return Arrive(awaited, tensor, given, std::move(saved));
}

Status Hook::Forgo(int64_t step, std::string_view tensor) {
  SMD_RETURN_IF_ERROR(mark_.Check());
  const DeferringLock lock(mutex_);
  SMD_ASSIGN_OR_RETURN(const Awaited awaited, FindAwaited(step, tensor));
  awaited.step->Expected().NoteCame(*awaited.tensor);
  const Status completed = CompleteReady();
  return completed.IsOk() ? EarlyError() : completed;
}

void Hook::DropStep() {
  if (!mark_.IsSameProcess()) return;
  const DeferringLock lock(mutex_);
  open_->Drop();
}

void Hook::DropStep(int64_t step) {
  if (!mark_.IsSameProcess()) return;
  const DeferringLock lock(mutex_);
  if (OpenStep *unfinished = FindUnfinished(step)) unfinished->Drop();
}

// ---- the steps -----------------------------------------------------------------------------

Status Hook::Postpone() {
  Status status;
  if (late_.IsFull()) status = CompleteOldest();
  OpenStep &step = *open_;
  if (step.IsWritten()) queue_.Hold(step.ToQueue());
  const bool takes_values = step.Records() && !step.IsDropped();
  if (takes_values) SelectCustoms(&pending_);
  LateStep &late = late_.Add(&open_);
  if (takes_values) std::swap(late.values, pending_);
  rules_.LeaveStep();
  Publish();
  KeepFirst(&status, CompleteReady());
  return status;
}

Status Hook::CompleteReady() {
  Status first;
  while (!late_.IsEmpty() && late_.Oldest().step->Expected().Missing() == 0) {
    KeepFirst(&first, CompleteOldest());
  }
  return first;
}

Status Hook::CompleteAll() {
  Status first;
  while (!late_.IsEmpty()) KeepFirst(&first, CompleteOldest());
  return first;
}

Status Hook::CompleteOldest() {
  OpenStep &step = *late_.Oldest().step;
  const int64_t number = step.Position().global_step;
  try {
    if (step.Expected().Missing() > 0) ReportMissing(step);
    PendingValues *values = &late_.Oldest().values;
    Status status;
    if (step.Records()) status = WriteStep(step, values);
    // They are left if the step was dropped.
    if (!values->IsEmpty()) pending_.AddOlder(std::exchange(*values, {}));
    step.End();
    rules_.EndStep(number);
    late_.RemoveOldest();
    return status;
  } catch (const std::bad_alloc &) {
    step.Drop();
    rules_.AbortStep(number);
    late_.RemoveOldest();
    throw;
  }
}

void Hook::ReportMissing(OpenStep &step) {
  const int64_t missing = step.Expected().Missing();
  const std::string name = step.Expected().FirstMissing();
  const std::string number = std::to_string(step.Position().global_step);
  const std::string others = missing == 1 ? "" : StrCat(" and ", missing - 1, " more");
  const std::string why =
      is_closed_ || !late_.IsFull()
          ? std::string("when the hook was closed")
          : StrCat("when ", LateSteps::kMost, " later steps had ended");
  queue_.Report(Status(Code::kTensorUnavailable,
                       StrCat("step ", number, " is completed without the late tensor '", name,
                              "'", others, ": not there ", why,
                              "; send late tensors, or call smd_hook_forgo()"))
                    .With("step", number)
                    .With("tensor", name));
}

}  // namespace smdebug::record
