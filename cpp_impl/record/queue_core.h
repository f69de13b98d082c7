// The state that a write queue shares with its threads.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "record/admission.h"
#include "record/fault_log.h"
#include "record/lane_writer.h"
#include "record/spill_folder.h"
#include "record/step_lanes.h"
#include "record/writer_threads.h"

namespace smdebug::record {

// Its functions are those of WriteQueue.  It is shared, so that an abandoned thread keeps the state
// that it uses.
//
// Thread safety: any thread.  One lock, mutex_; nothing is locked while it is held.
//
// Invariants:
//   1. No file is read, written or removed with the lock held: the training thread spills before
//      it enqueues, and LaneWriter writes the files.
//   2. Borrowed memory is released, and log lines are written, without the lock: items move
//      out of a lane before they are destroyed, and every lock is a DeferringLock.
//   3. A batch is enqueued in the critical section that admitted it, or after it was spilled.
//   4. A batch's memory is released before its item counts as done, so that Flush() returns
//      after the release.
//   5. Small files have a place in unwritten_ as long as the queue lives, so that keeping one
//      for another try needs no memory.
//   6. spill_ is set once, by the thread that pushes, before the first spilled item is enqueued;
//      writers use it only for spilled items.
class QueueCore : public std::enable_shared_from_this<QueueCore> {
 public:
  // `worker` in its file form.
  QueueCore(std::shared_ptr<storage::Store> store, std::string worker, QueueOptions options,
            Clock &clock, Logger logger);

  Status Push(const std::shared_ptr<Step> &step, Item item) SMD_EXCLUDES(mutex_);
  void Hold(const std::shared_ptr<Step> &step) SMD_EXCLUDES(mutex_);
  void Drop(Step &step) SMD_EXCLUDES(mutex_);
  void Discard(Step &step) SMD_EXCLUDES(mutex_);
  void PutFile(const std::shared_ptr<Step> &before, Item item) SMD_EXCLUDES(mutex_);
  void PutOptionalFile(Item item) SMD_EXCLUDES(mutex_);
  Status Flush(Deadline deadline) SMD_EXCLUDES(mutex_);
  Status Stop(Deadline deadline) SMD_EXCLUDES(mutex_);
  void Abandon() SMD_EXCLUDES(mutex_);
  Status TakeError() SMD_EXCLUDES(mutex_);
  void Report(const Status &error) SMD_EXCLUDES(mutex_);
  QueueCounts Counts() SMD_EXCLUDES(mutex_);

 private:
  using Lanes = std::vector<std::shared_ptr<Lane>>;

  // Functions of the training thread.
  void HelpIfBehind(Batch *batch) SMD_EXCLUDES(mutex_);
  // Returns true if the item's bytes are now in a file.
  Result<bool> Spill(Item *item) SMD_EXCLUDES(mutex_);
  Status PushSpilled(const std::shared_ptr<Step> &step, Item item) SMD_EXCLUDES(mutex_);
  void Enqueue(const std::shared_ptr<Step> &step, Item item) SMD_REQUIRES(mutex_);
  Status DropForRoom(Step &step) SMD_REQUIRES(mutex_);
  // Returns true if a thread will write the enqueued items.
  bool HasWriter() SMD_REQUIRES(mutex_);
  Status StartWriter() SMD_REQUIRES(mutex_);

  // Functions of both.
  void WakeWriter() SMD_REQUIRES(mutex_);
  void KeepError(const Status &error) SMD_REQUIRES(mutex_);
  void NoteError(const Status &error) SMD_REQUIRES(mutex_);
  void CountFailed(Step &step) SMD_REQUIRES(mutex_);
  void KeepFile(Item file) SMD_REQUIRES(mutex_);
  void RetryFiles(const std::shared_ptr<Step> &before) SMD_REQUIRES(mutex_);
  void RetryFilesIfPossible() SMD_REQUIRES(mutex_);
  void NotifyDone() SMD_REQUIRES(mutex_);
  // Drops the waiting steps.  The caller destroys the result without the lock.
  Lanes DropLanes() SMD_REQUIRES(mutex_);

  // Functions of the writer threads.
  void Run();
  std::shared_ptr<Lane> TakeLane() SMD_EXCLUDES(mutex_);
  void WorkOn(Lane &lane) SMD_EXCLUDES(mutex_);
  // Reports that the trial's folder was removed or replaced, if so.
  void CheckOutDir() SMD_EXCLUDES(mutex_);
  void Finish(Lane &lane, const Status &status) SMD_EXCLUDES(mutex_);
  void NoteResult(Lane &lane, const Item &item, const Status &status) SMD_REQUIRES(mutex_);
  void CountWritten(const StepFile &file) SMD_REQUIRES(mutex_);
  void ClearDropped(Lane &lane) SMD_EXCLUDES(mutex_);
  void ForgetSpilled(const Item &item) SMD_EXCLUDES(mutex_);

  const std::shared_ptr<storage::Store> store_;
  const QueueOptions options_;
  Clock &clock_;
  LaneWriter writer_;
  std::unique_ptr<SpillFolder> spill_;  // invariant 6
  std::atomic<bool> has_swept_spill_{false};

  Mutex mutex_;
  CondVar changed_;  // for those who wait until something is written
  WriterThreads threads_ SMD_GUARDED_BY(mutex_);
  StepLanes lanes_ SMD_GUARDED_BY(mutex_);
  Admission admission_ SMD_GUARDED_BY(mutex_);
  // Small files to be tried again, by name.
  std::map<std::string, std::optional<Item>> unwritten_ SMD_GUARDED_BY(mutex_);
  // Files of dropped steps, for a writer to abandon.
  std::vector<std::unique_ptr<StepFile>> unfinished_ SMD_GUARDED_BY(mutex_);
  QueueCounts counts_ SMD_GUARDED_BY(mutex_);
  FaultLog faults_ SMD_GUARDED_BY(mutex_);
  std::atomic<bool> has_error_{false};  // spares the lock where all is well
  bool must_end_ SMD_GUARDED_BY(mutex_) = false;
};

}  // namespace smdebug::record
