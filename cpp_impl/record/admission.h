// Decides whether the queue has room for more bytes.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/mutex.h"
#include "record/queue_options.h"
#include "record/step_lanes.h"

namespace smdebug::record {

// Thread safety: every function needs the queue's lock.
//
// Invariants:
//   1. Bytes() is the sum of the weights of all items that wait.
//   2. An item's weight is at most 7/8 of the capacity, so that a batch larger than the queue
//      leaves room for the rest of its step.
//   3. A spilled item weighs nothing: its bytes are not in memory.
//   4. Only WaitForRoom() waits; whatever lowers Bytes() is followed by NotifyRoom().
class Admission {
 public:
  Admission(const QueueOptions &options, Clock &clock) : options_(options), clock_(clock) {}

  uint64_t Bytes() const { return bytes_; }
  bool HasRoom(uint64_t bytes) const { return bytes_ == 0 || bytes_ + bytes <= options_.capacity; }
  // Returns true if the next batch may have to wait.
  bool IsNearlyFull() const { return bytes_ >= options_.capacity / 4 * 3; }

  // Waits for room if the policy is to block, then returns true if there is room.
  bool WaitForRoom(uint64_t bytes, Mutex &mutex) SMD_REQUIRES(mutex);
  // Returns the number of bytes that the item counts for.
  uint64_t WeightOf(const Item &item) const;
  void Add(uint64_t weight) { bytes_ += weight; }
  void Remove(Item *item);
  // Wakes the waiting thread if there is enough room.
  void NotifyRoom();

 private:
  const QueueOptions &options_;
  Clock &clock_;
  CondVar room_;
  uint64_t bytes_ = 0;
};

}  // namespace smdebug::record
