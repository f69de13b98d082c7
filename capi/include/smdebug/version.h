/* The version of the loaded library, and whether a caller can use it. */
#ifndef SMDEBUG_VERSION_H
#define SMDEBUG_VERSION_H

#include "smdebug/export.h"
#include "smdebug/types.h"

SMD_BEGIN_DECLS

#define SMD_VERSION_MAJOR 1
#define SMD_VERSION_MINOR 0
#define SMD_VERSION_PATCH 0

/* True if this header is of at least that version, for the preprocessor:
 *
 *   #if SMD_VERSION_AT_LEAST(1, 2, 0)
 *     ... a function that 1.2 added ...
 *   #endif
 *
 * A program that may meet an older library at run time calls smd_require_abi() too. */
#define SMD_VERSION_AT_LEAST(major, minor, patch) \
  (SMD_VERSION_MAJOR > (major) ||                 \
   (SMD_VERSION_MAJOR == (major) &&               \
    (SMD_VERSION_MINOR > (minor) ||               \
     (SMD_VERSION_MINOR == (minor) && SMD_VERSION_PATCH >= (patch)))))

/* The ABI level of this header: major << 16 | minor.  A new function or struct member
 * raises the minor; only a new SONAME raises the major. */
#define SMD_ABI_LEVEL (SMD_VERSION_MAJOR * 65536U + SMD_VERSION_MINOR)

/* Returns the ABI level of the loaded library.
 * Thread: any.   Since: 1.0 */
SMD_API uint32_t smd_abi_level(void) SMD_NOEXCEPT;

/* Returns the version of the loaded library, such as "1.0.0".  Static text.
 * Thread: any.   Since: 1.0 */
SMD_API const char *smd_version_string(void) SMD_NOEXCEPT;

/* Checks that a caller built for ABI level `level` (pass SMD_ABI_LEVEL) can use
 * the loaded library.  Bindings and dlopen clients call this first.
 *
 * Fails: ABI_MISMATCH (the message names both levels).
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_require_abi(uint32_t level) SMD_NOEXCEPT;

/* Returns 1 if the library was built with the named feature: "local" (trials in
 * folders), "s3" (trials in buckets).  Returns 0 for any other name.
 * Thread: any.   Since: 1.0 */
SMD_API int32_t smd_has_feature(const char *feature) SMD_NOEXCEPT;

SMD_END_DECLS

/* Example: refuses a library that is older than this header.
 *
 *   int is_usable(void) {
 *     smd_error *error = smd_require_abi(SMD_ABI_LEVEL);
 *     if (error != NULL) fprintf(stderr, "%s\n", smd_error_message(error));
 *     smd_error_free(error);
 *     return error == NULL && smd_has_feature("s3");
 *   } */

#endif /* SMDEBUG_VERSION_H */
