#include "guard.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/deferral.h"

namespace smdebug::capi {
namespace {

class Release final : public OutsideCall {
 public:
  Release(smd_release_fn release, void *user_data) : release_(release), user_data_(user_data) {}
  void Run() noexcept override {
    if (release_ != nullptr) release_(user_data_);
  }

 private:
  const smd_release_fn release_;
  void *const user_data_;
};

}  // namespace

// The error is created on first use and never destroyed.
smd_error *OutOfMemory() noexcept {
  static smd_error *error = [] {
    alignas(smd_error) static std::byte place[sizeof(smd_error)];
    return new (place) smd_error{};
  }();
  return error;
}

smd_error *ErrorOf(const Status &status) noexcept {
  auto *error = new (std::nothrow) smd_error{status};
  return error == nullptr ? OutOfMemory() : error;
}

smd_error *InternalError(const char *what) noexcept {
  try {
    return ErrorOf(Status(Code::kInternal, StrCat("a bug in the library: ", what)));
  } catch (...) {
    return OutOfMemory();
  }
}

[[gnu::hot]] Result<std::string_view> RequiredText(const char *text, const char *name) {
  SMD_RETURN_IF_ERROR(NotNull(text, name));
  if (*text == '\0') return InvalidArgument(StrCat(name, " is empty"));
  const std::string_view found(text);
  if (!IsUtf8(found)) return InvalidArgument(StrCat(name, " is not UTF-8"));
  return found;
}

std::unique_ptr<OutsideCall> ReleaseCall(smd_release_fn release, void *user_data) {
  return std::unique_ptr<OutsideCall>(new (std::nothrow) Release(release, user_data));
}

std::shared_ptr<const void> OwnerOf(std::unique_ptr<OutsideCall> call) {
  return {call.release(),
          [](OutsideCall *owned) { RunOutside(std::unique_ptr<OutsideCall>(owned)); }};
}

std::shared_ptr<const void> OwnerFromC(smd_release_fn release, void *user_data) {
  auto call = ReleaseCall(release, user_data);
  if (!call) {
    if (release != nullptr) release(user_data);
    throw std::bad_alloc();
  }
  return OwnerOf(std::move(call));
}

Result<Mode> ModeFromC(smd_mode mode) {
  const std::optional<Mode> known = ModeFromNumber(mode);
  if (!known) {
    return InvalidArgument(StrCat(mode, " is not a mode; TRAIN is 1, EVAL 2, PREDICT 3, GLOBAL 4"));
  }
  return *known;
}

Result<tensor::Reduction> ReductionFromC(const char *name, int32_t absolute) {
  SMD_ASSIGN_OR_RETURN(const std::string_view text, RequiredText(name, "reduction"));
  const auto kind = tensor::ReductionKindFromName(text);
  if (!kind) {
    return InvalidArgument(StrCat("unknown reduction '", text.substr(0, 64), "'",
                                  DidYouMean(text, {"min", "max", "median", "mean", "std",
                                                    "variance", "sum", "prod", "l1", "l2"})));
  }
  return tensor::Reduction{*kind, absolute != 0};
}

bool HasSize(const void *given, const StructKind &kind) {
  // No struct of a caller, known or of a later version, is larger.
  constexpr size_t kLargest = 4096;
  const size_t size = *static_cast<const size_t *>(given);
  return size >= kind.least && size <= kLargest;
}

Status CheckStruct(const void *given, const StructKind &kind) {
  SMD_RETURN_IF_ERROR(NotNull(given, kind.name));
  const size_t size = *static_cast<const size_t *>(given);
  if (!HasSize(given, kind)) {
    return InvalidArgument(
        StrCat(kind.name, "->struct_size is ", size, "; begin with ", kind.init));
  }
  const char *bytes = static_cast<const char *>(given);
  if (size <= kind.known ||
      std::all_of(bytes + kind.known, bytes + size, [](char byte) { return byte == 0; })) {
    return Status::Ok();
  }
  return InvalidArgument(StrCat(kind.name, "->struct_size is ", size,
                                ", this library knows the first ", kind.known,
                                " bytes, and a later member is not zero; begin with ", kind.init,
                                ", or use a later library"));
}

Result<tensor::View> ViewFromC(const smd_tensor_view *view) {
  constexpr StructKind kKind{"view", "SMD_TENSOR_VIEW_INIT",
                             offsetof(smd_tensor_view, dtype) + sizeof(smd_dtype),
                             sizeof(smd_tensor_view)};
  SMD_RETURN_IF_ERROR(CheckStruct(view, kKind));
  const auto dtype = tensor::DTypeFromNumber(view->dtype);
  if (!dtype) {
    return InvalidArgument(
        StrCat("view->dtype is ", view->dtype,
               ", which is not a dtype; use a value of smd_dtype such as SMD_FLOAT32"));
  }
  return tensor::View::Check(view->data, view->shape, view->strides, view->ndim, *dtype);
}

}  // namespace smdebug::capi
