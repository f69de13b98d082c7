// Keeps what was read of event files while several readers need it.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyze/record.h"
#include "base/bytes.h"
#include "base/mutex.h"

namespace smdebug::analyze {

// Keeps parts and records of event files between Begin() and End().  Calls nest.  Forgets
// everything when it would keep too much.  Safe from any thread.
class SharedReads {
 public:
  void Begin();
  void End();

  // Both do nothing unless reads are shared.
  void KeepPart(const std::string &file, uint64_t offset,
                std::shared_ptr<const AlignedBuffer> bytes);
  void KeepRecord(const RecordPlace &place, const ReadTensor &tensor);

  // Returns a copy with elements of its own, since callers may write to them, or nothing.
  std::optional<ReadTensor> FindRecord(const RecordPlace &place);
  // Returns the bytes of the record if a part holds them, else none.  They are not checked.
  Piece FindBytes(const RecordPlace &place);

 private:
  static constexpr uint64_t kMostKept = uint64_t{256} << 20;
  struct Part {
    std::string file;
    uint64_t offset;
    std::shared_ptr<const AlignedBuffer> bytes;
  };
  void Forget() SMD_REQUIRES(mutex_);
  // Returns false if `size` more bytes are not to be kept.
  bool Reserve(uint64_t size) SMD_REQUIRES(mutex_);

  Mutex mutex_;
  std::atomic<int> users_{0};  // changes with the mutex held
  uint64_t kept_bytes_ SMD_GUARDED_BY(mutex_) = 0;
  std::vector<Part> parts_ SMD_GUARDED_BY(mutex_);
  std::map<std::pair<std::string, uint64_t>, std::shared_ptr<const ReadTensor>> records_
      SMD_GUARDED_BY(mutex_);  // by file and start
};

}  // namespace smdebug::analyze
