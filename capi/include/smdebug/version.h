/* What the loaded library is, and whether it suits its caller. */
#ifndef SMDEBUG_VERSION_H
#define SMDEBUG_VERSION_H

#include "smdebug/export.h"
#include "smdebug/types.h"

SMD_BEGIN_DECLS

#define SMD_VERSION_MAJOR 1
#define SMD_VERSION_MINOR 0
#define SMD_VERSION_PATCH 0

/* The header's ABI level: major << 16 | minor.  The minor grows with each added
 * function or struct tail, the major only with a new SONAME. */
#define SMD_ABI_LEVEL (SMD_VERSION_MAJOR * 65536U + SMD_VERSION_MINOR)

/* The ABI level of the loaded library.  Cannot fail.
 * Thread: any.   Since: 1.0 */
SMD_API uint32_t smd_abi_level(void) SMD_NOEXCEPT;

/* The loaded library's version, as "1.0.0".  Static text.
 * Thread: any.   Since: 1.0 */
SMD_API const char *smd_version_string(void) SMD_NOEXCEPT;

/* Asks whether a caller built for ABI level `wanted` (pass SMD_ABI_LEVEL) can
 * use the loaded library.  Bindings and dlopen clients call it first.
 *
 * Fails: ABI_MISMATCH, with a message that names both levels.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_require_abi(uint32_t wanted) SMD_NOEXCEPT;

/* 1 if the library was built with the named feature: "local" (trials in
 * folders) always is, "s3" (trials in buckets) may be.  0 for any other name.
 * Thread: any.   Since: 1.0 */
SMD_API int32_t smd_has_feature(const char *feature) SMD_NOEXCEPT;

SMD_END_DECLS

#endif /* SMDEBUG_VERSION_H */
