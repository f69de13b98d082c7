#include "profile/timeline_writer.h"

#include <utility>

#include "base/strings.h"

namespace smdebug::profile {
namespace {

// A kill loses at most the events of this time.
constexpr Clock::Duration kTick = std::chrono::seconds(1);
// The thread writes earlier if so many bytes are pending.
constexpr size_t kWakeBytes = size_t{1} << 20;

}  // namespace

TimelineWriter::TimelineWriter(std::shared_ptr<storage::Store> store, TimelineOptions options,
                               uint64_t capacity, Logger logger)
    : clock_(*options.clock),
      capacity_(capacity),
      logger_(std::move(logger)),
      file_(std::move(store), std::move(options)) {}

Status TimelineWriter::StartThread() {
  SMD_RETURN_IF_ERROR(thread_.Start("smd-timeline", [self = shared_from_this()] { self->Run(); }));
  has_started_ = true;
  return Status::Ok();
}

[[gnu::hot]] Status TimelineWriter::Add(const Event &event) {
  const MutexLock lock(mutex_);
  if (is_closing_) return WrongState("the profiler is closed");
  if (!has_started_) SMD_RETURN_IF_ERROR(StartThread());
  const size_t size = pending_.Size();
  const size_t added = EventBuffer::SizeOf(event);
  if (size + added > capacity_) {
    ++dropped_;
    return Status::Ok();
  }
  pending_.Add(event);
  if (is_asleep_ || (size < kWakeBytes && size + added >= kWakeBytes)) wake_.NotifyOne();
  return Status::Ok();
}

TimelineWriter::Task TimelineWriter::AwaitTask() {
  const MutexLock lock(mutex_);
  Deadline tick = Deadline::After(clock_, kTick);
  while (!is_closing_ && flush_wanted_ == flush_done_ && !tick.IsOver(clock_)) {
    if (!has_failed_ && pending_.Size() >= kWakeBytes) break;
    is_asleep_ = pending_.Size() == 0 && batch_.IsAtEnd() && !file_.HasFile();
    if (is_asleep_) {
      wake_.Wait(mutex_);
      is_asleep_ = false;
      tick = Deadline::After(clock_, kTick);
    } else {
      clock_.WaitFor(wake_, mutex_, tick.Left(clock_));
    }
  }
  TakePending();
  return {flush_wanted_, is_closing_};
}

void TimelineWriter::TakePending() {
  if (!batch_.IsAtEnd()) return;
  batch_.Clear();
  batch_.Swap(&pending_);
}

Status TimelineWriter::Perform(const Task &task) {
  SMD_RETURN_IF_ERROR(file_.Write(&batch_));
  {
    // The batch may be an older one, which had failed.
    const MutexLock lock(mutex_);
    TakePending();
  }
  SMD_RETURN_IF_ERROR(file_.Write(&batch_));
  if (task.is_last) file_.AddOpenEvents();
  bool must_end = task.is_last;
  {
    const MutexLock lock(mutex_);
    must_end = must_end || task.flush > flush_done_;
  }
  return must_end ? file_.End() : file_.EndIfOld();
}

void TimelineWriter::PublishCounts() {
  const TimelineCounts &counts = file_.Counts();
  events_ = counts.events;
  files_ = counts.files;
  bytes_ = counts.bytes;
  dropped_by_file_ = counts.dropped;
}

void TimelineWriter::Report(const Task &task, const Status &status) {
  PublishCounts();
  if (!status.IsOk() && status.GetCode() != last_logged_) {
    logger_.Error(StrCat("the profiler cannot write events: ", status.Message()));
  }
  last_logged_ = status.GetCode();
  const int64_t dropped = Count("events_dropped");
  if (dropped > 0 && dropped_logged_ == 0) {
    logger_.Warning(StrCat("the profiler dropped ", dropped,
                           " events: its buffer was full, or ends had no begin; "
                           "smd_profiler_count() counts them"));
  }
  dropped_logged_ = dropped;
  const MutexLock lock(mutex_);
  has_failed_ = !status.IsOk();
  KeepFirst(&error_, status);
  flush_done_ = task.flush;
  has_ended_ = task.is_last;
  done_.NotifyAll();
}

void TimelineWriter::Run() {
  while (true) {
    const Task task = AwaitTask();
    Status status;
    try {
      status = Perform(task);
    } catch (const std::bad_alloc &) {
      status = Status(Code::kOutOfMemory, "no memory is left for events");
    }
    Report(task, status);
    if (task.is_last) return;
  }
}

Status TimelineWriter::AwaitFlush(uint64_t number, Deadline deadline) {
  while (flush_done_ < number && !has_ended_) {
    if (deadline.IsOver(clock_)) {
      return Status(Code::kTimeout, "the events of the profiler were not written in time");
    }
    clock_.WaitFor(done_, mutex_, deadline.Left(clock_));
  }
  return std::exchange(error_, Status::Ok());
}

Status TimelineWriter::Flush(Deadline deadline) {
  const MutexLock lock(mutex_);
  if (is_closing_) return WrongState("the profiler is closed");
  if (!has_started_) return Status::Ok();
  wake_.NotifyOne();
  return AwaitFlush(++flush_wanted_, deadline);
}

Status TimelineWriter::Close(Deadline deadline) {
  Status status;
  {
    const MutexLock lock(mutex_);
    if (std::exchange(is_closing_, true) || !has_started_) return Status::Ok();
    wake_.NotifyOne();
    status = AwaitFlush(++flush_wanted_, deadline);
    if (!has_ended_) {
      thread_.Detach();
      return status;
    }
  }
  thread_.Join();
  return status;
}

int64_t TimelineWriter::Count(std::string_view name) const {
  if (name == "events_written") return events_;
  if (name == "events_dropped") return dropped_ + dropped_by_file_;
  if (name == "files_written") return files_;
  if (name == "bytes_written") return bytes_;
  return -1;
}

}  // namespace smdebug::profile
