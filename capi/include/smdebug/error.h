/* Error codes, grouped by who can act on them, and the error object. */
#ifndef SMDEBUG_ERROR_H
#define SMDEBUG_ERROR_H

#include "smdebug/export.h"
#include "smdebug/types.h"

SMD_BEGIN_DECLS

typedef int32_t smd_code;
enum {
  SMD_OK = 0,
  /* the caller's doing */
  SMD_INVALID_ARGUMENT = 1,
  SMD_INVALID_CONFIG = 2,
  SMD_WRONG_STATE = 3,
  SMD_ABI_MISMATCH = 4,
  SMD_UNSUPPORTED = 5,
  SMD_AFTER_FORK = 6,
  SMD_TRIAL_EXISTS = 7,
  /* the data's doing: a reader decides on these */
  SMD_STEP_UNAVAILABLE = 20,    /* the step was not saved and never will be */
  SMD_STEP_NOT_YET = 21,        /* the step was not seen yet; it may come */
  SMD_NO_MORE_DATA = 22,        /* the job has ended before this step */
  SMD_TENSOR_UNAVAILABLE = 23,  /* no tensor of this name was saved so far */
  SMD_VALUE_UNAVAILABLE = 24,   /* not saved (or not raw) at this step */
  SMD_WORKER_UNKNOWN = 25,      /* no worker of this name saved it there */
  SMD_MISSING_COLLECTIONS = 26, /* no collection files: nothing was recorded */
  SMD_CORRUPT_DATA = 27,        /* a file does not hold what it should */
  SMD_SHAPE_UNAVAILABLE = 28,   /* neither shape nor value saved at this step */
  /* the world's doing */
  SMD_IO = 40,
  SMD_NOT_FOUND = 41,
  SMD_PERMISSION = 42,
  SMD_NETWORK = 43,
  SMD_CREDENTIALS = 44,
  SMD_TIMEOUT = 45,
  SMD_CANCELLED = 46,
  SMD_OUT_OF_MEMORY = 47,
  SMD_STEP_DROPPED = 48,        /* a step was given up, as the queue's policy says */
  SMD_NO_SPACE = 49,            /* the disk is full; the message says which */
  SMD_TLS = 50,                 /* a server's certificate or the handshake was refused */
  SMD_CREDENTIALS_REFUSED = 51, /* the key is unknown or the secret is wrong */
  SMD_CREDENTIALS_EXPIRED = 52, /* the session token is no longer valid */
  SMD_CLOCK_SKEWED = 53,        /* this machine's clock is wrong by minutes */
  SMD_WRONG_REGION = 54,        /* the bucket lies in another region */
  SMD_BUCKET_NOT_FOUND = 55,
  SMD_THROTTLED = 56, /* the service asks for fewer requests */
  /* from a callback, or our own fault */
  SMD_CALLBACK_FAILED = 60,
  SMD_INTERNAL = 61,
  /* a rule's finding, where the caller asked for it as an error */
  SMD_RULE_CONDITION_MET = 80
};

/* The code of an error; SMD_OK for NULL.
 * Thread: any.   Since: 1.0 */
SMD_API smd_code smd_error_code(const smd_error *error) SMD_NOEXCEPT;

/* One line: what failed, where, and what to do.  "" for NULL.  Borrowed.
 * Thread: any.   Since: 1.0 */
SMD_API const char *smd_error_message(const smd_error *error) SMD_NOEXCEPT;

/* A named fact about the error, or NULL where it has none of that name:
 * "path", "step", "mode", "tensor", "worker", "collection", "rule", "last_step",
 * "has_reductions", "errno"; of a network or a service "cause", "http_status",
 * "s3_code", "region", "request_id".  Borrowed.
 * Thread: any.   Since: 1.0 */
SMD_API const char *smd_error_detail(const smd_error *error, const char *key) SMD_NOEXCEPT;

/* The constant's name of a code, as "STEP_UNAVAILABLE"; "UNKNOWN" for others.
 * Thread: any.   Since: 1.0 */
SMD_API const char *smd_code_name(smd_code code) SMD_NOEXCEPT;

/* 1 if the same call may succeed later without the caller changing anything.
 * Thread: any.   Since: 1.0 */
SMD_API int32_t smd_error_is_retryable(const smd_error *error) SMD_NOEXCEPT;

/* Makes an error for a callback to hand back (see smd_rule_ops).  An unknown
 * code becomes SMD_CALLBACK_FAILED.  Never NULL.  The caller's to free.
 * Thread: any.   Since: 1.0 */
SMD_API smd_error *smd_error_new(smd_code code, const char *message) SMD_NOEXCEPT;

/* Frees an error.  NULL is allowed.
 * Thread: any.   Since: 1.0 */
SMD_API void smd_error_free(smd_error *error) SMD_NOEXCEPT;

SMD_END_DECLS

#endif /* SMDEBUG_ERROR_H */
