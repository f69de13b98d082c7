#include "record/open_step.h"

#include <new>
#include <utility>

#include "base/strings.h"
#include "tensor/statistics.h"

namespace smdebug::record {
namespace {

// The original's reader does not know uint64, so sums and products are saved as the
// double nearest to them.
tensor::Value ReadableByAll(tensor::Value value, tensor::ReductionKind kind) {
  const bool is_total = kind == tensor::ReductionKind::kSum || kind == tensor::ReductionKind::kProd;
  if (!is_total || value.dtype != tensor::DType::kUInt64) return value;
  const auto element = *reinterpret_cast<const uint64_t *>(value.data.get());
  return tensor::Value::Scalar(tensor::DType::kFloat64, static_cast<double>(element));
}

Status CheckGiven(std::string_view name, const tensor::GivenStatistics &given,
                  const SavedParts &parts) {
  if (parts.raw) {
    return Unsupported(StrCat("'", name,
                              "': its collection saves the raw value, which statistics do not "
                              "have; copy the tensor to the host and save it by smd_hook_save(), "
                              "or give the collection a reduction config without it"));
  }
  if (given.form.ElementCount() == 0) return Status::Ok();  // which has no extremes
  for (const tensor::Reduction reduction : parts.reductions) {
    if (given.Figure(reduction)) continue;
    return InvalidArgument(StrCat("'", name, "': its collection saves '",
                                  tensor::ReductionName(reduction),
                                  "', which the statistics do not have; compute it too"))
        .With("reduction", tensor::ReductionName(reduction));
  }
  return Status::Ok();
}

// Drops the step unless the record was completed: lack of memory may cut it short.
class DropUnlessComplete {
 public:
  DropUnlessComplete(WriteQueue &queue, Step &step) : queue_(queue), step_(&step) {}
  ~DropUnlessComplete() {
    if (step_ != nullptr) queue_.Drop(*step_);
  }
  DropUnlessComplete(const DropUnlessComplete &) = delete;
  DropUnlessComplete &operator=(const DropUnlessComplete &) = delete;
  void Complete() { step_ = nullptr; }

