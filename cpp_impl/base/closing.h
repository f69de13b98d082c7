// Closes something once, though several threads do.
#pragma once

#include <thread>

#include "base/mutex.h"

namespace smdebug {

// The first caller closes.  Others wait until it has, since the process may end when they return.
// Those do not wait that the first one may wait for: its own thread, and functions of the caller's
// that the library calls.  Safe from any thread.
class Closing {
 public:
  // One caller's turn, which lasts until the first one has closed.
  class Turn {
   public:
    explicit Turn(Closing &closing) : closing_(closing), is_first_(closing.Begin()) {}
    ~Turn() {
      if (is_first_) closing_.End();
    }
    Turn(const Turn &) = delete;
    Turn &operator=(const Turn &) = delete;

    bool IsFirst() const { return is_first_; }

   private:
    Closing &closing_;
    const bool is_first_;
  };

  // Reports whether a caller had a turn.
  bool HasBegun();

 private:
  bool Begin();
  void End();

  Mutex mutex_;
  CondVar is_over_;
  std::thread::id closer_ SMD_GUARDED_BY(mutex_);  // none: nobody has begun
  bool has_closed_ SMD_GUARDED_BY(mutex_) = false;
};

}  // namespace smdebug
