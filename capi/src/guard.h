// The boundary between the engine and C.  It checks all arguments of the caller, and no
// exception crosses it.
#pragma once

#include <chrono>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/deferral.h"
#include "base/mode.h"
#include "base/result.h"
#include "base/strings.h"
#include "handles.h"
#include "tensor/view.h"

namespace smdebug::capi {

// Returns an error that needs no memory; freeing it has no effect.
smd_error *OutOfMemory() noexcept;

// Returns an error object for a failure.
smd_error *ErrorOf(const Status &status) noexcept;
smd_error *InternalError(const char *what) noexcept;

// Returns NULL for success.
inline smd_error *ToC(const Status &status) noexcept {
  return status.IsOk() ? nullptr : ErrorOf(status);
}

// Runs `body`, which returns a Status, and converts the Status or an exception to an error
// object.  The body of each fallible function is one call of Guard().
template <class Body>
smd_error *Guard(Body &&body) noexcept {
  try {
    return ToC(std::forward<Body>(body)());
  } catch (const std::bad_alloc &) {
    return OutOfMemory();
  } catch (const std::exception &error) {
    return InternalError(error.what());
  } catch (...) {
    return InternalError("an unknown exception");
  }
}

// Does the same for functions that save into the open step.  A step that lacks a tensor for
// want of memory is dropped as a whole.
template <class Body>
smd_error *GuardSaving(smd_hook *hook, Body &&body) noexcept {
  smd_error *error = Guard(std::forward<Body>(body));
  if (hook != nullptr && smd_error_code(error) == SMD_OUT_OF_MEMORY) hook->hook->DropStep();
  return error;
}

// Does the same for functions that cannot report errors: on an exception they return
// `otherwise`.
template <class T, class Body>
T GuardValue(T otherwise, Body &&body) noexcept {
  try {
    return std::forward<Body>(body)();
  } catch (...) {
    return otherwise;
  }
}

// Fails with INVALID_ARGUMENT if `pointer` is NULL; the message contains `name`.
inline Status NotNull(const void *pointer, const char *name) {
  if (pointer != nullptr) return Status::Ok();
  return InvalidArgument(StrCat(name, " is NULL"));
}

// The struct of a caller: its name in messages, the macro that it begins with, the size of all
// members that every caller has, and the size that this library knows.
struct StructKind {
  const char *name;
  const char *init;
  size_t least;
  size_t known;
};

// Fails with INVALID_ARGUMENT if the struct is NULL, if its first member, struct_size, cannot be
// right, or if a member that only a later library knows is not zero.
Status CheckStruct(const void *given, const StructKind &kind);

// Returns true if struct_size can be right, so that all members may be read.
bool HasSize(const void *given, const StructKind &kind);

// Returns true if a handle is not NULL and belongs to this process.
template <class Handle>
bool IsUsable(const Handle *handle) noexcept {
  return handle != nullptr && handle->Mark().IsSameProcess();
}

// Fails with INVALID_ARGUMENT if the handle is NULL, and with AFTER_FORK if it belongs to
// another process.
template <class Handle>
[[gnu::hot]] Status CheckUsable(const Handle *handle, const char *name) {
  SMD_RETURN_IF_ERROR(NotNull(handle, name));
  return handle->Mark().Check();
}

// Deletes a handle of this process.  A forked child does not delete handles of its parent: their
// threads do not exist, their locks may be held forever, and their files belong to the parent.
template <class Handle>
void Free(Handle *handle) noexcept {
  if (IsUsable(handle)) delete handle;
}

// Clears all outputs of a function that has several; any may be NULL.
template <class... T>
void ClearOuts(T *...outs) noexcept {
  ((outs == nullptr ? void() : void(*outs = {})), ...);
}

// Checks that a required text is not NULL, not empty, and UTF-8.
Result<std::string_view> RequiredText(const char *text, const char *name);

// Returns an optional text; NULL becomes "".
inline std::string OptionalText(const char *text) { return text == nullptr ? "" : text; }

// Returns a call of `release`, which may be NULL; or NULL, without a call, if memory runs out.
std::unique_ptr<OutsideCall> ReleaseCall(smd_release_fn release, void *user_data);

// Makes the call once: after the last owner is destroyed, while the thread holds no lock.  If
// memory runs out, makes it so too, and throws.
std::shared_ptr<const void> OwnerOf(std::unique_ptr<OutsideCall> call);

// Calls `release`, which may be NULL, once: after the last owner is destroyed, while the thread
// holds no lock (base/deferral.h), or at once if memory runs out.
std::shared_ptr<const void> OwnerFromC(smd_release_fn release, void *user_data);

// Returns the end of a wait of `timeout_ms`; negative: never.
inline Deadline DeadlineFromC(Clock &clock, int32_t timeout_ms) {
  return timeout_ms < 0 ? Deadline::Never()
                        : Deadline::After(clock, std::chrono::milliseconds(timeout_ms));
}

Result<Mode> ModeFromC(smd_mode mode);
Result<tensor::Reduction> ReductionFromC(const char *name, int32_t absolute);
Result<rules::Action> ActionFromC(smd_action action);
Result<tensor::View> ViewFromC(const smd_tensor_view *view);

// Stores a new handle of the value in `*out`, or returns the failure.
template <class Handle, class T>
Status Give(Result<T> result, Handle **out) {
  if (!result.IsOk()) return result.GetStatus();
  *out = new Handle{*std::move(result)};
  return Status::Ok();
}

}  // namespace smdebug::capi

// The first statement of a function with an output: checks the pointer and clears the output.
#define SMD_CLEAR_OUT(out)                                    \
  do {                                                        \
    SMD_RETURN_IF_ERROR(::smdebug::capi::NotNull(out, #out)); \
    *(out) = {};                                              \
  } while (false)
