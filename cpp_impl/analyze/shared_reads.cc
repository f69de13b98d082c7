#include "analyze/shared_reads.h"

#include <algorithm>

namespace smdebug::analyze {
namespace {

ReadTensor CopyOf(const ReadTensor &tensor) {
  ReadTensor copy = tensor;
  if (copy.value.data) {
    copy.value =
        tensor::Value::CopyOf(copy.value.dtype, tensor.value.Bytes(), std::move(copy.value.shape));
  }
  return copy;
}

}  // namespace

void SharedReads::Begin() {
  const MutexLock lock(mutex_);
  ++users_;
}

void SharedReads::End() {
  const MutexLock lock(mutex_);
  if (--users_ == 0) Forget();
}

void SharedReads::Forget() {
  parts_.clear();
  records_.clear();
  kept_bytes_ = 0;
}

bool SharedReads::Reserve(uint64_t size) {
  if (users_ == 0 || size > kMostKept) return false;
  if (kept_bytes_ + size > kMostKept) Forget();
  kept_bytes_ += size;
  return true;
}

void SharedReads::KeepPart(const std::string &file, uint64_t offset,
                           std::shared_ptr<const AlignedBuffer> bytes) {
  if (users_ == 0) return;
  const MutexLock lock(mutex_);
  if (Reserve(bytes->Size())) parts_.push_back({file, offset, std::move(bytes)});
}

void SharedReads::KeepRecord(const RecordPlace &place, const ReadTensor &tensor) {
  if (users_ == 0) return;
  {
    const MutexLock lock(mutex_);
    if (!Reserve(place.length)) return;
  }
  auto copy = std::make_shared<const ReadTensor>(CopyOf(tensor));
  const MutexLock lock(mutex_);
  if (users_ > 0) records_.insert_or_assign({place.file, place.start}, std::move(copy));
}

std::optional<ReadTensor> SharedReads::FindRecord(const RecordPlace &place) {
  if (users_ == 0) return {};
  std::shared_ptr<const ReadTensor> kept;
  {
    const MutexLock lock(mutex_);
    const auto found = records_.find({place.file, place.start});
    if (found == records_.end()) return {};
    kept = found->second;
  }
  return CopyOf(*kept);
}

Piece SharedReads::FindBytes(const RecordPlace &place) {
  if (users_ == 0) return {};
  const MutexLock lock(mutex_);
  for (const Part &part : parts_) {
    const uint64_t size = part.bytes->Size();
    if (part.file != place.file || place.start < part.offset || place.length > size) continue;
    const uint64_t begin = place.start - part.offset;
    if (begin > size - place.length) continue;
    return {part.bytes, part.bytes->Span().subspan(begin, place.length)};
  }
  return {};
}

}  // namespace smdebug::analyze
