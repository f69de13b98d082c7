// A worker thread that does not disturb the host process.
#pragma once

#include <pthread.h>

#include <functional>
#include <string>

#include "base/status.h"

namespace smdebug {

// Runs one function with all signals blocked, so that the host's handlers run on the host's
// own threads.  The destructor joins the thread unless Join() or Detach() was called.
class Thread {
 public:
  Thread() = default;
  ~Thread();
  Thread(const Thread &) = delete;
  Thread &operator=(const Thread &) = delete;

  // Tools such as top show `name`, which has at most 15 bytes.
  Status Start(const std::string &name, std::function<void()> body);
  bool IsRunning() const { return is_running_; }
  void Join();
  void Detach();

 private:
  pthread_t thread_{};
  bool is_running_ = false;
};

}  // namespace smdebug
