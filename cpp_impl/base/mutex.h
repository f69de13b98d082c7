// A mutex and a condition variable that Clang's thread-safety analysis understands.
#pragma once

#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define SMD_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define SMD_THREAD_ATTRIBUTE(x)
#endif

#define SMD_GUARDED_BY(mutex) SMD_THREAD_ATTRIBUTE(guarded_by(mutex))
#define SMD_REQUIRES(...) SMD_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define SMD_EXCLUDES(...) SMD_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))

namespace smdebug {

class SMD_THREAD_ATTRIBUTE(capability("mutex")) Mutex {
 public:
  void Lock() SMD_THREAD_ATTRIBUTE(acquire_capability()) { mutex_.lock(); }
  void Unlock() SMD_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

class SMD_THREAD_ATTRIBUTE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex &mutex) SMD_THREAD_ATTRIBUTE(acquire_capability(mutex)) : mutex_(mutex) {
    mutex_.Lock();
  }
  ~MutexLock() SMD_THREAD_ATTRIBUTE(release_capability()) { mutex_.Unlock(); }
  MutexLock(const MutexLock &) = delete;
  MutexLock &operator=(const MutexLock &) = delete;

 private:
  Mutex &mutex_;
};

// Waits return when notified, when the time is up, and sometimes spuriously: always test the
// condition again.
class CondVar {
 public:
  void Wait(Mutex &mutex) SMD_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  void WaitFor(Mutex &mutex, std::chrono::nanoseconds time) SMD_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait_for(lock, time);
    lock.release();
  }
  void NotifyOne() { condition_.notify_one(); }
  void NotifyAll() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace smdebug
