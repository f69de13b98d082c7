// Holds threads up until a test lets them through.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>

namespace smdebug {

class Gate {
 public:
  // Shared, since a thread may still stand at it when the test is over.
  static std::shared_ptr<Gate> Closed() { return std::make_shared<Gate>(); }

  void Pass() {
    std::unique_lock lock(mutex_);
    ++arrived_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return is_open_; });
  }
  void Open() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
  }
  // Returns once `count` threads have come.
  void AwaitArrivals(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return arrived_ >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_ = 0;
  bool is_open_ = false;
};

}  // namespace smdebug
