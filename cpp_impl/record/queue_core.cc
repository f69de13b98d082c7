#include "record/queue_core.h"

#include <new>
#include <utility>

#include "base/deferral.h"
#include "base/strings.h"

namespace smdebug::record {
namespace {

// For what is being written when the rest is dropped.
constexpr Clock::Duration kAbandonTime = std::chrono::seconds(5);

// How many steps each writer may be ahead of the first unwritten step.
constexpr size_t kLanesAhead = 2;

}  // namespace

QueueCore::QueueCore(std::shared_ptr<storage::Store> store, std::string worker,
                     QueueOptions options, Clock &clock, Logger logger)
    : store_(std::move(store)),
      options_(std::move(options)),
      clock_(clock),
      writer_(store_, std::move(worker), options_),
      threads_(static_cast<size_t>(store_->WritesAtOnce())),
      lanes_(kLanesAhead * static_cast<size_t>(store_->WritesAtOnce())),
      admission_(options_, clock_),
      faults_(std::move(logger)) {}

// ---- the training thread's side ------------------------------------------------------------

// A thread that is about to wait for the writers may as well do a part of their work.
void QueueCore::HelpIfBehind(Batch *batch) {
  if (options_.policy != QueuePolicy::kBlock) return;
  {
    const DeferringLock lock(mutex_);
    if (!admission_.IsNearlyFull()) return;
  }
  batch->ChecksumPieces();
}

Status QueueCore::Push(const std::shared_ptr<Step> &step, Item item) {
  if (step->is_dropped) return Status::Ok();
  HelpIfBehind(&item.batch);
  {
    const DeferringLock lock(mutex_);
    if (item.kind == Item::Kind::kSeal) RetryFiles(step);
    if (admission_.WaitForRoom(item.batch.bytes, mutex_)) {
      Enqueue(step, std::move(item));
      return Status::Ok();
    }
    if (options_.policy != QueuePolicy::kSpill) return DropForRoom(*step);
  }
  return PushSpilled(step, std::move(item));
}

Status QueueCore::PushSpilled(const std::shared_ptr<Step> &step, Item item) {
  const Result<bool> spilled = Spill(&item);
  const DeferringLock lock(mutex_);
  if (spilled.IsOk() && *spilled) {
    Enqueue(step, std::move(item));
    return Status::Ok();
  }
  if (!spilled.IsOk()) NoteError(spilled.GetStatus());
  return DropForRoom(*step);
}

Result<bool> QueueCore::Spill(Item *item) {
  if (!spill_) {
    SMD_ASSIGN_OR_RETURN(spill_, SpillFolder::Open(options_.spill_folder, options_.spill_capacity));
  }
  SMD_ASSIGN_OR_RETURN(item->spilled, spill_->Park(item->batch));
  if (item->spilled.empty()) return false;
  item->batch.pieces.clear();
  return true;
}

void QueueCore::Enqueue(const std::shared_ptr<Step> &step, Item item) {
  if (!HasWriter()) {
    if (step) CountFailed(*step);
    return;
  }
  item.weight = admission_.WeightOf(item);
  const uint64_t weight = item.weight;
  lanes_.Add(step, std::move(item));
  admission_.Add(weight);
  WakeWriter();
}

Status QueueCore::DropForRoom(Step &step) {
  if (step.is_dropped.exchange(true)) return Status::Ok();
  ++counts_.steps_dropped;
  WakeWriter();
  Status dropped =
      Status(Code::kStepDropped,
             StrCat("step ", step.global_step, " is not recorded: the queue to ",
                    store_->Location(), " is full (", admission_.Bytes(),
                    " bytes wait); save less, or use a faster disk or a larger queue_bytes"))
          .With("step", std::to_string(step.global_step))
          .With("path", store_->Location());
  faults_.Log(dropped);
  if (!options_.reports_late) return dropped;
  KeepError(dropped);
  return Status::Ok();
}

void QueueCore::Hold(const std::shared_ptr<Step> &step) {
  const DeferringLock lock(mutex_);
  if (step->is_dropped) return;
  // A thread removes the lane if the step is dropped.
  if (!HasWriter()) return CountFailed(*step);
  lanes_.Hold(step);
}

void QueueCore::Drop(Step &step) {
  const DeferringLock lock(mutex_);
  CountFailed(step);
  WakeWriter();
}

void QueueCore::Discard(Step &step) {
  const DeferringLock lock(mutex_);
  step.is_dropped = true;
  WakeWriter();
}

void QueueCore::PutFile(const std::shared_ptr<Step> &before, Item item) {
  const DeferringLock lock(mutex_);
  std::optional<Item> &place = unwritten_[item.name];
  place = std::move(item);
  RetryFiles(before);
  WakeWriter();
}

void QueueCore::PutOptionalFile(Item item) {
  const DeferringLock lock(mutex_);
  if (!admission_.HasRoom(item.text.size())) {
    faults_.LogSkipped(*item.store, item.name, "the queue is full");
    return;
  }
  Enqueue(nullptr, std::move(item));
}

bool QueueCore::HasWriter() {
  if (threads_.IsEnough() || must_end_) return true;
  const Status started = StartWriter();
  if (!started.IsOk() && !threads_.HasStarted()) NoteError(started);
  return threads_.HasStarted();
}

Status QueueCore::StartWriter() try {
  return threads_.Start([core = shared_from_this()] { core->Run(); });
} catch (const std::bad_alloc &) {
  return writer_.NoMemory();
}

// ---- both sides ----------------------------------------------------------------------------

void QueueCore::CountFailed(Step &step) {
  if (!step.is_dropped.exchange(true)) ++counts_.steps_failed;
}

void QueueCore::NotifyDone() {
  changed_.NotifyAll();
  admission_.NotifyRoom();
}

// A file of the same name that was put meanwhile is newer.
void QueueCore::KeepFile(Item file) {
  std::optional<Item> &place = unwritten_.find(file.name)->second;
  if (!place) place = std::move(file);
}

void QueueCore::RetryFilesIfPossible() try { RetryFiles(nullptr); } catch (const std::bad_alloc &) {
  return;  // the next step tries it again
}

void QueueCore::RetryFiles(const std::shared_ptr<Step> &before) {
  for (auto &[name, file] : unwritten_) {
    if (!file) continue;
    if (!HasWriter()) return;
    if (before) {
      lanes_.AddBefore(before, *file);
    } else {
      lanes_.Add(nullptr, *file);
    }
    file.reset();
  }
}

void QueueCore::WakeWriter() {
  if (threads_.HasIdle() && lanes_.HasWork()) threads_.WakeOne();
}

void QueueCore::KeepError(const Status &error) {
  faults_.Keep(error);
  has_error_ = true;
}

void QueueCore::NoteError(const Status &error) {
  KeepError(error);
  faults_.Log(error);
}

QueueCore::Lanes QueueCore::DropLanes() {
  Lanes dropped = lanes_.RemoveRest();
  for (const std::shared_ptr<Lane> &lane : dropped) {
    if (lane->step) CountFailed(*lane->step);
    for (Item &item : lane->items) {
      admission_.Remove(&item);
      if (item.kind == Item::Kind::kFile) KeepFile(std::move(item));
    }
    if (lane->file && !lane->is_taken) unfinished_.push_back(std::move(lane->file));
  }
  return dropped;
}

// ---- waiting and ending --------------------------------------------------------------------

Status QueueCore::Flush(Deadline deadline) {
  const DeferringLock lock(mutex_);
  const uint64_t last = lanes_.LastSequence();
  while (!lanes_.IsDoneUpTo(last)) {
    if (deadline.IsOver(clock_)) {
      return {Code::kTimeout, StrCat(store_->Location(), ": ", admission_.Bytes(),
                                     " bytes still wait to be written when time is up")};
    }
    clock_.WaitFor(changed_, mutex_, deadline.Left(clock_));
  }
  return Status::Ok();
}

Status QueueCore::Stop(Deadline deadline) {
  {
    const DeferringLock lock(mutex_);
    if (must_end_) return Status::Ok();
  }
  Status status = Flush(deadline);
  {
    Lanes dropped;  // destroyed without the lock
    const DeferringLock lock(mutex_);
    must_end_ = true;
    if (!status.IsOk()) dropped = DropLanes();
    threads_.WakeAll();
  }
  std::vector<Thread> threads;
  bool have_ended = false;
  {
    const DeferringLock lock(mutex_);
    while (threads_.IsRunning() && !deadline.IsOver(clock_)) {
      clock_.WaitFor(changed_, mutex_, deadline.Left(clock_));
    }
    have_ended = !threads_.IsRunning();
    threads = threads_.Release();
  }
  for (Thread &thread : threads) {
    if (have_ended) {
      thread.Join();
    } else {
      thread.Detach();
    }
  }
  return status;
}

void QueueCore::Abandon() {
  {
    Lanes dropped;  // destroyed without the lock
    const DeferringLock lock(mutex_);
    try {
      dropped = DropLanes();
    } catch (const std::bad_alloc &) {  // they are dropped with the lanes
    }
  }
  const Status stopped = Stop(Deadline::After(clock_, kAbandonTime));
  (void)stopped;  // there is no caller to report it to
}

Status QueueCore::TakeError() {
  if (!has_error_) return Status::Ok();
  const DeferringLock lock(mutex_);
  has_error_ = false;
  return faults_.TakeError();
}

void QueueCore::Report(const Status &error) {
  const DeferringLock lock(mutex_);
  NoteError(error);
}

QueueCounts QueueCore::Counts() {
  const DeferringLock lock(mutex_);
  QueueCounts counts = counts_;
  counts.bytes_queued = static_cast<int64_t>(admission_.Bytes());
  return counts;
}

}  // namespace smdebug::record
