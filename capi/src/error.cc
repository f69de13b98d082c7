#include "smdebug/error.h"

#include "guard.h"

using namespace smdebug;
using namespace smdebug::capi;

namespace {

bool IsOutOfMemory(const smd_error *error) { return error == OutOfMemory(); }

bool IsKnown(smd_code code) {
  return std::string_view(CodeName(static_cast<Code>(code))) != "UNKNOWN";
}

}  // namespace

smd_code smd_error_code(const smd_error *error) noexcept {
  if (error == nullptr) return SMD_OK;
  if (IsOutOfMemory(error)) return SMD_OUT_OF_MEMORY;
  return static_cast<smd_code>(error->status.GetCode());
}

const char *smd_error_message(const smd_error *error) noexcept {
  if (error == nullptr) return "";
  if (IsOutOfMemory(error)) return "out of memory";
  return error->status.Message().c_str();
}

const char *smd_error_detail(const smd_error *error, const char *key) noexcept {
  if (error == nullptr || key == nullptr || IsOutOfMemory(error)) return nullptr;
  const std::string *detail = error->status.Detail(key);
  return detail == nullptr ? nullptr : detail->c_str();
}

const char *smd_code_name(smd_code code) noexcept { return CodeName(static_cast<Code>(code)); }

int32_t smd_error_is_retryable(const smd_error *error) noexcept {
  if (error == nullptr) return 0;
  return IsOutOfMemory(error) || error->status.IsRetryable() ? 1 : 0;
}

smd_error *smd_error_new(smd_code code, const char *message) noexcept {
  try {
    const bool is_error = code != SMD_OK && IsKnown(code);
    smd_error *error = ToC(
        Status(is_error ? static_cast<Code>(code) : Code::kCallbackFailed, OptionalText(message)));
    return error;
  } catch (...) {
    return OutOfMemory();
  }
}

void smd_error_free(smd_error *error) noexcept {
  if (error == nullptr || IsOutOfMemory(error)) return;
  delete error;
}
