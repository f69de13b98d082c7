/* What a job records about itself: hyper-parameters, and where and from what it runs. */
#ifndef SMDEBUG_METADATA_H
#define SMDEBUG_METADATA_H

#include "smdebug/export.h"
#include "smdebug/types.h"

SMD_BEGIN_DECLS

/* Records a text about the job, such as "learning_rate" and "0.1".  Copies both into the
 * worker's collections file (docs/formats.md), which is written with the next step that is
 * recorded, and when the hook is closed.  An earlier value of the key is replaced.  Up to 1000
 * keys of up to 256 bytes, and values of up to 64 KiB, are kept, in UTF-8.  Keys that begin with
 * "run." are those of smd_hook_describe_run() and of the language bindings.  "run.failure" says
 * why the job failed: the end marker holds it, and lists of trials show the trial as failed.
 *
 * Fails: INVALID_ARGUMENT, AFTER_FORK.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_set_metadata(smd_hook *hook, const char *key, const char *value) SMD_NOEXCEPT;

/* Records as metadata what is known of "run.library" (this library and its version),
 * "run.host" (the name of the host) and "run.commit" (the commit that the Git working tree
 * around the current folder has checked out).
 *
 * Fails: as smd_hook_set_metadata().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_describe_run(smd_hook *hook) SMD_NOEXCEPT;

/* Returns the metadata of a worker: keys and values in turn, sorted by key.  `worker` may be
 * NULL: then the value of each key is that of the first worker that has it.  Reads the
 * collections files again if the job has not ended.
 *
 * Fails: as smd_trial_refresh().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_trial_metadata(smd_trial *trial, const char *worker,
                                smd_strings **out) SMD_NOEXCEPT;

SMD_END_DECLS

/* Example: records the learning rate of a job.
 *
 *   smd_error *describe(smd_hook *hook) {
 *     smd_error *error = smd_hook_describe_run(hook);
 *     return error != NULL ? error : smd_hook_set_metadata(hook, "learning_rate", "0.1");
 *   } */

#endif /* SMDEBUG_METADATA_H */
