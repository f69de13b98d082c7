/* The objects of a bucket by their keys, for tools that work below the level of a
 * trial: listing, copying, cleaning up. */
#ifndef SMDEBUG_SYS_BUCKET_H
#define SMDEBUG_SYS_BUCKET_H

#include "smdebug/error.h"
#include "smdebug/export.h"
#include "smdebug/hook_options.h"
#include "smdebug/types.h"

SMD_BEGIN_DECLS

/* A bucket, with the credentials to reach it. */
typedef struct smd_bucket smd_bucket;

/* Opens the bucket called `name` (without "s3://" and without a prefix).  Sends no
 * request.  `options` may be NULL; only those that begin with "s3_" have an effect.  `name`
 * may also be the ARN of an access point.
 *
 * Fails: INVALID_ARGUMENT, INVALID_CONFIG, UNSUPPORTED (other kinds of access points), IO,
 * PERMISSION (the AWS files cannot be read).
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_bucket_open(const char *name, const smd_hook_options *options,
                             smd_bucket **out) SMD_NOEXCEPT;

/* Lists the keys that begin with `prefix` and sort after `start_after`, in order.  If
 * `delimiter` is given, keys that contain it after the prefix are listed as one entry,
 * which ends with the delimiter.  Each of the three may be NULL.
 *
 * Fails: INVALID_ARGUMENT, AFTER_FORK, IO, PERMISSION, CORRUPT_DATA.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_bucket_list(const smd_bucket *bucket, const char *prefix, const char *start_after,
                             const char *delimiter, smd_strings **out) SMD_NOEXCEPT;

/* Reads at most `length` bytes of an object, starting at `offset`; if `length` is -1, all
 * to its end.  Returns fewer bytes at the object's end, none after it.
 *
 * Fails: INVALID_ARGUMENT, AFTER_FORK, NOT_FOUND, IO, PERMISSION, CORRUPT_DATA (the object
 * was replaced meanwhile), UNSUPPORTED (more than 2 GiB in one call).
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_bucket_read(const smd_bucket *bucket, const char *key, int64_t offset,
                             int64_t length, smd_text **out) SMD_NOEXCEPT;

/* Writes an object; replaces one of the same key.  `data` may be NULL if `size` is 0.
 *
 * Fails: INVALID_ARGUMENT, AFTER_FORK, IO, PERMISSION, UNSUPPORTED (more than 2 GiB).
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_bucket_write(const smd_bucket *bucket, const char *key, const void *data,
                              size_t size) SMD_NOEXCEPT;

/* Removes an object.  Succeeds if it does not exist.
 *
 * Fails: INVALID_ARGUMENT, AFTER_FORK, IO, PERMISSION.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_bucket_remove(const smd_bucket *bucket, const char *key) SMD_NOEXCEPT;

/* Frees the handle.  NULL is allowed.
 * Thread: any.   Since: 1.0 */
SMD_API void smd_bucket_free(smd_bucket *bucket) SMD_NOEXCEPT;

SMD_END_DECLS

/* Example: prints the keys below a prefix.
 *
 *   smd_error *print_keys(const char *bucket_name, const char *prefix) {
 *     smd_bucket *bucket;
 *     smd_strings *keys = NULL;
 *     smd_error *error = smd_bucket_open(bucket_name, NULL, &bucket);
 *     if (!error) error = smd_bucket_list(bucket, prefix, NULL, NULL, &keys);
 *     for (size_t i = 0; i < smd_strings_count(keys); i++) puts(smd_strings_get(keys, i));
 *     smd_strings_free(keys);
 *     smd_bucket_free(bucket);
 *     return error;
 *   } */

#endif /* SMDEBUG_SYS_BUCKET_H */
