// The threads that write for a queue.
#pragma once

#include <functional>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "base/thread.h"

namespace smdebug::record {

// Thread safety: every function needs the queue's lock.
//
// Invariants:
//   1. Threads start when there is work that no idle thread can take, up to `most`.
//   2. started_ >= running_ >= idle_.
//   3. A thread is idle only inside AwaitWork().
//   4. After NoteEnd(), a thread takes no lock of the queue.
class WriterThreads {
 public:
  explicit WriterThreads(size_t most) : threads_(most) {}

  bool HasStarted() const { return started_ > 0; }
  bool IsRunning() const { return running_ > 0; }
  bool HasIdle() const { return idle_ > 0; }

  // Returns true if another thread would have no work, or is not allowed.
  bool IsEnough() const { return idle_ > 0 || started_ >= threads_.size(); }
  // Starts another thread.  Call it only if IsEnough() is false.  Throws std::bad_alloc.
  Status Start(std::function<void()> body);

  // Functions of the writer threads.
  void AwaitWork(Mutex &mutex) SMD_REQUIRES(mutex);
  void NoteEnd() { --running_; }

  void WakeOne() { work_.NotifyOne(); }
  void WakeAll() { work_.NotifyAll(); }

  // Returns the threads, for the caller to join without the lock or to abandon.
  std::vector<Thread> Release();

 private:
  CondVar work_;
  std::vector<Thread> threads_;
  size_t started_ = 0;
  size_t running_ = 0;
  size_t idle_ = 0;
};

}  // namespace smdebug::record
