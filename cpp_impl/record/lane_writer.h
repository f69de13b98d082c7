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
//   1. It takes no lock of the queue, so only its own thread waits for its files.
//   2. It reads only the item and `lane.file`, which belong to the thread that has the lane.
//   3. It never throws: the thread is the library's, and must not end the job's process.
class LaneWriter {
 public:
  // `worker` in its file form.
  LaneWriter(std::shared_ptr<storage::Store> store, std::string worker,
             const QueueOptions &options);

  // Executes an item, whose bytes may be in `spill`.
  Status Write(Lane &lane, Item &item, SpillFolder *spill) noexcept;

  // OUT_OF_MEMORY, allocated in advance.
  const Status &NoMemory() const { return no_memory_; }

 private:
  Status Dispatch(Lane &lane, Item &item, SpillFolder *spill);
  Status PutFile(const Item &item);
  Status Append(Lane &lane, Item &item, SpillFolder *spill);
  Status CommitStep(Lane &lane);

  const std::shared_ptr<storage::Store> store_;
  const std::string worker_;
  const QueueOptions &options_;
  const Status no_memory_;
};

}  // namespace smdebug::record
