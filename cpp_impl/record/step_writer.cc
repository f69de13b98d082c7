#include "record/step_writer.h"

#include <array>

#include "base/clock.h"
#include "base/step.h"
#include "base/strings.h"
#include "format/event_writer.h"
#include "format/paths.h"
#include "record/kept_tensor.h"

namespace smdebug::record {
namespace {

Status CheckStep(std::string_view what, int64_t step) {
  if (step >= 0 && step <= kMaxStep) return Status::Ok();
  return InvalidArgument(StrCat(what, " is ", step, "; it must be from 0 to ", kMaxStep));
}

}  // namespace

StepWriter::StepWriter(const std::shared_ptr<storage::Store> &store, int64_t step,
                       std::string worker)
    : step_(step),
      file_(store, step, std::move(worker)),
      path_(StrCat(store->Location(), "/", file_.EventName())) {}

Result<std::unique_ptr<StepWriter>> StepWriter::Open(const std::shared_ptr<storage::Store> &store,
                                                     int64_t step, std::string_view worker) {
  SMD_RETURN_IF_ERROR(CheckStep("step", step));
  SMD_RETURN_IF_ERROR(format::CheckWorkerName(worker));
  return std::unique_ptr<StepWriter>(new StepWriter(store, step, format::WorkerToFile(worker)));
}

Status StepWriter::CheckOpen() const {
  if (!is_closed_) return failure_;
  return WrongState(StrCat(path_, ": the file is closed"));
}

Result<int64_t> StepWriter::Note(Mode mode, int64_t mode_step) {
  const int64_t step = mode_step < 0 ? step_ : mode_step;
  SMD_RETURN_IF_ERROR(CheckStep("mode_step", step));
  if (!as_) as_ = {mode, step};
  return step;
}

Status StepWriter::AddTensor(std::string_view name, const tensor::View &view, Mode mode,
                             int64_t mode_step, double wall_time) {
  SMD_RETURN_IF_ERROR(CheckOpen());
  if (!view.IsCompact()) {
    SMD_ASSIGN_OR_RETURN(const KeptTensor compact, KeptTensor::Of(view));
    return AddTensor(name, compact.AsView(), mode, mode_step, wall_time);
  }
  SMD_ASSIGN_OR_RETURN(const int64_t noted, Note(mode, mode_step));
  const format::EventContext context{step_, mode, noted,
                                     wall_time > 0 ? wall_time : Clock::System().WallSeconds()};
  format::EncodedEvent event;
  SMD_RETURN_IF_ERROR(
      format::EncodeTensorEvent(name, view, context, format::Checksum::kConstant, &event));
  const size_t size = view.ByteCount();
  file_.Announce({std::string(name), event.Size(size), {}, NumberOf(view, context.wall_time)});
  const std::array pieces = {
      Piece{nullptr, AsBytes(event.head)},
      Piece{nullptr, ByteSpan(static_cast<const std::byte *>(view.data), size)},
      Piece{nullptr, AsBytes(event.tail)}};
  // A record that is announced but not written would shift all that follow.
  failure_ = file_.Append(pieces);
  return failure_;
}

Status StepWriter::AddShape(format::SavedShape shape, Mode mode, int64_t mode_step) {
  SMD_RETURN_IF_ERROR(CheckOpen());
  SMD_RETURN_IF_ERROR(Note(mode, mode_step).GetStatus());
  file_.AddShape(std::move(shape));
  return Status::Ok();
}

Status StepWriter::Close() {
  if (std::exchange(is_closed_, true)) return Status::Ok();
  SMD_RETURN_IF_ERROR(failure_);
  if (file_.IsEmpty()) return Status::Ok();
  return file_.Commit(as_->first, as_->second, false);
}

}  // namespace smdebug::record
