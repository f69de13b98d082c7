// Keeps the caller's functions from being called while a thread holds a lock.
#pragma once

#include <memory>

#include "base/mutex.h"

namespace smdebug {

// A call of a function that came from outside: a log function, a release function.
class OutsideCall {
 public:
  OutsideCall() = default;
  virtual ~OutsideCall() = default;
  OutsideCall(const OutsideCall &) = delete;
  OutsideCall &operator=(const OutsideCall &) = delete;

  // Makes the call.  The object is destroyed afterwards, under the same conditions.
  virtual void Run() noexcept {}

 private:
  friend class OutsideCalls;
  OutsideCall *next_ = nullptr;
};

// Runs the call on this thread: at once, or, while the thread has a CallDeferral, at the end of
// its outermost one.  Calls of a thread run in their order and never within each other, so a
// log function that locks a mutex of its own is not entered twice.  Needs no memory.
void RunOutside(std::unique_ptr<OutsideCall> call) noexcept;

// Reports whether calls from outside wait on this thread: it has a CallDeferral, or makes one of
// them.
bool AreCallsHeld() noexcept;

// While it lives, calls from outside wait on this thread.
class CallDeferral {
 public:
  CallDeferral() noexcept;
  ~CallDeferral();
  CallDeferral(const CallDeferral &) = delete;
  CallDeferral &operator=(const CallDeferral &) = delete;
};

// Locks a mutex under which something may be logged, or memory of the caller's released: both
// happen after the thread has unlocked all such mutexes.
class SMD_THREAD_ATTRIBUTE(scoped_lockable) DeferringLock {
 public:
  explicit DeferringLock(Mutex &mutex) SMD_THREAD_ATTRIBUTE(acquire_capability(mutex))
      : mutex_(mutex) {
    mutex_.Lock();
  }
  ~DeferringLock() SMD_THREAD_ATTRIBUTE(release_capability()) { mutex_.Unlock(); }
  DeferringLock(const DeferringLock &) = delete;
  DeferringLock &operator=(const DeferringLock &) = delete;

 private:
  const CallDeferral deferral_;  // ends after the mutex is unlocked
  Mutex &mutex_;
};

}  // namespace smdebug
