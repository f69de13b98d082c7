// A step of a hook, as long as a scope.
#ifndef SMDEBUG_CPP_STEP_GUARD_HPP
#define SMDEBUG_CPP_STEP_GUARD_HPP

#include <atomic>
#include <exception>
#include <memory>
#include <utility>

#include "smdebug/cpp/handle.hpp"
#include "smdebug/hook.h"

namespace smdebug {
namespace detail {

// A hook's handle, and the first error that a destructor met and could not throw.
class HookState {
 public:
  explicit HookState(Handle<smd_hook, smd_hook_free> hook) noexcept : hook_(std::move(hook)) {}
  HookState(const HookState &) = delete;
  HookState &operator=(const HookState &) = delete;
  ~HookState() { smd_error_free(kept_); }

  smd_hook *Get() const noexcept { return hook_.get(); }

  void Keep(smd_error *error) noexcept {
    smd_error *none = nullptr;
    if (!kept_.compare_exchange_strong(none, error)) smd_error_free(error);
  }

  // The error kept, or else `error`; the caller's to throw or free.
  smd_error *Take(smd_error *error) noexcept {
    smd_error *kept = kept_.exchange(nullptr);
    if (kept == nullptr) return error;
    smd_error_free(error);
    return kept;
  }

 private:
  Handle<smd_hook, smd_hook_free> hook_;
  std::atomic<smd_error *> kept_{nullptr};
};

inline smd_hook *GetHook(const std::shared_ptr<HookState> &state) noexcept {
  return state == nullptr ? nullptr : state->Get();
}

}  // namespace detail

// An open step.  Leaving the scope ends it; leaving it by an exception discards it.  An error from
// the destructor is thrown by the hook's next Flush() or Close(); End() throws at once.  Keeps
// the hook alive.
class [[nodiscard]] StepGuard {
 public:
  // Begins the next step.  smd_hook_begin_step().
  explicit StepGuard(std::shared_ptr<detail::HookState> hook) : hook_(std::move(hook)) {
    detail::Check(smd_hook_begin_step(detail::GetHook(hook_), &global_step_));
  }
  StepGuard(StepGuard &&) noexcept = default;
  StepGuard &operator=(StepGuard &&) = delete;
  ~StepGuard() {
    if (hook_ == nullptr) return;
    if (std::uncaught_exceptions() > exceptions_) {
      smd_error_free(smd_hook_discard_step(hook_->Get()));  // the exception is what is reported
    } else {
      hook_->Keep(smd_hook_end_step(hook_->Get()));
    }
  }

  // Ends the step.  A second call does nothing.  smd_hook_end_step().
  void End() {
    if (const auto hook = std::exchange(hook_, nullptr)) {
      detail::Check(smd_hook_end_step(hook->Get()));
    }
  }

  // Closes the step without recording it.  Does nothing after End().  smd_hook_discard_step().
  void Discard() {
    if (const auto hook = std::exchange(hook_, nullptr)) {
      detail::Check(smd_hook_discard_step(hook->Get()));
    }
  }

  // The step's number among those of all modes.
  int64_t GlobalStep() const noexcept { return global_step_; }

 private:
  std::shared_ptr<detail::HookState> hook_;
  int64_t global_step_ = -1;
  int exceptions_ = std::uncaught_exceptions();  // those under way when the step began
};

}  // namespace smdebug

#endif  // SMDEBUG_CPP_STEP_GUARD_HPP
