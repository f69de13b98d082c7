/* How a trial is opened. */
#ifndef SMDEBUG_TRIAL_OPTIONS_H
#define SMDEBUG_TRIAL_OPTIONS_H

#include "smdebug/export.h"
#include "smdebug/log.h"
#include "smdebug/types.h"

SMD_BEGIN_DECLS

/* Makes options with the defaults below.
 *
 * Fails: INVALID_ARGUMENT.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_trial_options_new(smd_trial_options **out) SMD_NOEXCEPT;

/* Sets one option by its name; the second default is the environment's:
 *   name                      any text (the last part of the path)
 *   first_step, end_step      only global steps first <= s < end are read (all)
 *   wait_seconds              how long opening waits for collection files
 *                             (SMDEBUG_TRIAL_WAIT_SECONDS, "600")
 *   incomplete_window         how many steps may follow an incomplete one before
 *                             it is given up (SMDEBUG_INCOMPLETE_STEP_WAIT_WINDOW, "1000")
 *   end_delay_seconds         how long after the end marker late files are still
 *                             awaited (SMDEBUG_TRAINING_END_DELAY_REFRESH, "1")
 *   missing_file_retries      how often, 2 s apart, an event file that its index
 *                             names but nobody wrote is looked for
 *                             (SMDEBUG_MISSING_EVENT_FILE_RETRY_LIMIT, "100")
 *   s3_...                    as smdebug/store.h lists them
 *
 * Fails: INVALID_ARGUMENT (unknown name; the message names the nearest),
 * INVALID_CONFIG (bad value).
 * Thread: one.   Since: 1.0 */
SMD_FALLIBLE smd_trial_options_set(smd_trial_options *options, const char *name,
                                   const char *value) SMD_NOEXCEPT;

/* Sends log lines of the trial to `log`.  `destroy`, if not NULL, is called once
 * with `user_data`, when the options and the trial are gone or if this fails.
 *
 * Fails: INVALID_ARGUMENT.
 * Thread: one.   Since: 1.0 */
SMD_FALLIBLE smd_trial_options_set_log(smd_trial_options *options, smd_log_level level,
                                       smd_log_fn log, void *user_data,
                                       smd_release_fn destroy) SMD_NOEXCEPT;

/* Frees options.  NULL is allowed.
 * Thread: any.   Since: 1.0 */
SMD_API void smd_trial_options_free(smd_trial_options *options) SMD_NOEXCEPT;

SMD_END_DECLS

#endif /* SMDEBUG_TRIAL_OPTIONS_H */
