/* Where trials lie: a folder, or s3://bucket/prefix. */
#ifndef SMDEBUG_STORE_H
#define SMDEBUG_STORE_H

#include "smdebug/error.h"
#include "smdebug/export.h"
#include "smdebug/hook_options.h"
#include "smdebug/types.h"

SMD_BEGIN_DECLS

/* Options of a hook or a trial that begin with "s3_"; each is also read from the
 * environment, as SMDEBUG_S3_REGION for s3_region, where it is not given:
 *   s3_access_key, s3_secret_key, s3_session_token
 *                         (else found as docs/s3.md says)
 *   s3_profile            of the AWS files (AWS_PROFILE, "default")
 *   s3_region             (AWS_REGION, AWS_DEFAULT_REGION, the profile's, the
 *                         bucket's own answer)
 *   s3_endpoint           "https://host:port" of another service than AWS
 *                         (AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, the profile's)
 *   s3_addressing         "virtual": bucket.host; "path": host/bucket; "auto"
 *   s3_ca_bundle          file of certificates to trust (AWS_CA_BUNDLE, the
 *                         profile's, the system's)
 *   s3_sign_payload       "false" spares the SHA-256 of what is sent over https
 *                         ("true")
 *   s3_max_attempts       (AWS_MAX_ATTEMPTS, "3")
 *   s3_connect_seconds    ("3")
 *   s3_first_byte_seconds ("10")
 *   s3_stall_seconds      given up under 1 KiB a second for so long ("10")
 */

/* What smd_store_check() found. */
typedef struct smd_store_report smd_store_report;

/* Tries what recording to `path` and reading from it need, the first failure being
 * the last thing tried; writes, reads and removes one small file.  Takes as long
 * as the service does, within the timeouts and attempts of the options.  Of
 * `options`, which may be NULL, those that begin with "s3_" count.  A finding, also
 * a bad one, is no error.  The report is the caller's to free.
 *
 * Fails: INVALID_ARGUMENT.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_store_check(const char *path, const smd_hook_options *options,
                             smd_store_report **out) SMD_NOEXCEPT;

/* How many things were tried; 0 for NULL.
 * Thread: any.   Since: 1.0 */
SMD_API size_t smd_store_report_count(const smd_store_report *report) SMD_NOEXCEPT;

/* What was tried: "address", "credentials", "list", "clock", "write", "read",
 * "remove".  Borrowed; "" out of range.
 * Thread: any.   Since: 1.0 */
SMD_API const char *smd_store_report_name(const smd_store_report *report,
                                          size_t index) SMD_NOEXCEPT;

/* SMD_OK, or what is wrong.  SMD_INVALID_ARGUMENT out of range.
 * Thread: any.   Since: 1.0 */
SMD_API smd_code smd_store_report_code(const smd_store_report *report, size_t index) SMD_NOEXCEPT;

/* What was found, or what is wrong and what to do.  Never a secret.  Borrowed; ""
 * out of range.
 * Thread: any.   Since: 1.0 */
SMD_API const char *smd_store_report_message(const smd_store_report *report,
                                             size_t index) SMD_NOEXCEPT;

/* Frees a report.  NULL is allowed.
 * Thread: any.   Since: 1.0 */
SMD_API void smd_store_report_free(smd_store_report *report) SMD_NOEXCEPT;

SMD_END_DECLS

#endif /* SMDEBUG_STORE_H */
