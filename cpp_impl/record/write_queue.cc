#include "record/write_queue.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/strings.h"
#include "base/thread.h"
#include "record/spill_folder.h"

namespace smdebug::record {
namespace {

// For what is under way when the rest is given up.
constexpr Clock::Duration kAbandonTime = std::chrono::seconds(5);

struct Item {
  enum class Kind { kBatch, kSeal, kPut } kind;
  std::shared_ptr<Step> step;
  Batch batch;
  std::string spilled;  // where the batch's bytes are, if not in memory
  std::string name;     // kPut
  std::string text;
};

}  // namespace

class WriteQueue::Core : public std::enable_shared_from_this<Core> {
 public:
  Core(std::shared_ptr<storage::Store> store, std::string worker, QueueOptions options,
       Clock &clock, Logger logger)
      : store_(std::move(store)),
        worker_(std::move(worker)),
        options_(std::move(options)),
        clock_(clock),
        logger_(std::move(logger)) {}

  Status Push(Item item) SMD_EXCLUDES(mutex_);
  void GiveUp(Step &step) SMD_EXCLUDES(mutex_);
  void PushSmall(Item item) SMD_EXCLUDES(mutex_);
  Status Flush(Deadline deadline) SMD_EXCLUDES(mutex_);
  Status Stop(Deadline deadline) SMD_EXCLUDES(mutex_);
  void Abandon() SMD_EXCLUDES(mutex_);
  Status TakeError() SMD_EXCLUDES(mutex_);
  QueueCounts Counts() SMD_EXCLUDES(mutex_);

 private:
  uint64_t Weight(const Item &item) const;
  bool HasRoom(uint64_t bytes) const SMD_REQUIRES(mutex_);
  bool WaitForRoom(uint64_t bytes) SMD_REQUIRES(mutex_);
  bool Spill(Item *item) SMD_REQUIRES(mutex_);
  Status DropStep(Step &step) SMD_REQUIRES(mutex_);
  void Enqueue(Item item) SMD_REQUIRES(mutex_);
  void NoteError(const Status &error) SMD_REQUIRES(mutex_);
  void GiveUpItems() SMD_REQUIRES(mutex_);
  // Log lines are passed on with no lock held.
  void LogNotes() SMD_EXCLUDES(mutex_);

  // The writer thread's side.
  void Run();
  Status Fetch(Item *item);
  Status Process(Item &item);
  Status Append(Item &item);
  Status CommitStep(Item &item);
  void Finish(const Item &item, const Status &status);

  const std::shared_ptr<storage::Store> store_;
  const std::string worker_;
  const QueueOptions options_;
  Clock &clock_;
  const Logger logger_;

  Mutex mutex_;
  CondVar changed_;
  std::deque<Item> items_ SMD_GUARDED_BY(mutex_);
  uint64_t pushed_ SMD_GUARDED_BY(mutex_) = 0;  // items ever
  uint64_t done_ SMD_GUARDED_BY(mutex_) = 0;
  uint64_t queued_bytes_ SMD_GUARDED_BY(mutex_) = 0;
  QueueCounts counts_ SMD_GUARDED_BY(mutex_);
  Status error_ SMD_GUARDED_BY(mutex_);
  std::atomic<bool> has_error_{false};  // spares the lock where all is well
  Code last_logged_ SMD_GUARDED_BY(mutex_) = Code::kOk;
  std::vector<std::string> notes_ SMD_GUARDED_BY(mutex_);
  bool must_end_ SMD_GUARDED_BY(mutex_) = false;
  bool has_ended_ SMD_GUARDED_BY(mutex_) = false;
  std::unique_ptr<SpillFolder> spill_ SMD_GUARDED_BY(mutex_);
  Thread thread_ SMD_GUARDED_BY(mutex_);

