// Carries batches to background writers within a bound of memory: several steps at a time,
// each whole and in its order.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "record/batch.h"
#include "record/queue_options.h"
#include "storage/store.h"

namespace smdebug::record {

class QueueCore;

// Thread safety: any thread, but the calls for one step come in order, and steps come one after the
// other, except those behind a held one.  Writer threads start when there is work, up to the number that the store can use.
//
// Log lines and releases of borrowed memory happen with no lock of the queue held: see
// base/deferral.h.
class WriteQueue {
 public:
  // `worker` in its file form.
  WriteQueue(std::shared_ptr<storage::Store> store, std::string worker, QueueOptions options,
             Clock &clock, Logger logger);
  // Drops what Stop() has not written.
  ~WriteQueue();

  // Adds bytes to a step.  Fails with STEP_DROPPED, once, if the step is dropped because the queue
  // is full, unless errors are reported late.  Ignores batches of a dropped step.
  Status Push(const std::shared_ptr<Step> &step, Batch batch);
  // Adds the step's last batch; its files may then be committed.
  Status Seal(const std::shared_ptr<Step> &step, Batch rest);
  // Keeps the step's place in the order while later steps are pushed.  It is sealed before them.
  void Hold(const std::shared_ptr<Step> &step);
  // Drops the step because of an error, including the part already written.  Needs no memory.
  void Drop(Step &step);
  // Drops a step at the request of the caller, without counting it.
  void Discard(Step &step);

  // Writes a small file after everything that was pushed before.  If that fails, tries again after
  // the next step.
  void PutFile(std::string name, std::string text);
  // Writes a small file after all earlier steps, and before this step counts as written.  Call it
  // before Seal().
  void PutFileBefore(const std::shared_ptr<Step> &step, std::string name, std::string text);
  // Writes a file that no other file depends on, into another folder.  If the queue is full or the
  // write fails, skips the file and logs that.
  void PutOptionalFile(std::shared_ptr<storage::Store> store, std::string name, std::string text);

  // Waits until everything that was pushed before is written.  Fails with TIMEOUT.
  Status Flush(Deadline deadline);
  // Flushes and stops the threads.  If a thread cannot stop in time, abandons it with its memory,
  // and fails with TIMEOUT.  A second call does nothing.
  Status Stop(Deadline deadline);

  // Returns the first error since the last call, or success.
  Status TakeError();
  // Logs an error, and keeps it for TakeError() if it is the first one.
  void Report(const Status &error);
  QueueCounts Counts() const;

 private:
  std::shared_ptr<QueueCore> core_;
};

}  // namespace smdebug::record
