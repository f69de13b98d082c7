/* Reading: a trial is what a job recorded, or is still recording. */
#ifndef SMDEBUG_TRIAL_H
#define SMDEBUG_TRIAL_H

#include "smdebug/export.h"
#include "smdebug/log.h"
#include "smdebug/trial_options.h"
#include "smdebug/types.h"

SMD_BEGIN_DECLS

/* ---- life ---------------------------------------------------------------- */

/* Prepares a trial for opening: knows where and how, has read nothing.
 * `options` may be NULL.
 *
 * Fails: INVALID_ARGUMENT, INVALID_CONFIG, UNSUPPORTED (the kind of path).
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_trial_new(const char *path, const smd_trial_options *options,
                           smd_trial **out) SMD_NOEXCEPT;

/* Waits for the collection files of all workers, at most wait_seconds, and reads
 * them.  A second call does nothing.  Every query does this first where it was not
 * done.
 *
 * Fails: INVALID_ARGUMENT, MISSING_COLLECTIONS, CORRUPT_DATA, CANCELLED,
 * AFTER_FORK, IO, PERMISSION.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_trial_load(smd_trial *trial) SMD_NOEXCEPT;

/* smd_trial_new() and smd_trial_load() in one.
 *
 * Fails: as these.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_trial_open(const char *path, const smd_trial_options *options,
                            smd_trial **out) SMD_NOEXCEPT;

/* Makes every wait on this trial, now and later, end with CANCELLED.
 * Thread: any.   Since: 1.0 */
SMD_API void smd_trial_cancel(smd_trial *trial) SMD_NOEXCEPT;

/* Frees the trial.  NULL is allowed.
 * Thread: any.   Since: 1.0 */
SMD_API void smd_trial_free(smd_trial *trial) SMD_NOEXCEPT;

/* The path as it was given, and the name.  Borrowed; "" for NULL.
 * Thread: any.   Since: 1.0 */
SMD_API const char *smd_trial_path(const smd_trial *trial) SMD_NOEXCEPT;

/* The name given, or the last part of the path.  Borrowed; "" for NULL.
 * Thread: any.   Since: 1.0 */
SMD_API const char *smd_trial_name(const smd_trial *trial) SMD_NOEXCEPT;

/* Reads what was recorded since.  Every query below does this by itself, unless
 * switched off.
 *
 * Fails: INVALID_ARGUMENT, CORRUPT_DATA and others on an index file that cannot be
 * read (said once a file; the rest is read all the same, and the file is tried again
 * at every refresh), CANCELLED, AFTER_FORK, IO, PERMISSION.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_trial_refresh(smd_trial *trial) SMD_NOEXCEPT;

/* Whether queries refresh (1 at first).  Returns what was before.
 * Thread: any.   Since: 1.0 */
SMD_API int32_t smd_trial_set_auto_refresh(smd_trial *trial, int32_t on) SMD_NOEXCEPT;

/* 1 if the job has ended and everything it recorded is known.
 * Thread: any.   Since: 1.0 */
SMD_API int32_t smd_trial_has_ended(const smd_trial *trial) SMD_NOEXCEPT;

/* The last global step that is complete, or -1.
 * Thread: any.   Since: 1.0 */
SMD_API int64_t smd_trial_last_complete_step(const smd_trial *trial) SMD_NOEXCEPT;

/* ---- steps --------------------------------------------------------------- */

/* The steps of a mode (GLOBAL: of all modes, by their global numbers), ascending:
 * those that every worker wrote, or all if `incomplete_too` is not 0.
 *
 * Fails: as smd_trial_refresh().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_trial_steps(smd_trial *trial, smd_mode mode, int32_t incomplete_too,
                             smd_steps **out) SMD_NOEXCEPT;

/* The modes (other than GLOBAL) of the steps seen so far, ascending.
 *
 * Fails: as smd_trial_refresh().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_trial_modes(smd_trial *trial, smd_steps **out) SMD_NOEXCEPT;

/* What a global step was: its mode and mode step, or SMD_MODE_ANY and -1 if it
 * was not seen.
 *
 * Fails: as smd_trial_refresh().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_trial_mode_step(smd_trial *trial, int64_t global_step, smd_mode *mode_out,
                                 int64_t *step_out) SMD_NOEXCEPT;

/* The global number of a mode's step, or -1 if it was not seen.
 *
 * Fails: as smd_trial_refresh().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_trial_global_step(smd_trial *trial, smd_mode mode, int64_t mode_step,
                                   int64_t *out) SMD_NOEXCEPT;

/* Whether a step is there, will never be, or may still come.
 *
 * Fails: as smd_trial_refresh().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_trial_step_state(smd_trial *trial, int64_t step, smd_mode mode,
                                  smd_step_state *out) SMD_NOEXCEPT;

/* Waits until the step is there, at most `timeout_ms` milliseconds; negative:
 * without end.  Refreshes even where queries do not.
 *
 * Fails: STEP_UNAVAILABLE, NO_MORE_DATA (detail "last_step"), TIMEOUT, CANCELLED,
 * and as smd_trial_refresh().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_trial_wait_for_step(smd_trial *trial, int64_t step, smd_mode mode,
                                     int32_t timeout_ms) SMD_NOEXCEPT;

/* ---- workers, collections, names ----------------------------------------- */

