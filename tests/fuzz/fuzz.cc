// libFuzzer's entry; the environment says which target: SMDEBUG_FUZZ_TARGET=ini.
#include <cstdint>

#include "target.h"

namespace {

const smdebug::fuzz::Target &TheTarget() {
  static const smdebug::fuzz::Target *const target = [] {
    const char *const name = std::getenv("SMDEBUG_FUZZ_TARGET");
    const auto *const found = smdebug::fuzz::FindTarget(name == nullptr ? "" : name);
    if (found == nullptr) {
      static_cast<void>(std::fputs("SMDEBUG_FUZZ_TARGET names no target\n", stderr));
      std::exit(2);
    }
    return found;
  }();
  return *target;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  TheTarget().run({reinterpret_cast<const char *>(bytes), size});
  return 0;
}
