#include "serve/work_queue.h"

#include <utility>

namespace smdebug::cli::serve {

WorkQueue::WorkQueue(size_t threads, size_t most_waiting) : most_waiting_(most_waiting) {
  for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
}

WorkQueue::~WorkQueue() { static_cast<void>(End()); }

size_t WorkQueue::End(std::chrono::milliseconds most) {
  size_t left = 0;
  {
    std::unique_lock lock(mutex_);
    ends_ = true;
    has_news_.notify_all();
    is_empty_.wait_for(lock, most, [this] { return jobs_.empty(); });
    left = jobs_.size();
    jobs_.clear();
  }
  for (std::thread &thread : threads_) thread.join();
  threads_.clear();
  return left;
}

bool WorkQueue::Add(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    if (ends_ || jobs_.size() >= most_waiting_) return false;
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
      if (jobs_.empty()) is_empty_.notify_all();
    }
    job();
  }
}

}  // namespace smdebug::cli::serve
