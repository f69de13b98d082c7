// Samples the machine at fixed intervals and writes what it finds in the background.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/thread.h"
#include "profile/gpu_reader.h"
#include "profile/system_facts.h"
#include "storage/growing_file.h"
#include "storage/store.h"

namespace smdebug::profile {

struct SamplerOptions {
  std::string node;
  Clock::Duration interval{};
  bool samples_gpus = true;
  std::string proc;
  Clock *clock = nullptr;
};

// Writes the lines of samples to one file a minute.  For one thread.
class SystemFile {
 public:
  SystemFile(std::shared_ptr<storage::Store> store, std::string node)
      : store_(std::move(store)), node_(std::move(node)) {}

  // Adds the metrics of a moment, in seconds since 1970.  If the file is that of another minute, or
  // is too large, ends it first.  After a failure, lines wait for the next call, up to a limit.
  Status Add(const std::vector<Metric> &metrics, double now);
  // Ends the file, so that readers see it.
  Status End();

  int64_t Dropped() const { return dropped_; }

 private:
  Status WriteText(double now);
  Status Commit();

  const std::shared_ptr<storage::Store> store_;
  const std::string node_;
  std::unique_ptr<storage::GrowingFile> file_;
  std::string text_;  // not yet in the file
  int64_t minute_ = -1;
  int64_t dropped_ = 0;
  size_t bytes_ = 0;
};

// Thread safety: any thread.  Only the sampler's thread uses file_, gpus_ and before_.
class Sampler : public std::enable_shared_from_this<Sampler> {
 public:
  Sampler(std::shared_ptr<storage::Store> store, SamplerOptions options, Logger logger);

  // Starts the thread.  Call it once.
  Status Start();
  // Ends the open file, so that readers see all samples so far.  Fails with TIMEOUT, or with the
  // first error since the last report.
  Status Flush(Deadline deadline);
  // Ends the thread and the open file.  Fails as Flush().
  Status Close(Deadline deadline);

  // Takes no samples until it is called again.
  void SetPaused(bool is_paused) { is_paused_ = is_paused; }
  int64_t Samples() const { return samples_; }

 private:
  struct Task {
    bool must_end = false;
    bool is_last = false;
    uint64_t flush = 0;
  };

  void Run();
  void OpenGpus();
  Task AwaitTask(Deadline next);
  Status Sample();
  void Report(const Task &task, const Status &status);
  Status AwaitFlush(uint64_t number, Deadline deadline) SMD_REQUIRES(mutex_);

  const SamplerOptions options_;
  const Logger logger_;
  Clock &clock_;
  SystemFile file_;
  std::unique_ptr<GpuReader> gpus_;
  SystemCounters before_;
  Clock::Duration before_at_{};
  Code last_logged_ = Code::kOk;
  std::atomic<int64_t> samples_{0};
  std::atomic<bool> is_paused_{false};

  Mutex mutex_;
  CondVar wake_;
  CondVar done_;
  uint64_t flush_wanted_ SMD_GUARDED_BY(mutex_) = 0;
  uint64_t flush_done_ SMD_GUARDED_BY(mutex_) = 0;
  Status error_ SMD_GUARDED_BY(mutex_);
  bool is_closing_ SMD_GUARDED_BY(mutex_) = false;
  bool has_ended_ SMD_GUARDED_BY(mutex_) = false;
  Thread thread_;
};

}  // namespace smdebug::profile
