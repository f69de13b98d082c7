#include "base/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <vector>

#include "base/mutex.h"
#include "base/thread.h"

namespace smdebug {
namespace {

class Work {
 public:
  Work(size_t count, const std::function<void(size_t)> &work) : count_(count), work_(work) {}

  // Takes indexes until there are none, or one has failed.
  void Run() {
    try {
      for (size_t index = next_++; index < count_; index = next_++) work_(index);
    } catch (...) {
      next_ = count_;
      const MutexLock lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
  }

  // For the calling thread, after the others have ended.
  void Rethrow() {
    const MutexLock lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  const size_t count_;
  const std::function<void(size_t)> &work_;
  std::atomic<size_t> next_{0};
  Mutex mutex_;
  std::exception_ptr failure_ SMD_GUARDED_BY(mutex_);
};

}  // namespace

void InParallel(size_t count, size_t threads, const std::function<void(size_t index)> &work) {
  Work shared(count, work);
  {
    std::vector<Thread> others(std::min(threads, count) > 1 ? std::min(threads, count) - 1 : 0);
    for (Thread &thread : others) {
      if (!thread.Start("smdebug-work", [&shared] { shared.Run(); }).IsOk()) break;
    }
    shared.Run();
  }  // joins
  shared.Rethrow();
}

}  // namespace smdebug
