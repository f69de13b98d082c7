// Reuses the memory of recorded bytes on their way to the disk.
#pragma once

#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/mutex.h"

namespace smdebug::record {

// Copies share their memory.
//
// Thread safety: any thread.
class ChunkPool {
 public:
  // Small enough to be still in the cache when it is written, large enough for one call.
  static constexpr size_t kChunkSize = size_t{256} << 10;

  ChunkPool() : free_(std::make_shared<Free>()) {}

  // Returns kChunkSize bytes, which go back to the pool with their last owner.  Throws
  // std::bad_alloc.
  std::shared_ptr<AlignedBuffer> Take();

 private:
  struct Free {
    Mutex mutex;
    std::vector<std::unique_ptr<AlignedBuffer>> chunks SMD_GUARDED_BY(mutex);
  };
  std::shared_ptr<Free> free_;
};

}  // namespace smdebug::record
