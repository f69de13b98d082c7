#include "base/deferral.h"

namespace smdebug {

// The calls that wait on one thread.  Without constructor and destructor, so that threads that
// the library did not start need not end before it is unloaded.
class OutsideCalls {
 public:
  void Add(OutsideCall *call) noexcept {
    (first_ == nullptr ? first_ : last_->next_) = call;
    last_ = call;
  }
  void Hold() noexcept { ++holds_; }
  bool AreHeld() const noexcept { return holds_ > 0; }
  void Resume() noexcept {
    if (--holds_ == 0) RunAll();
  }
  void RunAll() noexcept {
    if (holds_ > 0) return;
    ++holds_;  // calls that these calls cause wait for their end
    while (first_ != nullptr) {
      const std::unique_ptr<OutsideCall> call(first_);
      first_ = call->next_;
      call->Run();
    }
    --holds_;
  }

 private:
  int holds_ = 0;
  OutsideCall *first_ = nullptr;
  OutsideCall *last_ = nullptr;  // valid while first_ is not NULL
};

namespace {

// glibc would otherwise allocate it at a thread's first use, and abort the process if memory has
// run out.  Its reserve for libraries that are loaded late has room for these few bytes.  Other
// libcs allocate it when the library is loaded.
#if defined(__GLIBC__)
#define SMD_THREAD_STORAGE __attribute__((tls_model("initial-exec")))
#else
#define SMD_THREAD_STORAGE
#endif
thread_local constinit OutsideCalls outside_calls SMD_THREAD_STORAGE;
static_assert(sizeof(OutsideCalls) <= 32);

}  // namespace

void RunOutside(std::unique_ptr<OutsideCall> call) noexcept {
  if (!call) return;
  outside_calls.Add(call.release());
  outside_calls.RunAll();
}

bool AreCallsHeld() noexcept { return outside_calls.AreHeld(); }

CallDeferral::CallDeferral() noexcept { outside_calls.Hold(); }

CallDeferral::~CallDeferral() { outside_calls.Resume(); }

}  // namespace smdebug
