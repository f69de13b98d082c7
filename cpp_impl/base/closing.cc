#include "base/closing.h"

#include "base/deferral.h"

namespace smdebug {

bool Closing::Begin() {
  const MutexLock lock(mutex_);
  const std::thread::id self = std::this_thread::get_id();
  if (closer_ == std::thread::id()) {
    closer_ = self;
    return true;
  }
  if (closer_ == self || AreCallsHeld()) return false;
  while (!has_closed_) is_over_.Wait(mutex_);
  return false;
}

bool Closing::HasBegun() {
  const MutexLock lock(mutex_);
  return closer_ != std::thread::id();
}

void Closing::End() {
  const MutexLock lock(mutex_);
  has_closed_ = true;
  is_over_.NotifyAll();
}

}  // namespace smdebug
