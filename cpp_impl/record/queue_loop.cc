// The writer threads' side of the queue.
#include <list>
#include <new>
#include <utility>

#include "base/deferral.h"
#include "record/queue_core.h"

namespace smdebug::record {

void QueueCore::Run() {
  options_.out_dir->Sweep();
  if (options_.policy == QueuePolicy::kSpill && !has_swept_spill_.exchange(true)) {
    SpillFolder::RemoveLeftovers(options_.spill_folder);
  }
  while (const std::shared_ptr<Lane> lane = TakeLane()) WorkOn(*lane);
  std::vector<std::unique_ptr<StepFile>> unfinished;
  {
    const DeferringLock lock(mutex_);
    unfinished.swap(unfinished_);
  }
  // Aborting an upload asks its service, which the job must not wait for.
  unfinished.clear();
  if (options_.listener) options_.listener->OnEnd();
  const DeferringLock lock(mutex_);
  threads_.NoteEnd();
  changed_.NotifyAll();
}

std::shared_ptr<Lane> QueueCore::TakeLane() {
  const DeferringLock lock(mutex_);
  while (true) {
    if (std::shared_ptr<Lane> lane = lanes_.Take()) return lane;
    if (must_end_) return nullptr;
    threads_.AwaitWork(mutex_);
  }
}

void QueueCore::WorkOn(Lane &lane) {
  if (lane.step && lane.step->is_dropped) return ClearDropped(lane);
  Item *item;
  {
    const DeferringLock lock(mutex_);
    item = &lane.items.front();
  }
  SpillFolder *spill = item->spilled.empty() ? nullptr : spill_.get();  // invariant 6
  const bool is_small = item->kind == Item::Kind::kIndex || item->kind == Item::Kind::kFile;
  if (is_small) CheckOutDir();
  const Status status = writer_.Write(lane, *item, spill);
  if (!status.IsOk() && !is_small && lane.step) CheckOutDir();
  // Who hears that the disk is full finds the room that the lost step had taken.
  if (status.GetCode() == Code::kNoSpace && !is_small) lane.file.reset();
  item->batch.pieces.clear();
  if (!item->spilled.empty()) ForgetSpilled(*item);
  Finish(lane, status);
}

void QueueCore::CheckOutDir() {
  Status checked;
  try {
    checked = options_.out_dir->Check(options_.is_durable);
  } catch (const std::bad_alloc &) {
    return;  // the next file's check finds out
  }
  if (checked.IsOk()) return;
  const DeferringLock lock(mutex_);
  NoteError(checked);
}

void QueueCore::Finish(Lane &lane, const Status &status) {
  std::list<Item> done;  // destroyed without the lock
  const DeferringLock lock(mutex_);
  Item &item = lane.items.front();
  NoteResult(lane, item, status);
  admission_.Remove(&item);
  const bool is_last = !lane.step || item.kind == Item::Kind::kIndex;
  if (item.kind == Item::Kind::kIndex && status.IsOk()) RetryFilesIfPossible();
  if (item.kind == Item::Kind::kSeal) {
    item.kind = Item::Kind::kIndex;
  } else {
    // Without the collections file no step can be read, so one failure is not the end.
    if (item.kind == Item::Kind::kFile && !status.IsOk()) KeepFile(std::move(item));
    done.splice(done.begin(), lane.items, lane.items.begin());
  }
  lanes_.GiveBack(lane, is_last);
  WakeWriter();
  NotifyDone();
}

void QueueCore::NoteResult(Lane &lane, const Item &item, const Status &status) {
  if (item.kind == Item::Kind::kOptionalFile) {
    if (status.IsOk()) {
      faults_.NoteNotSkipped();
    } else {
      faults_.LogSkipped(*item.store, item.name, status.Message());
    }
    return;
  }
  if (!status.IsOk()) {
    NoteError(status);
    if (lane.step) CountFailed(*lane.step);
  } else if (item.kind == Item::Kind::kIndex) {
    CountWritten(*lane.file);
  }
}

void QueueCore::CountWritten(const StepFile &file) {
  if (file.IsEmpty()) return;
  faults_.NoteWritten();
  ++counts_.steps_written;
  counts_.tensors_written += static_cast<int64_t>(file.TensorCount());
  counts_.bytes_written += static_cast<int64_t>(file.BytesWritten());
}

// Destroying the file of a dropped step removes the part already written.
void QueueCore::ClearDropped(Lane &lane) {
  lane.file.reset();
  while (true) {
    std::list<Item> items;
    {
      const DeferringLock lock(mutex_);
      if (lane.items.empty()) {
        lanes_.GiveBack(lane, true);
        WakeWriter();
        NotifyDone();
        return;
      }
      items.swap(lane.items);
    }
    for (Item &item : items) {
      item.batch.pieces.clear();
      if (!item.spilled.empty()) ForgetSpilled(item);
    }
    const DeferringLock lock(mutex_);
    for (Item &item : items) admission_.Remove(&item);
  }
}

void QueueCore::ForgetSpilled(const Item &item) {
  Status forgotten;
  try {
    forgotten = spill_->Forget(item.spilled, item.batch.bytes);
  } catch (const std::bad_alloc &) {
    forgotten = writer_.NoMemory();
  }
  if (forgotten.IsOk()) return;
  const DeferringLock lock(mutex_);
  NoteError(forgotten);
}

}  // namespace smdebug::record
