#include "serve/work_queue.h"

#include <utility>

namespace smdebug::cli::serve {

WorkQueue::WorkQueue(size_t threads, size_t most_waiting) : most_waiting_(most_waiting) {
  for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
}

WorkQueue::~WorkQueue() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  has_news_.notify_all();
  for (std::thread &thread : threads_) thread.join();
}

bool WorkQueue::Add(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    if (jobs_.size() >= most_waiting_) return false;
    jobs_.push_back(std::move(job));
  }
  has_news_.notify_one();
  return true;
}

void WorkQueue::Run() {
  while (true) {
    std::function<void()> job;
    {
      std::unique_lock lock(mutex_);
      has_news_.wait(lock, [this] { return ends_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    job();
  }
}

}  // namespace smdebug::cli::serve
