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

// Thread safety: any thread, but the calls for one step come in order, and the steps one after
// the other.  Threads start as there is work, as many as the store can use.
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

  // Takes bytes of a step.  Fails with STEP_DROPPED, once, if the step is dropped for want of
  // room, unless errors are reported late.  Ignores batches of a dropped step.
  Status Push(const std::shared_ptr<Step> &step, Batch batch);
  // Adds the step's last batch; its files may then be committed.
  Status Seal(const std::shared_ptr<Step> &step, Batch rest);
  // Drops the step because of an error, with what was written of it.  Needs no memory.
  void Drop(Step &step);
  // Drops a step that its caller does not want recorded: it is not counted.
  void Discard(Step &step);

  // Writes a small file after all that was pushed before.  One that cannot be written is tried
  // again after the next step.
  void PutFile(std::string name, std::string text);
  // Writes a small file after the steps before this one, and before it counts as written; to be
  // called before Seal().
  void PutFileBefore(const std::shared_ptr<Step> &step, std::string name, std::string text);
  // Writes a file that nothing depends on, into another folder.  It is skipped, with a log line,
  // if there is no room or it cannot be written.
  void PutOptionalFile(std::shared_ptr<storage::Store> store, std::string name, std::string text);

  // Waits until all that was pushed before is written.  Fails with TIMEOUT.
  Status Flush(Deadline deadline);
  // Flushes and ends the threads.  Those that cannot end in time are left behind with what they
  // hold.  A second call does nothing.  Fails with TIMEOUT.
  Status Stop(Deadline deadline);

  // Returns the first error since the last call, or success.
  Status TakeError();
  QueueCounts Counts() const;

 private:
  std::shared_ptr<QueueCore> core_;
};

}  // namespace smdebug::record
