// Batches that wait in files of a bounded folder while memory is full.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "base/mutex.h"
#include "base/result.h"
#include "record/batch.h"
#include "storage/store.h"

namespace smdebug::record {

// Thread safety: any thread.
//
// Invariants:
//   1. used_ is the size of the files in parked_, and at most capacity_.
//   2. A name is in parked_ before its file exists and until it is removed, so the destructor
//      removes every remaining file.
//   3. Files are written, read and removed without the lock.
//   4. The claim's name contains token_, as the names of all files do.  While the process lives, it
//      holds the claim, so that no other process removes the files.
class SpillFolder {
 public:
  static Result<std::unique_ptr<SpillFolder>> Open(const std::string &folder, uint64_t capacity);
  // Removes the remaining files.
  ~SpillFolder();

  // Removes the files of hooks whose processes are proved dead.  A failure leaves files, which only
  // take room.
  static void RemoveLeftovers(const std::string &folder) noexcept;

  // Writes the batch's bytes to a file and returns its name, or "" if they do not fit.
  Result<std::string> Park(const Batch &batch);
  // Replaces the batch's pieces by one with the file's bytes, and removes the file.
  Status Fetch(const std::string &name, Batch *batch);
  // Removes the file of a batch with this number of bytes.
  Status Forget(const std::string &name, uint64_t bytes);

 private:
  SpillFolder(std::shared_ptr<storage::Store> store, uint64_t capacity);
  // Without the claim, the files of this hook are left if its process is killed.
  void AcquireClaim();
  // Returns the name for a file with this number of bytes; "" if they do not fit.
  std::string Reserve(uint64_t bytes);
  Status Write(const std::string &name, const Batch &batch);
  void Unreserve(const std::string &name, uint64_t bytes);

  const std::shared_ptr<storage::Store> store_;
  const uint64_t capacity_;
  // Distinguishes its files from those of other hooks, processes and machines.
  std::string token_;
  std::unique_ptr<storage::Claim> claim_;
  Mutex mutex_;
  std::set<std::string> parked_ SMD_GUARDED_BY(mutex_);
  uint64_t used_ SMD_GUARDED_BY(mutex_) = 0;
  uint64_t next_ SMD_GUARDED_BY(mutex_) = 0;
};

}  // namespace smdebug::record
