#include "record/chunk_pool.h"

namespace smdebug::record {
namespace {

// 64 MiB of free chunks stay, so that a job that records much does not fault in new pages at
// every step.
constexpr size_t kMostFree = 256;

}  // namespace

std::shared_ptr<AlignedBuffer> ChunkPool::Take() {
  std::unique_ptr<AlignedBuffer> chunk;
  {
    const MutexLock lock(free_->mutex);
    if (!free_->chunks.empty()) {
      chunk = std::move(free_->chunks.back());
      free_->chunks.pop_back();
    } else {
      free_->chunks.reserve(kMostFree);  // so that giving back never allocates
    }
  }
  if (!chunk) chunk = std::make_unique<AlignedBuffer>(kChunkSize);
  const auto give_back = [free = free_](AlignedBuffer *buffer) {
    std::unique_ptr<AlignedBuffer> owned(buffer);
    const MutexLock lock(free->mutex);
    if (free->chunks.size() < kMostFree) free->chunks.push_back(std::move(owned));
  };
  return {chunk.release(), give_back};
}

}  // namespace smdebug::record
