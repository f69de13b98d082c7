/* Where trials are stored: a folder, or s3://bucket/prefix. */
#ifndef SMDEBUG_STORE_H
#define SMDEBUG_STORE_H

#include "smdebug/error.h"
#include "smdebug/export.h"
#include "smdebug/hook_options.h"
#include "smdebug/types.h"

SMD_BEGIN_DECLS

/* Options of a hook or a trial that begin with "s3_".  An option that is not given
 * is read from the environment: SMDEBUG_S3_REGION for s3_region, and so on.  If that
 * is missing too, what is in parentheses applies:
 *   s3_access_key, s3_secret_key, s3_session_token
 *                         (looked up as docs/s3.md describes)
 *   s3_profile            profile in the AWS files (AWS_PROFILE, "default")
 *   s3_region             (AWS_REGION, AWS_DEFAULT_REGION, the profile's, the
 *                         region that the bucket reports)
 *   s3_endpoint           "https://host:port" of a service other than AWS
 *                         (AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, the profile's)
 *   s3_addressing         "virtual": bucket.host; "path": host/bucket; "auto"
 *   s3_ca_bundle          file of trusted certificates (AWS_CA_BUNDLE, the
 *                         profile's, the system's)
 *   s3_sign_payload       "false" skips the SHA-256 of data sent over https
 *                         ("true")
 *   s3_max_attempts       (AWS_MAX_ATTEMPTS, "3")
 *   s3_connect_seconds    ("3")
 *   s3_first_byte_seconds ("10")
 *   s3_stall_seconds      time below 1 KiB per second after which a transfer is
 *                         aborted ("10")
 */

/* The results of smd_store_check(). */
typedef struct smd_store_report smd_store_report;

/* Runs the checks that recording to and reading from `path` depend on, in order, and
 * stops at the first that fails.  Writes, reads and removes one small file.  The
 * timeouts and attempts in `options` limit how long this takes.  Uses only the
 * options that begin with "s3_"; `options` may be NULL.  A failed check is a result
 * in the report, not an error.
 *
 * Fails: INVALID_ARGUMENT.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_store_check(const char *path, const smd_hook_options *options,
                             smd_store_report **out) SMD_NOEXCEPT;

/* Returns the number of checks that ran; 0 for NULL.
 * Thread: any.   Since: 1.0 */
SMD_API size_t smd_store_report_count(const smd_store_report *report) SMD_NOEXCEPT;

/* Returns the name of a check: "address", "credentials", "list", "clock", "write",
 * "read", "remove"; "" past the end.  Borrowed.
 * Thread: any.   Since: 1.0 */
SMD_API const char *smd_store_report_name(const smd_store_report *report,
                                          size_t index) SMD_NOEXCEPT;

/* Returns SMD_OK, or why the check failed; SMD_INVALID_ARGUMENT past the end.
 * Thread: any.   Since: 1.0 */
SMD_API smd_code smd_store_report_code(const smd_store_report *report, size_t index) SMD_NOEXCEPT;

/* Returns what the check found, or what is wrong and what to do; "" past the end.
 * Never contains a secret.  Borrowed.
 * Thread: any.   Since: 1.0 */
SMD_API const char *smd_store_report_message(const smd_store_report *report,
                                             size_t index) SMD_NOEXCEPT;

/* Frees a report.  NULL is allowed.
 * Thread: any.   Since: 1.0 */
SMD_API void smd_store_report_free(smd_store_report *report) SMD_NOEXCEPT;

SMD_END_DECLS

/* Example: prints what is wrong with a bucket.
 *
 *   smd_error *examine(const char *url) {
 *     smd_store_report *report;
 *     smd_error *error = smd_store_check(url, NULL, &report);
 *     for (size_t i = 0; i < smd_store_report_count(report); i++) {
 *       printf("%s: %s\n", smd_store_report_name(report, i), smd_store_report_message(report, i));
 *     }
 *     smd_store_report_free(report);
 *     return error;
 *   } */

#endif /* SMDEBUG_STORE_H */
