// Holds the hook's claim on the trial's folder, and detects that the folder was replaced.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "base/result.h"
#include "storage/store.h"

namespace smdebug::record {

// Acquire(), Release() and IsLost() are safe from any thread and wait for no other call; the rest
// is for the writer's threads.
class OutDir {
 public:
  // `worker` in its file form.  `is_shared`: several workers record here, and none claims it.
  OutDir(std::shared_ptr<storage::Store> store, std::string worker, bool is_shared)
      : store_(std::move(store)), worker_(std::move(worker)), is_shared_(is_shared) {}

  // Returns true if this process may record: it holds the claim, or needs none.
  Result<bool> Acquire() SMD_EXCLUDES(claim_mutex_);
  // Releases the claim.
  void Release() SMD_EXCLUDES(claim_mutex_);
  // Returns true if another process records into a new folder in place of this one.
  bool IsLost() const { return is_lost_; }

  // Removes unfinished files of an earlier run of this worker that was killed.  With the claim,
  // also removes unfinished files of other workers, and those for TensorBoard in this folder, if
  // their writers are proved dead.  Call it before a writer's first file; later calls do nothing.
  void Sweep() noexcept SMD_EXCLUDES(mutex_);

  // Writes a small file, unless IsLost(), and remembers the worker's collections.  An empty end
  // marker leaves that of a worker which failed.
  Status Put(const std::string &name, const std::string &text, bool is_durable)
      SMD_EXCLUDES(mutex_);
  // Writes a file that no other file needs, unless the folder was removed or replaced.
  Status PutOptional(const std::string &name, const std::string &text) SMD_EXCLUDES(mutex_);
  // Fails with IO if the step's event file is missing: a step exists completely or not at all.
  Status CheckStep(int64_t step, const std::string &event_file);
  // Checks that the folder still holds that file.  If it was removed, renamed or replaced,
  // claims the new folder, writes the file again, and fails with IO once.
  Status Check(bool is_durable) SMD_EXCLUDES(mutex_);

 private:
  Status PutEndMarker(const std::string &text, bool is_durable);
  // Reports whether the folder still holds the worker's collections, if that can be told.
  Result<bool> IsIntact() SMD_REQUIRES(mutex_);
  Status Recover(bool is_durable) SMD_REQUIRES(mutex_);

  const std::shared_ptr<storage::Store> store_;
  const std::string worker_;
  const bool is_shared_;
  std::atomic<bool> is_acquired_{false};
  std::atomic<bool> is_lost_{false};
  Mutex claim_mutex_;  // never held while files are touched
  std::unique_ptr<storage::Claim> claim_ SMD_GUARDED_BY(claim_mutex_);
  Mutex mutex_;
  bool is_swept_ SMD_GUARDED_BY(mutex_) = false;
  std::string collections_ SMD_GUARDED_BY(mutex_);                        // the text last written
  std::optional<storage::FileIdentity> identity_ SMD_GUARDED_BY(mutex_);  // of the collections file
};

}  // namespace smdebug::record
