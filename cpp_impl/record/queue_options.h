// The bounds of the write queue, and its counts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "format/step_listener.h"
#include "record/out_dir.h"

namespace smdebug::record {

// The treatment of a batch when the queue is full.
enum class QueuePolicy {
  kBlock,  // waits, up to a bound; then its step is dropped
  kDrop,   // its step is dropped at once
  kSpill,  // goes to files in another folder, up to a bound; then as kDrop
};

struct QueueOptions {
  uint64_t capacity = uint64_t{256} << 20;  // bytes
  QueuePolicy policy = QueuePolicy::kBlock;
  Clock::Duration block_time = std::chrono::seconds(5);
  std::string spill_folder;
  uint64_t spill_capacity = uint64_t{1} << 30;
  bool is_durable = false;            // a step is on the disk before it counts as written
  bool reports_late = false;          // only TakeError() reports a dropped step
  bool is_resumed = false;            // the store may hold steps of an earlier run
  std::shared_ptr<OutDir> out_dir{};  // NULL: one of the queue's own
  std::shared_ptr<format::StepListener> listener{};  // NULL: none
};

struct QueueCounts {
  int64_t steps_written = 0;
  int64_t steps_dropped = 0;  // because the queue was full
  int64_t steps_failed = 0;   // dropped because of an error
  int64_t tensors_written = 0;
  int64_t bytes_written = 0;
  int64_t bytes_queued = 0;
};

}  // namespace smdebug::record
