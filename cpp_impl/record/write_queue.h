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
#include "storage/store.h"

namespace smdebug::record {

// What happens to a batch that finds the queue full.
enum class QueuePolicy {
  kBlock,  // waits, up to a bound; then its step is given up
  kDrop,   // its step is given up at once
  kSpill,  // goes to files in another folder, up to a bound; then as kDrop
};

struct QueueOptions {
  uint64_t capacity = uint64_t{256} << 20;  // bytes
  QueuePolicy policy = QueuePolicy::kBlock;
  Clock::Duration block_time = std::chrono::seconds(5);
  std::string spill_folder;
  uint64_t spill_capacity = uint64_t{1} << 30;
  bool is_durable = false;    // a step is on the disk before it counts as written
  bool reports_late = false;  // a step given up is an error for TakeError() alone
  bool is_resumed = false;    // the store may hold the steps already, of an earlier run
};

struct QueueCounts {
  int64_t steps_written = 0;
  int64_t steps_dropped = 0;  // given up because the queue was full
  int64_t steps_failed = 0;   // given up because of an error
  int64_t tensors_written = 0;
  int64_t bytes_written = 0;
  int64_t bytes_queued = 0;
};

// Threads start as there is work, as many as the store can use.  Safe from any thread, but the
// calls for one step come in order.
class WriteQueue {
 public:
  // `worker` in its file form.
  WriteQueue(std::shared_ptr<storage::Store> store, std::string worker, QueueOptions options,
             Clock &clock, Logger logger);
  // Without Stop(), what waits is given up.
  ~WriteQueue();

  // Takes bytes of a step.  STEP_DROPPED, once, if the step is given up for want of
  // room, unless errors are reported late; batches of a step given up are taken and
  // forgotten.
  Status Push(const std::shared_ptr<Step> &step, Batch batch);
  // Says that the step has no more batches than `rest`: its files may be committed.
  Status Seal(const std::shared_ptr<Step> &step, Batch rest);
  // Forgets the step and what was written of it; counted as failed.  Needs no memory.
  void GiveUp(Step &step);
  // Writes a small file after all that was pushed before.
  void Put(std::string name, std::string text);
  // Writes one after the steps before this one, and before it counts as written; to be
  // called before Seal().
  void PutBefore(const std::shared_ptr<Step> &step, std::string name, std::string text);

  // The same in another folder, for a file that nothing depends on: it is left out, which
  // the log says, if there is no room or it cannot be written.
  void Offer(std::shared_ptr<storage::Store> store, std::string name, std::string text);

  // Waits until all that was pushed before is written.  TIMEOUT.
  Status Flush(Deadline deadline);
  // Flushes and ends the threads; those that cannot end in time are left behind with what
  // they hold.  A second call does nothing.  TIMEOUT.
  Status Stop(Deadline deadline);

  // The first error since the last call; success if there was none.
  Status TakeError();
  QueueCounts Counts() const;

 private:
  class Core;
  std::shared_ptr<Core> core_;
};

}  // namespace smdebug::record