/* The workers that recorded, sorted.
 *
 * Fails: as smd_trial_refresh().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_trial_workers(smd_trial *trial, smd_strings **out) SMD_NOEXCEPT;

/* The names of all collections, in the order of the collections file.
 *
 * Fails: as smd_trial_refresh().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_trial_collections(smd_trial *trial, smd_strings **out) SMD_NOEXCEPT;

/* The collection of that name, made (empty) if missing; shared with the trial.
 *
 * Fails: as smd_trial_refresh().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_trial_collection(smd_trial *trial, const char *name,
                                  smd_collection **out) SMD_NOEXCEPT;

/* The names of tensors saved so far, sorted.  Each condition that is given
 * narrows them: `step` >= 0 and `mode` (the step is the mode's own number),
 * `regexes` (any of them is found in the name), `collection`.
 *
 * Fails: INVALID_ARGUMENT (regexes and collection together), INVALID_CONFIG (a
 * regex), and as smd_trial_refresh().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_trial_tensor_names(smd_trial *trial, int64_t step, smd_mode mode,
                                    const smd_strings *regexes, const smd_collection *collection,
                                    smd_strings **out) SMD_NOEXCEPT;

/* The tensor of that name.
 *
 * Fails: TENSOR_UNAVAILABLE, and as smd_trial_refresh().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_trial_tensor(smd_trial *trial, const char *name, smd_tensor **out) SMD_NOEXCEPT;

/* Reads the values of several tensors at several steps at once, which pays where each
 * is a request; smd_tensor_value() then gives each out once from memory (256 MiB at
 * most are kept).  The worker is the first that has them.  `steps` are those of
 * `mode`, `step_count` of them, and only read during the call.
 *
 * Fails: as smd_trial_tensor() and smd_tensor_value(), for the first that is not there.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_trial_prefetch(smd_trial *trial, const smd_strings *tensors, const int64_t *steps,
                                size_t step_count, smd_mode mode) SMD_NOEXCEPT;

/* Writes what the trial holds now for stock TensorBoard: docs/tensorboard.md.
 *
 * Fails: INVALID_ARGUMENT, CORRUPT_DATA, IO, PERMISSION, NO_SPACE, and as
 * smd_trial_refresh(); files that are whole stay.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_trial_export_tensorboard(smd_trial *trial, const char *folder) SMD_NOEXCEPT;

/* ---- a tensor ------------------------------------------------------------ */

/* The name.  Borrowed.
 * Thread: any.   Since: 1.0 */
SMD_API const char *smd_tensor_name(const smd_tensor *tensor) SMD_NOEXCEPT;

/* The name the framework gave it, where a shape was saved with one; else "".
 *
 * Fails: as smd_trial_refresh().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_tensor_original_name(smd_tensor *tensor, smd_text **out) SMD_NOEXCEPT;

/* The steps of a mode at which it was saved, as smd_trial_steps().
 *
 * Fails: as smd_trial_refresh().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_tensor_steps(smd_tensor *tensor, smd_mode mode, int32_t incomplete_too,
                              smd_steps **out) SMD_NOEXCEPT;

/* The last `count` of these steps (0: all) that are not after `step`.
 *
 * Fails: as smd_trial_refresh().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_tensor_prev_steps(smd_tensor *tensor, int64_t step, int64_t count, smd_mode mode,
                                   smd_steps **out) SMD_NOEXCEPT;

/* The workers that saved it at a step, sorted.
 *
 * Fails: VALUE_UNAVAILABLE, and as smd_trial_refresh().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_tensor_workers(smd_tensor *tensor, int64_t step, smd_mode mode,
                                smd_strings **out) SMD_NOEXCEPT;

/* The elements at a step.  `worker` may be NULL: the first that has them.
 *
 * Fails: VALUE_UNAVAILABLE, STEP_UNAVAILABLE (also after the job's end), STEP_NOT_YET,
 * WORKER_UNKNOWN, CORRUPT_DATA, and as smd_trial_refresh().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_tensor_value(smd_tensor *tensor, int64_t step, smd_mode mode, const char *worker,
                              smd_value **out) SMD_NOEXCEPT;

/* The shape at a step: the one saved, or the value's.
 *
 * Fails: SHAPE_UNAVAILABLE, and as smd_tensor_value().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_tensor_shape(smd_tensor *tensor, int64_t step, smd_mode mode, const char *worker,
                              smd_steps **out) SMD_NOEXCEPT;

/* A reduction (names as smd_value_reduce()) at a step: the one saved, or computed
 * from the value.
 *
 * Fails: INVALID_ARGUMENT (unknown name), UNSUPPORTED, and as smd_tensor_value().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_tensor_reduction(smd_tensor *tensor, int64_t step, smd_mode mode,
                                  const char *worker, const char *reduction, int32_t absolute,
                                  smd_value **out) SMD_NOEXCEPT;

/* The names of the reductions saved at a step, as "min", "abs_l1".
 *
 * Fails: as smd_tensor_value().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_tensor_reductions(smd_tensor *tensor, int64_t step, smd_mode mode,
                                   const char *worker, smd_strings **out) SMD_NOEXCEPT;

/* Frees a handle on a tensor.  NULL is allowed.
 * Thread: any.   Since: 1.0 */
SMD_API void smd_tensor_free(smd_tensor *tensor) SMD_NOEXCEPT;

SMD_END_DECLS

#endif /* SMDEBUG_TRIAL_H */
