#include "base/fork.h"

#include <pthread.h>

#include <atomic>

namespace smdebug {
namespace {

std::atomic<uint64_t> generation{1};

extern "C" void CountFork() { generation.fetch_add(1, std::memory_order_relaxed); }

// Registers the handler with the first handle, not at load time.  A handler cannot be
// unregistered, which is one reason why the library stays loaded after dlclose().
uint64_t CurrentGeneration() {
  static const bool kRegistered = pthread_atfork(nullptr, nullptr, CountFork) == 0;
  (void)kRegistered;
  return generation.load(std::memory_order_relaxed);
}

}  // namespace

ProcessMark::ProcessMark() : generation_(CurrentGeneration()) {}

[[gnu::hot]] bool ProcessMark::IsSameProcess() const {
  return generation_ == generation.load(std::memory_order_relaxed);
}

[[gnu::hot]] Status ProcessMark::Check() const {
  if (IsSameProcess()) return Status::Ok();
  return {Code::kAfterFork,
          "this handle belongs to the process that forked this one; make a new one here"};
}

}  // namespace smdebug
