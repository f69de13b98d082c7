// Takes events from any thread and writes them in the background.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/thread.h"
#include "profile/event.h"
#include "profile/timeline_file.h"

namespace smdebug::profile {

// Thread safety: any thread.
//
// Invariants:
//   1. The thread starts with the first event.  Only it uses file_ and batch_.
//   2. pending_ has at most capacity_ bytes; events beyond are dropped and counted.
//   3. Events reach the file at most a second after Add(), unless the store fails.
//   4. Files are written without the lock.
class TimelineWriter : public std::enable_shared_from_this<TimelineWriter> {
 public:
  TimelineWriter(std::shared_ptr<storage::Store> store, TimelineOptions options, uint64_t capacity,
                 Logger logger);

  // Copies the event.  Fails with WRONG_STATE (closed), or if the thread cannot be started.
  Status Add(const Event &event);

  // Ends the open file, so that readers see all events so far.  Fails with TIMEOUT, or with the
  // first error since the last report.
  Status Flush(Deadline deadline);

  // Writes everything and ends the thread.  Fails as Flush().
  Status Close(Deadline deadline);

  // Returns "events_written", "events_dropped", "files_written", "bytes_written", or -1.
  int64_t Count(std::string_view name) const;

 private:
  struct Task {
    uint64_t flush = 0;  // the number of the last call of Flush() that it serves
    bool is_last = false;
  };

  Status StartThread() SMD_REQUIRES(mutex_);
  void Run();
  Task AwaitTask();
  Status Perform(const Task &task);
  void TakePending() SMD_REQUIRES(mutex_);
  void Report(const Task &task, const Status &status);
  // Waits until flush `number` is done.
  Status AwaitFlush(uint64_t number, Deadline deadline) SMD_REQUIRES(mutex_);
  void PublishCounts();

  Clock &clock_;
  const uint64_t capacity_;
  const Logger logger_;
  TimelineFile file_;
  EventBuffer batch_;
  Code last_logged_ = Code::kOk;  // of the thread
  int64_t dropped_logged_ = 0;    // of the thread

  std::atomic<int64_t> events_{0};
  std::atomic<int64_t> files_{0};
  std::atomic<int64_t> bytes_{0};
  std::atomic<int64_t> dropped_by_file_{0};
  std::atomic<int64_t> dropped_{0};

  mutable Mutex mutex_;
  CondVar wake_;
  CondVar done_;
  EventBuffer pending_ SMD_GUARDED_BY(mutex_);
  uint64_t flush_wanted_ SMD_GUARDED_BY(mutex_) = 0;
  uint64_t flush_done_ SMD_GUARDED_BY(mutex_) = 0;
  Status error_ SMD_GUARDED_BY(mutex_);
  bool has_started_ SMD_GUARDED_BY(mutex_) = false;
  bool is_asleep_ SMD_GUARDED_BY(mutex_) = false;  // until something is added
  bool has_failed_ SMD_GUARDED_BY(mutex_) = false;
  bool is_closing_ SMD_GUARDED_BY(mutex_) = false;
  bool has_ended_ SMD_GUARDED_BY(mutex_) = false;
  Thread thread_;
};

}  // namespace smdebug::profile
