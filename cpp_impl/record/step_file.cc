#include "record/step_file.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

#include "base/clock.h"
#include "base/crc32c.h"
#include "format/paths.h"
#include "tensor/value.h"

namespace smdebug::record {
namespace {

// Bytes that are checksummed right after they were written are still in the cache.
constexpr size_t kCached = 256 << 10;

}  // namespace

std::optional<format::SavedNumber> NumberOf(const tensor::View &view, double wall_time) {
  const bool is_real = view.dtype != tensor::DType::kString && !tensor::IsComplex(view.dtype);
  const size_t size = tensor::DTypeSize(view.dtype);
  if (!is_real || view.ByteCount() != size) return {};
  const auto number =
      tensor::ToDouble(view.dtype, ByteSpan(static_cast<const std::byte *>(view.data), size));
  const std::optional<int64_t> time = Microseconds(wall_time);
  if (!number.IsOk() || !time || *time <= 0) return {};
  return format::SavedNumber{*number, view.dtype, static_cast<uint8_t>(view.shape.size()), *time};
}

StepFile::StepFile(std::shared_ptr<storage::Store> store, int64_t step, std::string worker,
                   bool may_be_there)
    : store_(std::move(store)),
      step_(step),
      worker_(std::move(worker)),
      may_be_there_(may_be_there),
      event_name_(format::EventFileName(step, worker_)) {}

// An index of another run must not name this run's bytes.
Status StepFile::ChooseEventName() {
  if (!may_be_there_) return Status::Ok();
  const std::string index_name = format::IndexFileName(step_, worker_);
  const auto text = store_->ReadText(index_name);
  if (!text.IsOk()) {
    return text.GetStatus().GetCode() == Code::kNotFound ? Status::Ok() : text.GetStatus();
  }
  const auto index = format::IndexFromJson(*text, index_name);
  if (index.IsOk() && index->event_file_name == event_name_) {
    event_name_ = format::OtherEventFileName(step_, worker_);
  }
  return Status::Ok();
}

void StepFile::Announce(RecordMark mark) {
  index_.tensors.push_back(
      {std::move(mark.name), announced_, mark.length, {}, std::move(mark.part), mark.number});
  heads_.push_back(std::move(mark.head));
  announced_ += mark.length;
}

Status StepFile::Append(std::span<const Piece> pieces, std::span<const uint32_t> checksums) {
  if (!events_) {
    SMD_RETURN_IF_ERROR(ChooseEventName());
    SMD_ASSIGN_OR_RETURN(events_, store_->Create(event_name_));
  }
  if (!checksums.empty()) {
    SMD_RETURN_IF_ERROR(events_->Append(pieces));
    for (size_t i = 0; i < pieces.size(); ++i) Checksum(pieces[i].bytes, checksums[i]);
    return Status::Ok();
  }
  const uint64_t size =
      std::transform_reduce(pieces.begin(), pieces.end(), uint64_t{0}, std::plus<>(),
                            [](const Piece &piece) { return piece.bytes.size(); });
  if (size <= kCached) {
    SMD_RETURN_IF_ERROR(events_->Append(pieces));
    for (const Piece &piece : pieces) Checksum(piece.bytes);
    return Status::Ok();
  }
  for (const Piece &piece : pieces) {
    for (ByteSpan rest = piece.bytes; !rest.empty();) {
      const std::array part = {Piece{piece.owner, rest.first(std::min(rest.size(), kCached))}};
      SMD_RETURN_IF_ERROR(events_->Append(part));
      Checksum(part[0].bytes);
      rest = rest.subspan(part[0].bytes.size());
    }
  }
  return Status::Ok();
}

void StepFile::Checksum(ByteSpan bytes, std::optional<uint32_t> known) {
  const size_t whole = bytes.size();
  while (!bytes.empty()) {
    format::TensorLocation &record = index_.tensors[current_];
    const uint64_t left = record.start + record.length - written_;
    const ByteSpan part = bytes.first(std::min<uint64_t>(left, bytes.size()));
    current_crc32c_ = known && part.size() == whole ? JoinCrc32c(current_crc32c_, *known, whole)
                                                    : ExtendCrc32c(current_crc32c_, part);
    written_ += part.size();
    bytes = bytes.subspan(part.size());
    if (part.size() == left) {
      record.crc32c = current_crc32c_;
      current_crc32c_ = 0;
      ++current_;
    }
  }
}

Status StepFile::CommitEvents(bool durable) {
  if (!events_) return Status::Ok();
  SMD_RETURN_IF_ERROR(events_->Commit(durable));
  events_.reset();
  index_.event_file_name = event_name_;
  return Status::Ok();
}

Status StepFile::Commit(Mode mode, int64_t mode_step, bool durable) {
  SMD_RETURN_IF_ERROR(CommitEvents(durable));
  index_.mode = mode;
  index_.mode_step = mode_step;
  const std::string text = format::IndexToJson(index_);
  index_size_ = text.size();
  return store_->WriteText(format::IndexFileName(step_, worker_), text, durable);
}

}  // namespace smdebug::record
