#include "record/admission.h"

#include <algorithm>
#include <utility>

namespace smdebug::record {

bool Admission::WaitForRoom(uint64_t bytes, Mutex &mutex) {
  if (options_.policy != QueuePolicy::kBlock) return HasRoom(bytes);
  const Deadline deadline = Deadline::After(clock_, options_.block_time);
  while (!HasRoom(bytes) && !deadline.IsOver(clock_)) {
    clock_.WaitFor(room_, mutex, deadline.Left(clock_));
  }
  return HasRoom(bytes);
}

uint64_t Admission::WeightOf(const Item &item) const {
  if (!item.spilled.empty() || item.kind == Item::Kind::kFile) return 0;
  return std::min(item.batch.bytes + item.text.size(), options_.capacity - options_.capacity / 8);
}

void Admission::Remove(Item *item) { bytes_ -= std::exchange(item->weight, 0); }

// Waking the training thread for every little room would cost as much as writing what it then
// adds.
void Admission::NotifyRoom() {
  if (bytes_ <= options_.capacity - options_.capacity / 16) room_.NotifyAll();
}

}  // namespace smdebug::record
