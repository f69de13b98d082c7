// Runs jobs in a few threads.
#pragma once

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
  // Runs the jobs that wait, and joins the threads.
  ~WorkQueue();
  WorkQueue(const WorkQueue &) = delete;
  WorkQueue &operator=(const WorkQueue &) = delete;

  // Returns false if too many jobs wait.  A job must not throw.
  bool Add(std::function<void()> job);

 private:
  void Run();

  const size_t most_waiting_;
  std::mutex mutex_;
  std::condition_variable has_news_;
  std::deque<std::function<void()>> jobs_;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace smdebug::cli::serve
