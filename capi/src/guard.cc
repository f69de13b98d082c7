#include "guard.h"

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

smd_error *ToC(const Status &status) noexcept {
  if (status.IsOk()) return nullptr;
  auto *error = new (std::nothrow) smd_error{status};
  return error == nullptr ? OutOfMemory() : error;
}

smd_error *InternalError(const char *what) noexcept {
  try {
    return ToC(Status(Code::kInternal, StrCat("a bug in the library: ", what)));
  } catch (...) {
    return OutOfMemory();
  }
}

Result<std::string_view> RequiredText(const char *text, const char *name) {
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

Result<tensor::View> ViewFromC(const smd_tensor_view *view) {
  SMD_RETURN_IF_ERROR(NotNull(view, "view"));
  const size_t size = view->struct_size;
  if (size < offsetof(smd_tensor_view, dtype) + sizeof(smd_dtype) || size > kLargestStruct) {
    return InvalidArgument(
        StrCat("view->struct_size is ", size, "; begin with SMD_TENSOR_VIEW_INIT"));
  }
  const auto dtype = tensor::DTypeFromNumber(view->dtype);
  if (!dtype) {
    return InvalidArgument(
        StrCat("view->dtype is ", view->dtype,
               ", which is not a dtype; use a value of smd_dtype such as SMD_FLOAT32"));
  }
  return tensor::View::Check(view->data, view->shape, view->strides, view->ndim, *dtype);
}

}  // namespace smdebug::capi
