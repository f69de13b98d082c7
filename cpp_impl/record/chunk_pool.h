// Memory for recorded bytes on their way to the disk, used again and again.
#pragma once

#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/mutex.h"

namespace smdebug::record {

// Safe from any thread.
class ChunkPool {
 public:
  // Small enough that the writer finds a chunk still in the cache, large enough that
  // one write of it is worth the call.
  static constexpr size_t kChunkSize = size_t{256} << 10;

  ChunkPool() : free_(std::make_shared<Free>()) {}

  // kChunkSize bytes; back in the pool when the last owner lets go.  Throws
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