 private:
  WriteQueue &queue_;
  Step *step_;
};

}  // namespace

OpenStep::OpenStep(const HookOptions &options, std::shared_ptr<storage::Store> tensorboard_store,
                   WriteQueue &queue, ChunkPool pool)
    : options_(options),
      tensorboard_store_(std::move(tensorboard_store)),
      queue_(queue),
      pool_(std::move(pool)),
      builder_([this](Batch batch) { return queue_.Push(step_, std::move(batch)); },
               options.too_large, pool_) {}

std::unique_ptr<OpenStep> OpenStep::Another() const {
  return std::make_unique<OpenStep>(options_, tensorboard_store_, queue_, pool_);
}

void OpenStep::Record(bool is_written) {
  auto step = std::make_shared<Step>();
  static_cast<StepPosition &>(*step) = *position_;
  if (tensorboard_store_) tensorboard_.emplace(position_->mode, position_->global_step);
  step_ = std::move(step);
  is_written_ = is_written;
}

format::EventContext OpenStep::ContextAt(double wall_time) const {
  return {position_->global_step, position_->mode, position_->mode_step, wall_time};
}

Status OpenStep::Save(std::string_view name, const tensor::View &view, const SavedParts &parts,
                      Owner *owner) {
  if (!is_written_ || step_->is_dropped) return Status::Ok();
  DropUnlessComplete guard(queue_, *step_);
  WriteShape(name, view, parts);
  Status status = Write(name, view, parts, owner);
  if (!status.IsOk()) TakeShapeBack(parts);
  guard.Complete();
  return status;
}

Status OpenStep::SaveScalar(std::string_view name, const tensor::View &view, double timestamp) {
  if (!is_written_ || step_->is_dropped) return Status::Ok();
  DropUnlessComplete guard(queue_, *step_);
  Status status = builder_.Add(name, view, ContextAt(timestamp));
  if (tensorboard_) tensorboard_->AddScalar(name, view, timestamp);
  guard.Complete();
  return status;
}

Status OpenStep::Write(std::string_view name, const tensor::View &view, const SavedParts &parts,
                       Owner *owner) {
  SMD_RETURN_IF_ERROR(WriteReductions(name, view, parts));
  if (tensorboard_) ShowInTensorboard(name, view, parts);
  if (!parts.raw) return Status::Ok();
  return builder_.Add(name, view, ContextAt(options_.clock->WallSeconds()), owner);
}

void OpenStep::WriteShape(std::string_view name, const tensor::View &form,
                          const SavedParts &parts) {
  if (!parts.shape) return;
  step_->shapes.push_back(
      {std::string(name), std::string(name), {form.shape.begin(), form.shape.end()}});
}

void OpenStep::TakeShapeBack(const SavedParts &parts) {
  if (parts.shape) step_->shapes.pop_back();
}

Status OpenStep::SaveStatistics(std::string_view name, const tensor::GivenStatistics &given,
                                const SavedParts &parts) {
  SMD_RETURN_IF_ERROR(CheckGiven(name, given, parts));
  if (!is_written_ || step_->is_dropped) return Status::Ok();
  DropUnlessComplete guard(queue_, *step_);
  WriteShape(name, given.form, parts);
  Status status = WriteGiven(name, given, parts);
  if (!status.IsOk()) TakeShapeBack(parts);
  guard.Complete();
  return status;
}

Status OpenStep::WriteGiven(std::string_view name, const tensor::GivenStatistics &given,
                            const SavedParts &parts) {
  const format::EventContext context = ContextAt(options_.clock->WallSeconds());
  for (const tensor::Reduction reduction : parts.reductions) {
    if (!given.Figure(reduction)) continue;  // of no elements
    SMD_RETURN_IF_ERROR(WriteReduction(name, reduction, given.Reduced(reduction), context));
  }
  return Status::Ok();
}

Status OpenStep::WriteReduction(std::string_view name, tensor::Reduction reduction,
                                tensor::Value value, const format::EventContext &context) {
  constexpr int64_t kShape[] = {1};
  const tensor::Value readable = ReadableByAll(std::move(value), reduction.kind);
  const tensor::View saved{readable.data.get(), kShape, {}, readable.dtype};
  return builder_.Add(tensor::ReductionTensorName(reduction, name, options_.keeps_output_numbers),
                      saved, context);
}

Status OpenStep::WriteReductions(std::string_view name, const tensor::View &view,
                                 const SavedParts &parts) {
  if (parts.reductions.empty()) return Status::Ok();
  tensor::Reducer reducer(view);
  const format::EventContext context = ContextAt(options_.clock->WallSeconds());
  for (const tensor::Reduction reduction : parts.reductions) {
    auto computed = reducer.Compute(reduction);
    if (!computed.IsOk()) {
      options_.logger.Debug(StrCat("'", name, "': ", tensor::ReductionName(reduction),
                                   " is not saved: ", computed.GetStatus().Message()));
      continue;
    }
    SMD_RETURN_IF_ERROR(WriteReduction(name, reduction, *std::move(computed), context));
  }
  return Status::Ok();
}

void OpenStep::ShowInTensorboard(std::string_view name, const tensor::View &view,
                                 const SavedParts &parts) {
  const double now = options_.clock->WallSeconds();
  if (parts.scalar) tensorboard_->AddScalar(name, view, now);
  if (parts.histogram != nullptr) {
    tensorboard_->AddHistogram(parts.histogram->Name(), name, view, now);
  }
}

Status OpenStep::Seal() {
  DropUnlessComplete guard(queue_, *step_);
  Status sealed = queue_.Seal(step_, builder_.TakeRest());
  guard.Complete();
  PutSummary();
  return sealed;
}

// The step is sealed: lack of memory for this must not drop it.
void OpenStep::PutSummary() try {
  if (step_->is_dropped || !tensorboard_ || tensorboard_->IsEmpty()) return;
  queue_.PutOptionalFile(tensorboard_store_, tensorboard_->FileName(), tensorboard_->Take());
} catch (const std::bad_alloc &) {
  return;
}

void OpenStep::End() noexcept {
  builder_.Clear();
  expected_.Clear();
  tensorboard_.reset();
  step_.reset();
  position_.reset();
  is_written_ = false;
}

}  // namespace smdebug::record
