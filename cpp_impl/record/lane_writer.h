// The writers' input and output: turns the items of a lane into files.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "record/queue_options.h"
#include "record/spill_folder.h"
#include "record/step_lanes.h"
#include "storage/store.h"

namespace smdebug::record {

// Thread safety: any number of threads, each with a lane of its own.
//
// Invariants:
//   1. It takes no lock of the queue, so nobody waits for its files but its own thread.
//   2. It reads the item and `lane.file` alone, which are the thread's while it has the lane.
//   3. It never throws: the thread is the library's, and must not end the job's process.
class LaneWriter {
 public:
  // `worker` in its file form.
  LaneWriter(std::shared_ptr<storage::Store> store, std::string worker,
             const QueueOptions &options);

  // Does what the item asks for; `spill` is where its bytes may be.
  Status Write(Lane &lane, Item &item, SpillFolder *spill) noexcept;

  // OUT_OF_MEMORY, made while there was some.
  const Status &NoMemory() const { return no_memory_; }

 private:
  Status Dispatch(Lane &lane, Item &item, SpillFolder *spill);
  Status Append(Lane &lane, Item &item, SpillFolder *spill);
  Status CommitStep(Lane &lane);

  const std::shared_ptr<storage::Store> store_;
  const std::string worker_;
  const QueueOptions &options_;
  const Status no_memory_;
};

}  // namespace smdebug::record
