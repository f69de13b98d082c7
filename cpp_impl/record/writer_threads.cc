#include "record/writer_threads.h"

#include <utility>

namespace smdebug::record {

Status WriterThreads::Start(std::function<void()> body) {
  Status status = threads_[started_].Start("smdebug-writer", std::move(body));
  if (status.IsOk()) {
    ++started_;
    ++running_;
  }
  return status;
}

void WriterThreads::AwaitWork(Mutex &mutex) {
  ++idle_;
  work_.Wait(mutex);
  --idle_;
}

std::vector<Thread> WriterThreads::Release() { return std::exchange(threads_, {}); }

}  // namespace smdebug::record
