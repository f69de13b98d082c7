#include "profile/sampler.h"

#include <cmath>
#include <new>
#include <utility>

#include "base/strings.h"
#include "profile/file_names.h"

namespace smdebug::profile {
namespace {

// While the store fails, samples wait up to this size.
constexpr size_t kMostWaiting = size_t{4} << 20;
// A minute has at most this, whatever the interval and the machine.
constexpr size_t kMostBytes = size_t{64} << 20;
// A file of the same minute may be that of an earlier run.
constexpr int kMostNames = 60;

}  // namespace

Status SystemFile::Add(const std::vector<Metric> &metrics, double now) {
  const int64_t minute = static_cast<int64_t>(std::floor(now)) / 60;
  Status ended;
  if (minute_ >= 0 && (minute != minute_ || bytes_ > kMostBytes)) ended = End();
  if (text_.size() > kMostWaiting) {
    dropped_ += static_cast<int64_t>(metrics.size());
    return ended;
  }
  AppendSystemLines(metrics, node_, now, &text_);
  SMD_RETURN_IF_ERROR(ended);
  if (minute_ < 0) minute_ = minute;
  return WriteText(now);
}

Status SystemFile::WriteText(double now) {
  if (text_.empty()) return Status::Ok();
  if (!file_) {
    SMD_ASSIGN_OR_RETURN(
        file_, storage::Grow(*store_, SystemTemporaryName(static_cast<int64_t>(now * 1e6), node_)));
  }
  SMD_RETURN_IF_ERROR(file_->Append(text_));
  bytes_ += text_.size();
  text_.clear();
  return Status::Ok();
}

Status SystemFile::End() {
  if (!file_) return Status::Ok();
  Status committed = Commit();
  // If someone removed the incomplete file, retrying would block all later samples.
  if (!committed.IsOk() && committed.GetCode() != Code::kNotFound) return committed;
  file_.reset();
  minute_ = -1;
  bytes_ = 0;
  return committed;
}

Status SystemFile::Commit() {
  Status status;
  for (int i = 0; i < kMostNames; ++i) {
    status = file_->Commit(SystemName(minute_ * 60 + i, node_));
    if (status.GetCode() != Code::kTrialExists) break;
  }
  return status;
}

Sampler::Sampler(std::shared_ptr<storage::Store> store, SamplerOptions options, Logger logger)
    : options_(std::move(options)),
      logger_(std::move(logger)),
      clock_(*options_.clock),
      file_(std::move(store), options_.node) {}

Status Sampler::Start() {
  return thread_.Start("smd-sampler", [self = shared_from_this()] { self->Run(); });
}

void Sampler::OpenGpus() {
  if (!options_.samples_gpus) return;
  auto opened = GpuReader::Open();
  if (opened.IsOk()) {
    gpus_ = *std::move(opened);
  } else {
    logger_.Info(opened.GetStatus().Message());
  }
}

void Sampler::Run() {
  Task task;
  Status status;
  try {
    OpenGpus();
    before_ = ReadSystem(options_.proc);
  } catch (const std::bad_alloc &) {
    status = Status(Code::kOutOfMemory, "no memory is left for samples");
  }
  before_at_ = clock_.Monotonic();
  while (!task.is_last) {
    task = AwaitTask(Deadline::After(clock_, options_.interval));
    try {
      status = Sample();
      if (task.must_end) KeepFirst(&status, file_.End());
    } catch (const std::bad_alloc &) {
      status = Status(Code::kOutOfMemory, "no memory is left for samples");
    }
    Report(task, status);
  }
}

Sampler::Task Sampler::AwaitTask(Deadline next) {
  const MutexLock lock(mutex_);
  while (!is_closing_ && flush_wanted_ == flush_done_ && !next.IsOver(clock_)) {
    clock_.WaitFor(wake_, mutex_, next.Left(clock_));
  }
  return {is_closing_ || flush_wanted_ != flush_done_, is_closing_, flush_wanted_};
}

Status Sampler::Sample() {
  const Clock::Duration now = clock_.Monotonic();
  const double seconds = std::chrono::duration<double>(now - before_at_).count();
  // Shorter times, before a flush, have too few ticks of the kernel's clock.
  if (seconds < 0.05) return Status::Ok();
  SystemCounters after = ReadSystem(options_.proc);
  std::vector<Metric> metrics = MetricsBetween(before_, after, seconds);
  if (gpus_ && !is_paused_) gpus_->Read(&metrics);
  before_ = std::move(after);
  before_at_ = now;
  if (is_paused_) return Status::Ok();
  ++samples_;
  return file_.Add(metrics, clock_.WallSeconds());
}

void Sampler::Report(const Task &task, const Status &status) {
  if (!status.IsOk() && status.GetCode() != last_logged_) {
    logger_.Error(StrCat("the profiler cannot write system metrics: ", status.Message()));
  }
  last_logged_ = status.GetCode();
  const MutexLock lock(mutex_);
  KeepFirst(&error_, status);
  flush_done_ = task.flush;
  has_ended_ = task.is_last;
  done_.NotifyAll();
}

Status Sampler::AwaitFlush(uint64_t number, Deadline deadline) {
  while (flush_done_ < number && !has_ended_) {
    if (deadline.IsOver(clock_)) {
      return Status(Code::kTimeout, "the system metrics were not written in time");
    }
    clock_.WaitFor(done_, mutex_, deadline.Left(clock_));
  }
  return std::exchange(error_, Status::Ok());
}

Status Sampler::Flush(Deadline deadline) {
  const MutexLock lock(mutex_);
  if (is_closing_) return WrongState("the profiler is closed");
  wake_.NotifyOne();
  return AwaitFlush(++flush_wanted_, deadline);
}

Status Sampler::Close(Deadline deadline) {
  Status status;
  {
    const MutexLock lock(mutex_);
    if (std::exchange(is_closing_, true) || !thread_.IsRunning()) return Status::Ok();
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

}  // namespace smdebug::profile
