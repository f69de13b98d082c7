#include "smdebug/version.h"

#include "guard.h"
#include "storage/s3_support.h"

using namespace smdebug;
using namespace smdebug::capi;

#define SMD_TEXT_OF(x) #x
#define SMD_VERSION_TEXT(major, minor, patch) \
  SMD_TEXT_OF(major) "." SMD_TEXT_OF(minor) "." SMD_TEXT_OF(patch)

uint32_t smd_abi_level(void) noexcept { return SMD_ABI_LEVEL; }

const char *smd_version_string(void) noexcept {
  return SMD_VERSION_TEXT(SMD_VERSION_MAJOR, SMD_VERSION_MINOR, SMD_VERSION_PATCH);
}

smd_error *smd_require_abi(uint32_t level) noexcept {
  return Guard([&] {
    const uint32_t major = level >> 16;
    const uint32_t minor = level & 0xFFFF;
    if (major == SMD_VERSION_MAJOR && minor <= SMD_VERSION_MINOR) return Status::Ok();
    return Status(Code::kAbiMismatch,
                  StrCat("this library offers ABI ", SMD_VERSION_MAJOR, ".", SMD_VERSION_MINOR,
                         ", the caller was built for ", major, ".", minor));
  });
}

int32_t smd_has_feature(const char *feature) noexcept {
  if (feature == nullptr) return 0;
  const std::string_view name(feature);
  return name == "local" || (name == "s3" && storage::HasS3()) ? 1 : 0;
}
