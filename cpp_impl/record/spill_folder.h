// Batches parked in files of a bounded folder while memory is full.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "base/result.h"
#include "record/batch.h"
#include "storage/store.h"

namespace smdebug::record {

// For one thread at a time.
class SpillFolder {
 public:
  static Result<std::unique_ptr<SpillFolder>> Open(const std::string &folder, uint64_t capacity);
  // Removes what is left.
  ~SpillFolder();

  // Whether `bytes` more fit.
  bool HasRoomFor(uint64_t bytes) const { return used_ + bytes <= capacity_; }

  // Writes the batch's bytes to a file; its name finds them again.
  Result<std::string> Park(const Batch &batch);
  // Reads them back as one piece in place of the batch's former ones, and removes the
  // file.
  Status Fetch(const std::string &name, Batch *batch);
  // Removes the file of a batch of so many bytes.
  Status Forget(const std::string &name, uint64_t bytes);

 private:
  SpillFolder(std::shared_ptr<storage::Store> store, uint64_t capacity);

  std::shared_ptr<storage::Store> store_;
  const uint64_t capacity_;
  // Tells its files from those of other hooks, processes and machines.
  const std::string token_;
  std::set<std::string> parked_;
  uint64_t used_ = 0;
  uint64_t next_ = 0;
};

}  // namespace smdebug::record
