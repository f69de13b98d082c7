// Runs jobs in a few threads.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace smdebug::cli::serve {

// Any thread.
class WorkQueue {
 public:
  WorkQueue(size_t threads, size_t most_waiting);
  // Calls End().
  ~WorkQueue();
  WorkQueue(const WorkQueue &) = delete;
  WorkQueue &operator=(const WorkQueue &) = delete;

  // Returns false if too many jobs wait, or after End().  A job must not throw.
  bool Add(std::function<void()> job);
  // Runs the jobs that wait, and joins the threads.  Starts no job after `most`.  Returns how many
  // were not run.  One thread calls it.
  size_t End(std::chrono::milliseconds most = std::chrono::hours(1));

 private:
  void Run();

  const size_t most_waiting_;
  std::mutex mutex_;
  std::condition_variable has_news_;
  std::condition_variable is_empty_;
  std::deque<std::function<void()>> jobs_;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace smdebug::cli::serve
