#include "record/write_queue.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/strings.h"
#include "base/thread.h"
#include "record/fault_log.h"
#include "record/spill_folder.h"
#include "record/step_lanes.h"

namespace smdebug::record {
namespace {

// For what is under way when the rest is given up.
constexpr Clock::Duration kAbandonTime = std::chrono::seconds(5);

// So far each writer may be ahead of the first step that is not written yet.
constexpr size_t kLanesAhead = 2;

}  // namespace

class WriteQueue::Core : public std::enable_shared_from_this<Core> {
 public:
  Core(std::shared_ptr<storage::Store> store, std::string worker, QueueOptions options,
       Clock &clock, Logger logger)
      : store_(std::move(store)),
        worker_(std::move(worker)),
        options_(std::move(options)),
        clock_(clock),
        logger_(std::move(logger)),
        no_memory_(Code::kOutOfMemory,
                   StrCat(store_->Location(), ": there is no memory to write with")),
        threads_(static_cast<size_t>(store_->WritesAtOnce())),
        lanes_(kLanesAhead * threads_.size()) {}

  Status Push(const std::shared_ptr<Step> &step, Item item) SMD_EXCLUDES(mutex_);
  void GiveUp(Step &step) SMD_EXCLUDES(mutex_);
  void Put(const std::shared_ptr<Step> &before, Item item) SMD_EXCLUDES(mutex_);
  void Offer(Item item) SMD_EXCLUDES(mutex_);
  Status Flush(Deadline deadline) SMD_EXCLUDES(mutex_);
  Status Stop(Deadline deadline) SMD_EXCLUDES(mutex_);
  void Abandon() SMD_EXCLUDES(mutex_);
  Status TakeError() SMD_EXCLUDES(mutex_);
  QueueCounts Counts() SMD_EXCLUDES(mutex_);

 private:
  uint64_t WeightOf(const Item &item) const;
  bool HasRoom(uint64_t bytes) const SMD_REQUIRES(mutex_);
  bool WaitForRoom(uint64_t bytes) SMD_REQUIRES(mutex_);
  void HelpIfBehind(Batch *batch) SMD_EXCLUDES(mutex_);
  bool Spill(Item *item) SMD_REQUIRES(mutex_);
  Status DropStep(Step &step) SMD_REQUIRES(mutex_);
  // Whether there is one.
  bool StartWriter() SMD_REQUIRES(mutex_);
  Status TryToStart() SMD_REQUIRES(mutex_);
  void WakeWriter() SMD_REQUIRES(mutex_);
  void KeepError(const Status &error) SMD_REQUIRES(mutex_);
  void NoteError(const Status &error) SMD_REQUIRES(mutex_);
  void NoteFailed(Step &step) SMD_REQUIRES(mutex_);
  void GiveUpLanes() SMD_REQUIRES(mutex_);
  void Keep(Item put) SMD_REQUIRES(mutex_);
  void RetryPuts(const std::shared_ptr<Step> &before) SMD_REQUIRES(mutex_);
  void RetryPutsIfPossible() SMD_REQUIRES(mutex_);
  void NotifyDone() SMD_REQUIRES(mutex_);
  // Passes on what nobody may be given with the lock held: log lines, and lent memory back
  // to its owner.
  void PassOn() SMD_EXCLUDES(mutex_);

  // The writer threads' side.
  void Run();
  std::shared_ptr<Lane> TakeLane() SMD_EXCLUDES(mutex_);
  void WorkOn(Lane &lane) SMD_EXCLUDES(mutex_);
  Status ProcessOrFail(Lane &lane, Item &item);
  Status Process(Lane &lane, Item &item);
  Status Fetch(Item *item) SMD_EXCLUDES(mutex_);
  Status Append(Lane &lane, Item &item);
  Status CommitStep(Lane &lane) SMD_EXCLUDES(mutex_);
  void Finish(Lane &lane, const Status &status) SMD_EXCLUDES(mutex_);
  void Forget(Lane &lane) SMD_EXCLUDES(mutex_);
  void ForgetSpilled(const Item &item) SMD_REQUIRES(mutex_);

  const std::shared_ptr<storage::Store> store_;
  const std::string worker_;
  const QueueOptions options_;
  Clock &clock_;
  const Logger logger_;
  const Status no_memory_;  // made while there is some