  // The writer thread's own.
  std::unique_ptr<StepFile> file_;
  std::shared_ptr<Step> file_step_;
};

// What an item counts for.  A batch larger than the whole queue may pass alone, and
// leaves some room for the rest of its step.
uint64_t WriteQueue::Core::Weight(const Item &item) const {
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
    clock_.WaitFor(changed_, mutex_, deadline.Left(clock_));
  }
  return HasRoom(bytes);
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
  const Status dropped(Code::kStepDropped,
                       StrCat("step ", step.global_step, " is not recorded: the queue to ",
                              store_->Location(), " is full (", queued_bytes_,
                              " bytes wait); save less, or use a faster disk or a larger "
                              "queue_bytes"));
  // A slow disk drops many; one line says it until one is written again.
  if (last_logged_ != Code::kStepDropped) notes_.push_back(dropped.Message());
  last_logged_ = Code::kStepDropped;
  return dropped.With("step", std::to_string(step.global_step)).With("path", store_->Location());
}

Status WriteQueue::Core::Push(Item item) {
  if (item.step->is_given_up) {
    item.batch = {};
    PushSmall(std::move(item));
    return Status::Ok();
  }
  Status dropped;
  {
    const MutexLock lock(mutex_);
    if (!WaitForRoom(item.batch.bytes) && !Spill(&item)) {
      dropped = DropStep(*item.step);
      item.batch = {};
    }
    queued_bytes_ += Weight(item);
    Enqueue(std::move(item));
  }
  LogNotes();
  return dropped;
}

void WriteQueue::Core::PushSmall(Item item) {
  const MutexLock lock(mutex_);
  Enqueue(std::move(item));
}

void WriteQueue::Core::GiveUp(Step &step) {
  const MutexLock lock(mutex_);
  if (!step.is_given_up.exchange(true)) ++counts_.steps_failed;
}

void WriteQueue::Core::Enqueue(Item item) {
  items_.push_back(std::move(item));
  ++pushed_;
  if (!thread_.IsRunning() && !must_end_) {
    const Status started =
        thread_.Start("smdebug-writer", [core = shared_from_this()] { core->Run(); });
    if (!started.IsOk()) {
      NoteError(started);
      GiveUpItems();
    }
  }
  if (items_.size() == 1) changed_.NotifyAll();
}

void WriteQueue::Core::NoteError(const Status &error) {
  if (error_.IsOk()) error_ = error;
  has_error_ = true;
  // A full disk fails every step alike; one line says it.
  if (error.GetCode() == last_logged_) return;
  last_logged_ = error.GetCode();
  notes_.push_back(error.Message());
}

void WriteQueue::Core::GiveUpItems() {
  for (const Item &item : items_) {
    if (item.step && !item.step->is_given_up.exchange(true)) ++counts_.steps_failed;
    queued_bytes_ -= Weight(item);
  }
  done_ += items_.size();
  items_.clear();
}

void WriteQueue::Core::LogNotes() {
  std::vector<std::string> notes;
  {
    const MutexLock lock(mutex_);
    notes.swap(notes_);
  }
  for (const std::string &note : notes) logger_.Error(note);
}

void WriteQueue::Core::Run() {
  while (true) {
    Item item;
    {
      const MutexLock lock(mutex_);
      while (items_.empty() && !must_end_) changed_.Wait(mutex_);
      if (items_.empty()) break;
      item = std::move(items_.front());
      items_.pop_front();
    }
    const Status status = Process(item);
    // Lent memory is given back before the item counts as done.
    item.batch.pieces.clear();
    Finish(item, status);
  }
  file_.reset();
  const MutexLock lock(mutex_);
  has_ended_ = true;
  changed_.NotifyAll();
}

void WriteQueue::Core::Finish(const Item &item, const Status &status) {
  if (!status.IsOk()) {
    {
      const MutexLock lock(mutex_);
      NoteError(status);
      if (item.step && !item.step->is_given_up.exchange(true)) ++counts_.steps_failed;
    }
    LogNotes();
  }
  const MutexLock lock(mutex_);
  ++done_;
  queued_bytes_ -= Weight(item);
  changed_.NotifyAll();
}

