/* Options for opening a trial. */
#ifndef SMDEBUG_TRIAL_OPTIONS_H
#define SMDEBUG_TRIAL_OPTIONS_H

#include "smdebug/export.h"
#include "smdebug/log.h"
#include "smdebug/types.h"

SMD_BEGIN_DECLS

/* Makes options with the defaults below.
 *
 * Fails: INVALID_ARGUMENT, INVALID_CONFIG (an environment variable below is no number).
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_trial_options_new(smd_trial_options **out) SMD_NOEXCEPT;

/* Sets one option by its name.  Defaults, and the environment variables that replace
 * them, are in parentheses:
 *   name                      any text (the last part of the path)
 *   first_step, end_step      read only global steps first <= s < end (all)
 *   wait_seconds              how long opening waits for collection files
 *                             (SMDEBUG_TRIAL_WAIT_SECONDS, "600")
 *   incomplete_window         how many steps may follow an incomplete step
 *                             before it is skipped (SMDEBUG_INCOMPLETE_STEP_WAIT_WINDOW, "1000")
 *   end_delay_seconds         how long to wait for late files after the end
 *                             marker (SMDEBUG_TRAINING_END_DELAY_REFRESH, "1")
 *   missing_file_retries      how often, 2 s apart, to look for an event file
 *                             that an index file names and that is missing
 *                             (SMDEBUG_MISSING_EVENT_FILE_RETRY_LIMIT, "100")
 *   index_numbers             take single numbers from index files, which are read anyway
 *                             ("true"); "false": read each from its record, as a search
 *                             for damage in event files must
 *   s3_...                    see smdebug/store.h
 *
 * Fails: INVALID_ARGUMENT (unknown name; the message names the nearest),
 * INVALID_CONFIG (bad value).
 * Thread: one.   Since: 1.0 */
SMD_FALLIBLE smd_trial_options_set(smd_trial_options *options, const char *name,
                                   const char *value) SMD_NOEXCEPT;

/* Sends the log lines of the trial to `log`.  `destroy`, if not NULL, is called once
 * with `user_data`: when the options and the trial are freed, or if this fails.
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

/* Example: opens a trial that must be there already.
 *
 *   smd_error *open_now(const char *path, smd_trial **out) {
 *     smd_trial_options *options;
 *     smd_error *error = smd_trial_options_new(&options);
 *     if (!error) error = smd_trial_options_set(options, "wait_seconds", "0");
 *     if (!error) error = smd_trial_open(path, options, out);
 *     smd_trial_options_free(options);
 *     return error;
 *   } */

#endif /* SMDEBUG_TRIAL_OPTIONS_H */
