/* libsmdebug: record the tensors of a training run, read them back, judge them.
 *
 * This header includes the whole C interface.  Conventions, written once:
 *  - A function that can fail returns an error object, or NULL for success.
 *    Outputs come last and are set to NULL or 0 before anything is checked.
 *  - What comes out through `T **out` is the caller's: free it with its `_free`.
 *    What is *returned* as pointer-to-const is borrowed, and valid until the
 *    handle it came from is freed.
 *  - Handles share what they need, so they may be freed in any order and from
 *    any thread; every `_free` takes NULL.
 *  - Strings are UTF-8 and NUL-terminated; those passed in are copied.  Where a
 *    string is optional, NULL and "" both mean "not given".
 *  - "Thread: any" means concurrently on one handle; "Thread: one" means one
 *    thread at a time on one handle, different handles at will.
 *  - After fork(), a handle of the parent answers SMD_AFTER_FORK in the child.
 *  - Where a function can fail with IO, one that reaches a bucket can fail with
 *    NETWORK, CREDENTIALS, TIMEOUT (then with the detail "cause" or "s3_code")
 *    and the codes from TLS to THROTTLED as well.
 *  - Every function exists since 1.0 unless its comment says otherwise. */
#ifndef SMDEBUG_H
#define SMDEBUG_H

#include "smdebug/config.h"
#include "smdebug/error.h"
#include "smdebug/export.h"
#include "smdebug/files.h"
#include "smdebug/hook.h"
#include "smdebug/hook_options.h"
#include "smdebug/log.h"
#include "smdebug/panel.h"
#include "smdebug/rule.h"
#include "smdebug/store.h"
#include "smdebug/tensor.h"
#include "smdebug/trial.h"
#include "smdebug/trial_options.h"
#include "smdebug/types.h"
#include "smdebug/version.h"

#endif /* SMDEBUG_H */