  Mutex mutex_;
  CondVar changed_;  // for those who wait until something is written
  CondVar room_;     // for the training thread
  CondVar work_;     // for the writers
  std::vector<Thread> threads_ SMD_GUARDED_BY(mutex_);
  size_t started_ SMD_GUARDED_BY(mutex_) = 0;
  size_t running_ SMD_GUARDED_BY(mutex_) = 0;
  size_t idle_ SMD_GUARDED_BY(mutex_) = 0;
  StepLanes lanes_ SMD_GUARDED_BY(mutex_);
  // Small files to be tried again, by name; there is a place for each that was ever put,
  // so that keeping one needs no memory.
  std::map<std::string, std::optional<Item>> unwritten_ SMD_GUARDED_BY(mutex_);
  // For a writer to let go of.
  std::vector<std::unique_ptr<StepFile>> unfinished_ SMD_GUARDED_BY(mutex_);
  // For PassOn() to let go of.
  std::vector<std::shared_ptr<Lane>> given_up_ SMD_GUARDED_BY(mutex_);
  uint64_t queued_bytes_ SMD_GUARDED_BY(mutex_) = 0;
  QueueCounts counts_ SMD_GUARDED_BY(mutex_);
  FaultLog faults_ SMD_GUARDED_BY(mutex_);
  std::atomic<bool> has_error_{false};  // spares the lock where all is well
  bool must_end_ SMD_GUARDED_BY(mutex_) = false;
  std::unique_ptr<SpillFolder> spill_ SMD_GUARDED_BY(mutex_);
};

// What an item counts for.  A batch larger than the whole queue may pass alone, and
// leaves some room for the rest of its step.
uint64_t WriteQueue::Core::WeightOf(const Item &item) const {
  if (!item.spilled.empty()) return 0;
  return std::min(item.batch.bytes, options_.capacity - options_.capacity / 8);
}

bool WriteQueue::Core::HasRoom(uint64_t bytes) const {
  return queued_bytes_ == 0 || queued_bytes_ + bytes <= options_.capacity;
}

bool WriteQueue::Core::WaitForRoom(uint64_t bytes) {
  if (options_.policy != QueuePolicy::kBlock) return HasRoom(bytes);
  const Deadline deadline = Deadline::After(clock_, options_.block_time);
  while (!HasRoom(bytes) && !deadline.IsOver(clock_)) {
    clock_.WaitFor(room_, mutex_, deadline.Left(clock_));
  }
  return HasRoom(bytes);
}

// A thread that is about to wait for the writers may as well do a part of their work.
void WriteQueue::Core::HelpIfBehind(Batch *batch) {
  if (options_.policy != QueuePolicy::kBlock) return;
  {
    const MutexLock lock(mutex_);
    if (queued_bytes_ < options_.capacity / 4 * 3) return;
  }
  batch->ChecksumPieces();
}

bool WriteQueue::Core::Spill(Item *item) {
  if (options_.policy != QueuePolicy::kSpill) return false;
  if (!spill_) {
    auto opened = SpillFolder::Open(options_.spill_folder, options_.spill_capacity);
    if (!opened.IsOk()) {
      NoteError(opened.GetStatus());
      return false;
    }
    spill_ = *std::move(opened);
  }
  if (!spill_->HasRoomFor(item->batch.bytes)) return false;
  auto parked = spill_->Park(item->batch);
  if (!parked.IsOk()) {
    NoteError(parked.GetStatus());
    return false;
  }
  item->spilled = *std::move(parked);
  item->batch.pieces.clear();
  return true;
}

Status WriteQueue::Core::DropStep(Step &step) {
  step.is_given_up = true;
  ++counts_.steps_dropped;
  Status dropped =
      Status(Code::kStepDropped,
             StrCat("step ", step.global_step, " is not recorded: the queue to ",
                    store_->Location(), " is full (", queued_bytes_,
                    " bytes wait); save less, or use a faster disk or a larger queue_bytes"))
          .With("step", std::to_string(step.global_step))
          .With("path", store_->Location());
  faults_.Log(dropped);
  if (!options_.reports_late) return dropped;
  KeepError(dropped);
  return Status::Ok();
}

Status WriteQueue::Core::Push(const std::shared_ptr<Step> &step, Item item) {
  if (step->is_given_up) return Status::Ok();
  HelpIfBehind(&item.batch);
  Status dropped;
  {
    const MutexLock lock(mutex_);
    if (item.kind == Item::Kind::kSeal) RetryPuts(step);
    if (!WaitForRoom(item.batch.bytes) && !Spill(&item)) {
      dropped = DropStep(*step);
    } else if (StartWriter()) {
      item.weight = WeightOf(item);
      const uint64_t weight = item.weight;
      lanes_.Add(step, std::move(item));
      queued_bytes_ += weight;
    } else {
      NoteFailed(*step);
    }
    WakeWriter();
  }
  PassOn();
  return dropped;
}

void WriteQueue::Core::Put(const std::shared_ptr<Step> &before, Item item) {
  const MutexLock lock(mutex_);
  std::optional<Item> &place = unwritten_[item.name];
  place = std::move(item);
  RetryPuts(before);
  WakeWriter();
}

void WriteQueue::Core::Offer(Item item) {
  {
    const MutexLock lock(mutex_);
    if (!HasRoom(item.text.size())) {
      faults_.LogLeftOut(*item.store, item.name, "the queue is full");
    } else if (StartWriter()) {
      item.weight = item.text.size();
      const uint64_t weight = item.weight;
      lanes_.Add(nullptr, std::move(item));
      queued_bytes_ += weight;
      WakeWriter();
    }
  }
  PassOn();
}

void WriteQueue::Core::GiveUp(Step &step) {
  const MutexLock lock(mutex_);
  NoteFailed(step);
  WakeWriter();
}

void WriteQueue::Core::NoteFailed(Step &step) {
  if (!step.is_given_up.exchange(true)) ++counts_.steps_failed;
}

Status WriteQueue::Core::TryToStart() try {
  return threads_[started_].Start("smdebug-writer", [core = shared_from_this()] { core->Run(); });
} catch (const std::bad_alloc &) {
  return no_memory_;
}

bool WriteQueue::Core::StartWriter() {
  if (idle_ > 0 || started_ == threads_.size() || must_end_) return true;
  const Status started = TryToStart();
  if (started.IsOk()) {
    ++started_;
    ++running_;
  } else if (started_ == 0) {
    NoteError(started);
  }
  return started_ > 0;
}

// The training thread is not woken for every little room, which would cost as much as the
// writing of what it then puts there.
void WriteQueue::Core::NotifyDone() {
  changed_.NotifyAll();
  if (queued_bytes_ <= options_.capacity - options_.capacity / 16) room_.NotifyAll();
}

// One put anew meanwhile is newer.
void WriteQueue::Core::Keep(Item put) {
  std::optional<Item> &place = unwritten_.find(put.name)->second;
  if (!place) place = std::move(put);
}

void WriteQueue::Core::RetryPutsIfPossible() try {
  RetryPuts(nullptr);
} catch (const std::bad_alloc &) {
  return;  // the next step tries it again
}

void WriteQueue::Core::RetryPuts(const std::shared_ptr<Step> &before) {
  for (auto &[name, item] : unwritten_) {
    if (!item) continue;
    if (!StartWriter()) return;
    if (before) {
      lanes_.AddBefore(before, *item);
    } else {
      lanes_.Add(nullptr, *item);
    }
    item.reset();
  }
}

void WriteQueue::Core::WakeWriter() {
  if (idle_ > 0 && lanes_.HasWork()) work_.NotifyOne();
}

void WriteQueue::Core::KeepError(const Status &error) {
  faults_.Keep(error);
  has_error_ = true;
}

void WriteQueue::Core::NoteError(const Status &error) {
  KeepError(error);
  faults_.Log(error);
}

void WriteQueue::Core::GiveUpLanes() {
  for (std::shared_ptr<Lane> &lane : lanes_.TakeOutRest()) {
    if (lane->step) NoteFailed(*lane->step);
    for (Item &item : lane->items) {
      queued_bytes_ -= std::exchange(item.weight, 0);
      if (item.kind == Item::Kind::kPut) Keep(std::move(item));
    }
    if (lane->file && !lane->is_taken) unfinished_.push_back(std::move(lane->file));
    given_up_.push_back(std::move(lane));
  }
}

void WriteQueue::Core::PassOn() {
  std::vector<std::string> lines;
  std::vector<std::shared_ptr<Lane>> given_up;
  {
    const MutexLock lock(mutex_);
    lines = faults_.TakeLines();
    given_up.swap(given_up_);
  }
  for (const std::string &line : lines) logger_.Error(line);
}

void WriteQueue::Core::Run() {
  while (const std::shared_ptr<Lane> lane = TakeLane()) WorkOn(*lane);
  std::vector<std::unique_ptr<StepFile>> unfinished;
  {
    const MutexLock lock(mutex_);
    unfinished.swap(unfinished_);
  }
  // Giving up an upload asks its service, which the job must not wait for.
  unfinished.clear();
  const MutexLock lock(mutex_);
  --running_;
  changed_.NotifyAll();
}

std::shared_ptr<Lane> WriteQueue::Core::TakeLane() {
  const MutexLock lock(mutex_);
  while (true) {
    if (std::shared_ptr<Lane> lane = lanes_.Take()) return lane;
    if (must_end_) return nullptr;
    ++idle_;
    work_.Wait(mutex_);
    --idle_;
  }
}

void WriteQueue::Core::WorkOn(Lane &lane) {
  if (lane.step && lane.step->is_given_up) return Forget(lane);
  Item *item;
  {
    const MutexLock lock(mutex_);
    item = &lane.items.front();
  }
  const Status status = ProcessOrFail(lane, *item);
  // Lent memory is given back before the item counts as done.
  item->batch.pieces.clear();
  Finish(lane, status);
}

void WriteQueue::Core::Finish(Lane &lane, const Status &status) {
  {
    const MutexLock lock(mutex_);
    Item &item = lane.items.front();
    if (item.kind == Item::Kind::kOffer) {
      if (status.IsOk()) {
        faults_.NoteNotLeftOut();
      } else {
        faults_.LogLeftOut(*item.store, item.name, status.Message());
      }
    } else if (!status.IsOk()) {
      NoteError(status);
      if (lane.step) NoteFailed(*lane.step);
    }
    queued_bytes_ -= std::exchange(item.weight, 0);
    const bool is_sealed = item.kind == Item::Kind::kSeal;
    const bool is_last = !lane.step || item.kind == Item::Kind::kIndex;
    if (item.kind == Item::Kind::kIndex && status.IsOk()) RetryPutsIfPossible();
    if (is_sealed) {
      item.kind = Item::Kind::kIndex;
    } else {
      // Without the collections file no step can be read, so one failure is not the end.
      if (item.kind == Item::Kind::kPut && !status.IsOk()) Keep(std::move(item));
      lane.items.pop_front();
    }
    lanes_.GiveBack(lane, is_last);
    WakeWriter();
    NotifyDone();
  }
  if (!status.IsOk()) PassOn();
}

// What was written of a step given up goes with its file.
void WriteQueue::Core::Forget(Lane &lane) {
  lane.file.reset();
  const MutexLock lock(mutex_);
  for (const Item &item : lane.items) {
    queued_bytes_ -= item.weight;
    if (!item.spilled.empty()) ForgetSpilled(item);
  }
  lanes_.GiveBack(lane, true);
  WakeWriter();
  NotifyDone();
}

void WriteQueue::Core::ForgetSpilled(const Item &item) try {
  const Status forgotten = spill_->Forget(item.spilled, item.batch.bytes);
  if (!forgotten.IsOk()) NoteError(forgotten);
} catch (const std::bad_alloc &) {
  NoteError(no_memory_);
}

Status WriteQueue::Core::Fetch(Item *item) {
  if (item->spilled.empty()) return Status::Ok();
  const MutexLock lock(mutex_);
  SMD_RETURN_IF_ERROR(spill_->Fetch(item->spilled, &item->batch));
  item->spilled.clear();
  return Status::Ok();
}

// A thread of the job's process must not end it for want of memory.
Status WriteQueue::Core::ProcessOrFail(Lane &lane, Item &item) {
  try {
    return Process(lane, item);
  } catch (const std::bad_alloc &) {
    return no_memory_;
  }
}

Status WriteQueue::Core::Process(Lane &lane, Item &item) {
  switch (item.kind) {
    case Item::Kind::kPut: return store_->WriteText(item.name, item.text, options_.is_durable);
    case Item::Kind::kOffer: return item.store->WriteText(item.name, item.text, false);
    case Item::Kind::kBatch: return Append(lane, item);
    case Item::Kind::kSeal:
      SMD_RETURN_IF_ERROR(Append(lane, item));
      return lane.file->CommitEvents(options_.is_durable);
    case Item::Kind::kIndex: return CommitStep(lane);
  }
  return Status::Ok();
}

Status WriteQueue::Core::Append(Lane &lane, Item &item) {
  if (!lane.file) {
    lane.file =
        std::make_unique<StepFile>(store_, lane.step->global_step, worker_, options_.is_resumed);
  }
  SMD_RETURN_IF_ERROR(Fetch(&item));
  for (RecordMark &record : item.batch.records) lane.file->Announce(std::move(record));
  return item.batch.pieces.empty() ? Status::Ok()
                                   : lane.file->Append(item.batch.pieces, item.batch.checksums);
}

Status WriteQueue::Core::CommitStep(Lane &lane) {
  const Step &step = *lane.step;
  for (const format::SavedShape &shape : step.shapes) lane.file->AddShape(shape);
  if (lane.file->IsEmpty()) return Status::Ok();
  SMD_RETURN_IF_ERROR(lane.file->Commit(step.mode, step.mode_step, options_.is_durable));
  const MutexLock lock(mutex_);
  faults_.NoteWritten();
  ++counts_.steps_written;
  counts_.tensors_written += static_cast<int64_t>(lane.file->TensorCount());
  counts_.bytes_written += static_cast<int64_t>(lane.file->BytesWritten());
  return Status::Ok();
}

Status WriteQueue::Core::Flush(Deadline deadline) {
  const MutexLock lock(mutex_);
  const uint64_t last = lanes_.LastSequence();
  while (!lanes_.IsDoneUpTo(last)) {
    if (deadline.IsOver(clock_)) {
      return {Code::kTimeout, StrCat(store_->Location(), ": ", queued_bytes_,
                                     " bytes still wait to be written when time is up")};
    }
    clock_.WaitFor(changed_, mutex_, deadline.Left(clock_));
  }
  return Status::Ok();
}

Status WriteQueue::Core::Stop(Deadline deadline) {
  {
    const MutexLock lock(mutex_);
    if (must_end_) return Status::Ok();
  }
  Status status = Flush(deadline);
  {
    const MutexLock lock(mutex_);
    must_end_ = true;
    if (!status.IsOk()) GiveUpLanes();
    work_.NotifyAll();
  }
  PassOn();
  const MutexLock lock(mutex_);
  while (running_ > 0 && !deadline.IsOver(clock_)) {
    clock_.WaitFor(changed_, mutex_, deadline.Left(clock_));
  }
  for (size_t i = 0; i < started_; ++i) {
    if (running_ == 0) {
      threads_[i].Join();
    } else {
      threads_[i].Detach();
    }
  }
  return status;
}

void WriteQueue::Core::Abandon() {
  {
    const MutexLock lock(mutex_);
    GiveUpLanes();
  }
  PassOn();
  const Status stopped = Stop(Deadline::After(clock_, kAbandonTime));
  (void)stopped;  // nobody is left to be told
}

Status WriteQueue::Core::TakeError() {
  if (!has_error_) return Status::Ok();
  const MutexLock lock(mutex_);
  has_error_ = false;
  return faults_.TakeError();
}

QueueCounts WriteQueue::Core::Counts() {
  const MutexLock lock(mutex_);
  QueueCounts counts = counts_;
  counts.bytes_queued = static_cast<int64_t>(queued_bytes_);
  return counts;
}

WriteQueue::WriteQueue(std::shared_ptr<storage::Store> store, std::string worker,
                       QueueOptions options, Clock &clock, Logger logger)
    : core_(std::make_shared<Core>(std::move(store), std::move(worker), std::move(options), clock,
                                   std::move(logger))) {}

WriteQueue::~WriteQueue() { core_->Abandon(); }

Status WriteQueue::Push(const std::shared_ptr<Step> &step, Batch batch) {
  return core_->Push(step, {.kind = Item::Kind::kBatch, .batch = std::move(batch)});
}

Status WriteQueue::Seal(const std::shared_ptr<Step> &step, Batch rest) {
  return core_->Push(step, {.kind = Item::Kind::kSeal, .batch = std::move(rest)});
}

void WriteQueue::GiveUp(Step &step) { core_->GiveUp(step); }

void WriteQueue::Put(std::string name, std::string text) {
  PutBefore(nullptr, std::move(name), std::move(text));
}

void WriteQueue::PutBefore(const std::shared_ptr<Step> &step, std::string name, std::string text) {
  core_->Put(step, {.kind = Item::Kind::kPut, .name = std::move(name), .text = std::move(text)});
}

void WriteQueue::Offer(std::shared_ptr<storage::Store> store, std::string name, std::string text) {
  core_->Offer({.kind = Item::Kind::kOffer,
                .store = std::move(store),
                .name = std::move(name),
                .text = std::move(text)});
}

Status WriteQueue::Flush(Deadline deadline) { return core_->Flush(deadline); }

Status WriteQueue::Stop(Deadline deadline) { return core_->Stop(deadline); }

Status WriteQueue::TakeError() { return core_->TakeError(); }

QueueCounts WriteQueue::Counts() const { return core_->Counts(); }

}  // namespace smdebug::record
