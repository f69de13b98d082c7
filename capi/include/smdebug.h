/* libsmdebug: records the tensors of a training run, reads them back, and evaluates
 * rules on them.
 *
 * This header includes the whole C interface except smdebug/sys/files.h, which a
 * tool includes by itself.  Conventions that hold for every function:
 *  - A function that can fail returns an error object, or NULL on success.
 *    Outputs are set to NULL or 0 before anything is checked, and stay so if the
 *    function fails, unless its comment says otherwise.
 *  - Parameters come in one order: the handle; the key, such as a name; step,
 *    mode and worker; other inputs; outputs.
 *  - A handle returned through `T **out` belongs to the caller: free it with its
 *    `_free`.  A *returned* pointer-to-const is borrowed: it is valid until the
 *    handle it came from is freed.
 *  - Handles share what they need, so they may be freed in any order and from
 *    any thread.  Every `_free` accepts NULL.
 *  - Strings are UTF-8 and NUL-terminated; the library copies those passed in.
 *    For an optional string, NULL and "" both mean "not given".
 *  - "Thread: any" means concurrently on one handle.  "Thread: one" means one
 *    thread at a time on one handle.  Different handles never interfere.
 *  - A hook, profiler, trial, tensor, collection, rule set, step file, event file or
 *    bucket belongs to the process that made it.  In a child forked since, functions that can
 *    fail return SMD_AFTER_FORK, the others answer as for NULL, and `_free` does
 *    nothing.  All other handles are plain data: a child has its own copy.
 *  - A function that can fail with IO can, if it reaches a bucket, also fail with
 *    NETWORK, CREDENTIALS, TIMEOUT (with the detail "cause" or "s3_code") and the
 *    codes from TLS to THROTTLED.
 *  - Each function that can fail can also fail with OUT_OF_MEMORY, and with INTERNAL
 *    if the library has a bug.
 *  - Every function exists since 1.0 unless its comment says otherwise. */
#ifndef SMDEBUG_H
#define SMDEBUG_H

#include "smdebug/collection.h"
#include "smdebug/config.h"
#include "smdebug/diagnosis.h"
#include "smdebug/error.h"
#include "smdebug/export.h"
#include "smdebug/hook.h"
#include "smdebug/hook_options.h"
#include "smdebug/late.h"
#include "smdebug/log.h"
#include "smdebug/metadata.h"
#include "smdebug/placement.h"
#include "smdebug/profile_rules.h"
#include "smdebug/profiler.h"
#include "smdebug/rule_set.h"
#include "smdebug/scan.h"
#include "smdebug/statistics.h"
#include "smdebug/store.h"
#include "smdebug/tensor.h"
#include "smdebug/trial.h"
#include "smdebug/trial_options.h"
#include "smdebug/types.h"
#include "smdebug/values.h"
#include "smdebug/version.h"

#endif /* SMDEBUG_H */
