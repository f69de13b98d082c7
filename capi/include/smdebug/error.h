/* Error codes, grouped by who can act on them, and the error object. */
#ifndef SMDEBUG_ERROR_H
#define SMDEBUG_ERROR_H

#include "smdebug/export.h"
#include "smdebug/types.h"

SMD_BEGIN_DECLS

typedef int32_t smd_code;
enum {
  SMD_OK = 0,
  /* the caller can fix these */
  SMD_INVALID_ARGUMENT = 1,
  SMD_INVALID_CONFIG = 2,
  SMD_WRONG_STATE = 3,
  SMD_ABI_MISMATCH = 4,
  SMD_UNSUPPORTED = 5,
  SMD_AFTER_FORK = 6,
  SMD_TRIAL_EXISTS = 7,
  /* the data has nothing to return: a reader decides what to do */
  SMD_STEP_UNAVAILABLE = 20,    /* the step was not saved and never will be */
  SMD_STEP_NOT_YET = 21,        /* the step was not seen yet; it may still come */
  SMD_NO_MORE_DATA = 22,        /* the job ended before this step */
  SMD_TENSOR_UNAVAILABLE = 23,  /* no tensor with this name was saved so far */
  SMD_VALUE_UNAVAILABLE = 24,   /* no value was saved at this step */
  SMD_WORKER_UNKNOWN = 25,      /* no worker with this name saved it there */
  SMD_MISSING_COLLECTIONS = 26, /* no collection files: nothing was recorded */
  SMD_CORRUPT_DATA = 27,        /* a file is damaged */
  SMD_SHAPE_UNAVAILABLE = 28,   /* neither shape nor value was saved at this step */
  /* the environment failed */
  SMD_IO = 40,
  SMD_NOT_FOUND = 41,
  SMD_PERMISSION = 42,
  SMD_NETWORK = 43,
  SMD_CREDENTIALS = 44,
  SMD_TIMEOUT = 45,
  SMD_CANCELLED = 46,
  SMD_OUT_OF_MEMORY = 47,
  SMD_STEP_DROPPED = 48,        /* the queue's policy dropped a step */
  SMD_NO_SPACE = 49,            /* the disk is full; the message says which */
  SMD_TLS = 50,                 /* the certificate of a server or the handshake was refused */
  SMD_CREDENTIALS_REFUSED = 51, /* the key is unknown or the secret is wrong */
  SMD_CREDENTIALS_EXPIRED = 52, /* the session token is no longer valid */
  SMD_CLOCK_SKEWED = 53,        /* the clock of this machine is off by minutes */
  SMD_WRONG_REGION = 54,        /* the bucket is in another region */
  SMD_BUCKET_NOT_FOUND = 55,
  SMD_THROTTLED = 56, /* the service limits the rate of requests */
  /* a callback failed, or the library has a bug */
  SMD_CALLBACK_FAILED = 60,
  SMD_INTERNAL = 61,
  /* a rule's finding, reported as an error because the caller asked for that */
  SMD_RULE_CONDITION_MET = 80
};

/* Returns the code of an error; SMD_OK for NULL.
 * Thread: any.   Since: 1.0 */
SMD_API smd_code smd_error_code(const smd_error *error) SMD_NOEXCEPT;

/* Returns one line: what failed, where, and what to do.  "" for NULL.  Borrowed.
 * Thread: any.   Since: 1.0 */
SMD_API const char *smd_error_message(const smd_error *error) SMD_NOEXCEPT;

/* Returns a named detail of the error, or NULL if it has none with that name:
 * "path", "step", "mode", "tensor", "worker", "collection", "rule", "last_step",
 * "has_reductions", "elements", "key", "expression", "offset", "size", "errno",
 * "device", "reduction"; for a network or a service also "cause", "http_status",
 * "s3_code", "sts_code", "sso", "region", "request_id".  Borrowed.
 * Thread: any.   Since: 1.0 */
SMD_API const char *smd_error_detail(const smd_error *error, const char *key) SMD_NOEXCEPT;

/* Returns the name of a code, such as "STEP_UNAVAILABLE"; "UNKNOWN" for other
 * numbers.  Static text.
 * Thread: any.   Since: 1.0 */
SMD_API const char *smd_code_name(smd_code code) SMD_NOEXCEPT;

/* Returns 1 if the same call may succeed later without a change by the caller.
 * Thread: any.   Since: 1.0 */
SMD_API int32_t smd_error_is_retryable(const smd_error *error) SMD_NOEXCEPT;

/* Makes an error for a callback to return (see smd_rule_ops).  An unknown code
 * becomes SMD_CALLBACK_FAILED.  Never NULL.  The caller owns it.
 * Thread: any.   Since: 1.0 */
SMD_API smd_error *smd_error_new(smd_code code, const char *message) SMD_NOEXCEPT;

/* Frees an error.  NULL is allowed.
 * Thread: any.   Since: 1.0 */
SMD_API void smd_error_free(smd_error *error) SMD_NOEXCEPT;

SMD_END_DECLS

/* Example: prints why a call failed, and whether to try again.
 *
 *   int failed(smd_error *error) {
 *     if (error == NULL) return 0;
 *     fprintf(stderr, "%s: %s\n", smd_code_name(smd_error_code(error)), smd_error_message(error));
 *     if (smd_error_is_retryable(error)) fprintf(stderr, "it may succeed later\n");
 *     smd_error_free(error);
 *     return 1;
 *   } */

#endif /* SMDEBUG_ERROR_H */
