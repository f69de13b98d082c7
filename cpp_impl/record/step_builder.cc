#include "record/step_builder.h"

#include <algorithm>
#include <cstring>

#include "record/kept_tensor.h"
#include "tensor/parts.h"

namespace smdebug::record {
namespace {

// Below this, copying is cheaper than a piece of its own.
constexpr size_t kByReference = 16 << 10;

}  // namespace

Status StepBuilder::Add(std::string_view name, const tensor::View &view,
                        const format::EventContext &context, Owner *owner) {
  if (view.dtype == tensor::DType::kString && !view.IsCompact()) {
    SMD_ASSIGN_OR_RETURN(const KeptTensor compact, KeptTensor::Of(view));
    return Add(name, compact.AsView(), context);
  }
  return view.ByteCount() < too_large_ ? AddRecord(name, view, context, owner)
                                       : AddParts(name, view, context, owner);
}

Status StepBuilder::AddParts(std::string_view name, const tensor::View &view,
                             const format::EventContext &context, Owner *owner) {
  format::PartOf part{std::string(name), 0, {view.shape.begin(), view.shape.end()}};
  tensor::Parts parts(view, too_large_ / 2);
  do {
    SMD_RETURN_IF_ERROR(
        AddRecord(format::PartName(name, part.number), parts.Current(), context, owner, part));
    ++part.number;
  } while (parts.Advance());
  return Status::Ok();
}

Status StepBuilder::AddRecord(std::string_view name, const tensor::View &view,
                              const format::EventContext &context, Owner *owner,
                              std::optional<format::PartOf> part) {
  SMD_RETURN_IF_ERROR(
      format::EncodeTensorEvent(name, view, context, format::Checksum::kConstant, &event_));
  const auto number = part ? std::nullopt : NumberOf(view, context.wall_time);
  format::RecordHead head;
  if (!number) head = {context.wall_time, view.dtype, {view.shape.begin(), view.shape.end()}};
  batch_.records.push_back(
      {std::string(name), event_.Size(view.ByteCount()), std::move(part), number, std::move(head)});
  SMD_RETURN_IF_ERROR(AppendCopy(AsBytes(event_.head)));
  SMD_RETURN_IF_ERROR(AppendPayload(view, owner));
  return AppendCopy(AsBytes(event_.tail));
}

Status StepBuilder::AppendPayload(const tensor::View &view, Owner *owner) {
  const size_t size = view.ByteCount();
  if (size == 0) return Status::Ok();
  if (!view.IsCompact()) return AppendStrided(view);
  const ByteSpan bytes(static_cast<const std::byte *>(view.data), size);
  if (owner == nullptr || size < kByReference) return AppendCopy(bytes);
  CutPiece();
  batch_.Add({owner->Share(), bytes});
  return PushIfLarge();
}

Status StepBuilder::AppendStrided(const tensor::View &view) {
  const size_t size = view.ByteCount();
  if (size <= Room().size()) {
    CopyCompact(view, Room().data());
    end_ += size;
    return Status::Ok();
  }
  const auto compact = std::make_shared<AlignedBuffer>(size);
  CopyCompact(view, compact->Data());
  CutPiece();
  batch_.Add({compact, compact->Span()});
  return PushIfLarge();
}

Status StepBuilder::AppendCopy(ByteSpan bytes) {
  while (!bytes.empty()) {
    const MutableByteSpan room = Room();
    const size_t fits = std::min(room.size(), bytes.size());
    std::memcpy(room.data(), bytes.data(), fits);
    end_ += fits;
    bytes = bytes.subspan(fits);
    if (end_ == chunk_->Size()) {
      CutPiece();
      SMD_RETURN_IF_ERROR(PushIfLarge());
    }
  }
  return Status::Ok();
}

MutableByteSpan StepBuilder::Room() {
  if (!chunk_ || end_ == chunk_->Size()) {
    CutPiece();
    chunk_ = pool_.Take();
    begin_ = end_ = 0;
  }
  return chunk_->Span().subspan(end_);
}

void StepBuilder::CutPiece() {
  if (begin_ == end_) return;
  batch_.Add({chunk_, ByteSpan(chunk_->Data() + begin_, end_ - begin_)});
  begin_ = end_;
}

Status StepBuilder::PushIfLarge() {
  if (batch_.bytes < ChunkPool::kChunkSize) return Status::Ok();
  return push_(std::exchange(batch_, {}));
}

void StepBuilder::Clear() noexcept {
  begin_ = end_;
  batch_.pieces.clear();
  batch_.records.clear();
  batch_.checksums.clear();
  batch_.bytes = 0;
}

Batch StepBuilder::TakeRest() {
  CutPiece();
  return std::exchange(batch_, {});
}

}  // namespace smdebug::record
