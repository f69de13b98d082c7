// Reads tensors from event files.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analyze/record.h"
#include "analyze/shared_reads.h"
#include "analyze/small_files.h"
#include "analyze/value_blocks.h"
#include "base/bytes.h"
#include "base/mutex.h"
#include "base/result.h"
#include "storage/store.h"

namespace smdebug::analyze {

// Keeps the most recently used files open.  Safe from any thread.
class EventFiles {
 public:
  explicit EventFiles(std::shared_ptr<storage::Store> store) : store_(std::move(store)) {}

  // Reads the elements directly into the value's own memory.  Files that are read again and again
  // are kept in memory if they are small; what is kept is used only if the index has a checksum
  // for it.  Fails: NOT_FOUND (no such file),
  // CORRUPT_DATA (path and offset in the message), IO.
  Result<ReadTensor> Read(const RecordPlace &place);

  // Reads raw bytes of a file.  Fails as Read().
  Result<std::shared_ptr<const AlignedBuffer>> ReadBytes(const std::string &file, uint64_t offset,
                                                         uint64_t length);

  // Reads several ranges, as storage::Store::ReadRanges() does.
  std::vector<Status> ReadRanges(std::span<const storage::RangeRead> ranges) {
    return store_->ReadRanges(ranges);
  }

  // Until EndSharing(), what Read() and ReadBytes() read is kept for the readers that follow. Calls
  // nest.
  void BeginSharing() { shared_.Begin(); }
  void EndSharing() { shared_.End(); }
  // Keeps a part that ReadRanges() has read, likewise.
  void Share(const std::string &file, uint64_t offset, std::shared_ptr<const AlignedBuffer> bytes) {
    shared_.KeepPart(file, offset, std::move(bytes));
  }

  // Reads a record of a file that need not stay open.  Small values lie in `blocks`.  If
  // `keeps_files`, small files are kept in memory.  Fails if the record cannot be read at once;
  // Read() then finds out why, or still reads it.
  Result<ReadTensor> ReadOnce(const RecordPlace &place, ValueBlocks *blocks, bool keeps_files);

  // Reads several records concurrently.  Returns nothing for those that Read() must try again, and
  // for empty places.
  std::vector<std::optional<ReadTensor>> ReadAtOnce(std::span<const RecordPlace> places);

  // Prepares to read one record from each of `count` files, of which this is the first.  Returns
  // true if ReadOnce() should keep them: they were read before, and fit into memory.
  bool BeginMany(const std::string &file, size_t count) SMD_EXCLUDES(mutex_);

  // Returns how many records are worth reading concurrently with ReadAtOnce().
  int ReadsAtOnce() const { return store_->ReadsAtOnce(); }

  // If the store can read several records concurrently, reads them and keeps each until Read()
  // returns it, or until many later records displace it.  Ignores failures: Read() tries those
  // records again.
  void Prefetch(std::span<const RecordPlace> places);

 private:
  // The most bytes that Prefetch() keeps.
  static constexpr uint64_t kMostKept = uint64_t{256} << 20;
  struct Kept {
    RecordPlace place;
    ReadTensor tensor;
  };
  bool IsKept(const RecordPlace &place) SMD_EXCLUDES(mutex_);
  void Keep(const RecordPlace &place, ReadTensor tensor) SMD_EXCLUDES(mutex_);
  std::optional<ReadTensor> TakeKept(const RecordPlace &place) SMD_EXCLUDES(mutex_);
  ReadTensor Release(std::list<Kept>::iterator kept) SMD_REQUIRES(mutex_);

  struct Opened {
    std::string name;
    std::shared_ptr<storage::FileReader> file;
    int uses = 0;
  };
  Result<std::shared_ptr<storage::FileReader>> Open(const std::string &name);
  // Keeps the file in memory if it is small.  Returns its content, or NULL.
  std::shared_ptr<const AlignedBuffer> KeepWhole(const std::string &name,
                                                 const storage::FileReader &file);
  // Reads a small file into memory and keeps it.  Returns NULL if that is not possible.
  std::shared_ptr<const AlignedBuffer> ReadWhole(const std::string &name);
  // Does so if the record's file is likely to be tiny, so that reading all of it costs no more than
  // reading the record.
  std::shared_ptr<const AlignedBuffer> ReadIfTiny(const RecordPlace &place);
  // Reads the record from its file's content, which may be NULL.  Returns nothing if that is not
  // possible.
  static std::optional<ReadTensor> ReadFrom(const AlignedBuffer *whole, const RecordPlace &place,
                                            ValueBlocks *blocks);

  Result<ReadTensor> ReadFromFile(const RecordPlace &place);

  const std::shared_ptr<storage::Store> store_;
  SharedReads shared_;
  SmallFiles small_files_;
  std::atomic<bool> expects_tiny_files_{true};  // as the last new file was
  Mutex mutex_;
  std::set<std::string> begun_ SMD_GUARDED_BY(mutex_);  // the first files of reads of many
  std::list<Opened> opened_ SMD_GUARDED_BY(mutex_);     // the most recently used in front
  std::list<Kept> kept_ SMD_GUARDED_BY(mutex_);         // the oldest in front
  std::map<std::pair<std::string, uint64_t>, std::list<Kept>::iterator> kept_at_
      SMD_GUARDED_BY(mutex_);  // by file and start
  uint64_t kept_bytes_ SMD_GUARDED_BY(mutex_) = 0;
};

// Reads the record at `place` from an open file.  Returns nothing if the record holds no tensor.
// Fails as EventFiles::Read(); messages do not name the file.
Result<std::optional<ReadTensor>> ReadRecord(const storage::FileReader &file,
                                             const RecordPlace &place);

}  // namespace smdebug::analyze
