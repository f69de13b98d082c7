// The wall between the engine and C: nothing is thrown through it, and what comes from
// outside is checked at it.
#pragma once

#include <exception>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "base/mode.h"
#include "base/result.h"
#include "base/strings.h"
#include "handles.h"
#include "tensor/view.h"

namespace smdebug::capi {

// The error that needs no memory; freeing it does nothing.
smd_error *OutOfMemory() noexcept;

// NULL for success.
smd_error *ToC(const Status &status) noexcept;
smd_error *InternalError(const char *what) noexcept;

// Runs `body`, which returns a Status, and turns what it returns or throws into an
// error object.  Every fallible function is one call of this.
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

// The same for functions that cannot say why: `otherwise` is their answer then.
template <class T, class Body>
T GuardValue(T otherwise, Body &&body) noexcept {
  try {
    return std::forward<Body>(body)();
  } catch (...) {
    return otherwise;
  }
}

// INVALID_ARGUMENT that names what is NULL.
inline Status NotNull(const void *pointer, const char *name) {
  if (pointer != nullptr) return Status::Ok();
  return InvalidArgument(StrCat(name, " is NULL"));
}

// The text of a required string: not NULL, not empty, UTF-8.
Result<std::string_view> RequiredText(const char *text, const char *name);

// The text of an optional one; NULL is "".
inline std::string OptionalText(const char *text) { return text == nullptr ? "" : text; }

// Calls `release`, which may be NULL, once: when the last owner lets go, or at once if
// there is no memory.
std::shared_ptr<const void> OwnerFromC(smd_release_fn release, void *user_data);

Result<Mode> ModeFromC(smd_mode mode);
Result<tensor::Reduction> ReductionFromC(const char *name, int32_t absolute);
Result<tensor::View> ViewFromC(const smd_tensor_view *view);

// Hands a new handle of the value, or nothing but the reason, to the caller.
template <class Handle, class T>
Status Give(Result<T> result, Handle **out) {
  if (!result.IsOk()) return result.GetStatus();
  *out = new Handle{*std::move(result)};
  return Status::Ok();
}

}  // namespace smdebug::capi

// The first statement of a function with an output: checks the pointer, clears the
// output.
#define SMD_CLEAR_OUT(out)                                    \
  do {                                                        \
    SMD_RETURN_IF_ERROR(::smdebug::capi::NotNull(out, #out)); \
    *(out) = {};                                              \
  } while (false)