Status WriteQueue::Core::Fetch(Item *item) {
  if (item->spilled.empty()) return Status::Ok();
  const MutexLock lock(mutex_);
  return spill_->Fetch(item->spilled, &item->batch);
}

Status WriteQueue::Core::Process(Item &item) {
  if (item.kind == Item::Kind::kPut)
    return store_->WriteText(item.name, item.text, options_.is_durable);
  SMD_RETURN_IF_ERROR(Fetch(&item));
  if (item.step->is_given_up) {
    if (file_step_ == item.step) file_.reset();
    return Status::Ok();
  }
  if (file_step_ != item.step) {
    file_ = std::make_unique<StepFile>(store_, item.step->global_step, worker_);
    file_step_ = item.step;
  }
  SMD_RETURN_IF_ERROR(Append(item));
  return item.kind == Item::Kind::kSeal ? CommitStep(item) : Status::Ok();
}

Status WriteQueue::Core::Append(Item &item) {
  for (RecordMark &record : item.batch.records) file_->Announce(std::move(record));
  std::vector<ByteSpan> pieces;
  pieces.reserve(item.batch.pieces.size());
  for (const Piece &piece : item.batch.pieces) pieces.push_back(piece.bytes);
  return pieces.empty() ? Status::Ok() : file_->Append(pieces);
}

Status WriteQueue::Core::CommitStep(Item &item) {
  for (format::SavedShape &shape : item.step->shapes) file_->AddShape(std::move(shape));
  const std::unique_ptr<StepFile> file = std::move(file_);
  file_step_.reset();
  if (file->IsEmpty()) return Status::Ok();
  SMD_RETURN_IF_ERROR(file->Commit(item.step->mode, item.step->mode_step, options_.is_durable));
  const MutexLock lock(mutex_);
  last_logged_ = Code::kOk;  // it works again; the next failure is news
  ++counts_.steps_written;
  counts_.tensors_written += static_cast<int64_t>(file->TensorCount());
  counts_.bytes_written += static_cast<int64_t>(file->BytesWritten());
  return Status::Ok();
}

Status WriteQueue::Core::Flush(Deadline deadline) {
  const MutexLock lock(mutex_);
  const uint64_t target = pushed_;
  while (done_ < target) {
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
  MutexLock lock(mutex_);
  must_end_ = true;
  if (!status.IsOk()) GiveUpItems();
  changed_.NotifyAll();
  while (thread_.IsRunning() && !has_ended_ && !deadline.IsOver(clock_)) {
    clock_.WaitFor(changed_, mutex_, deadline.Left(clock_));
  }
  if (has_ended_) {
    thread_.Join();
  } else {
    thread_.Detach();
  }
  return status;
}

void WriteQueue::Core::Abandon() {
  {
    const MutexLock lock(mutex_);
    GiveUpItems();
  }
  const Status stopped = Stop(Deadline::After(clock_, kAbandonTime));
  (void)stopped;  // nobody is left to be told
}

Status WriteQueue::Core::TakeError() {
  if (!has_error_) return Status::Ok();
  const MutexLock lock(mutex_);
  has_error_ = false;
  return std::exchange(error_, Status::Ok());
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
  return core_->Push({Item::Kind::kBatch, step, std::move(batch), {}, {}, {}});
}

Status WriteQueue::Seal(const std::shared_ptr<Step> &step, Batch rest) {
  return core_->Push({Item::Kind::kSeal, step, std::move(rest), {}, {}, {}});
}

void WriteQueue::GiveUp(Step &step) { core_->GiveUp(step); }

void WriteQueue::Put(std::string name, std::string text) {
  core_->PushSmall({Item::Kind::kPut, nullptr, {}, {}, std::move(name), std::move(text)});
}

Status WriteQueue::Flush(Deadline deadline) { return core_->Flush(deadline); }

Status WriteQueue::Stop(Deadline deadline) { return core_->Stop(deadline); }

Status WriteQueue::TakeError() { return core_->TakeError(); }

QueueCounts WriteQueue::Counts() const { return core_->Counts(); }

}  // namespace smdebug::record
