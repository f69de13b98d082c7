/* Reading: a trial is the recording of a job, finished or still running. */
#ifndef SMDEBUG_TRIAL_H
#define SMDEBUG_TRIAL_H

#include "smdebug/export.h"
#include "smdebug/log.h"
#include "smdebug/trial_options.h"
#include "smdebug/types.h"

SMD_BEGIN_DECLS

/* Makes a trial without reading anything.  `options` may be NULL.
 *
 * Fails: INVALID_ARGUMENT, INVALID_CONFIG, UNSUPPORTED (the kind of path); for s3://,
 * also IO, PERMISSION (the AWS files cannot be read).
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_trial_new(const char *path, const smd_trial_options *options,
                           smd_trial **out) SMD_NOEXCEPT;

/* Waits for the collection files of all workers, at most wait_seconds, and reads
 * them.  A second call does nothing.  Every query loads the trial first if that has
 * not happened.
 *
 * Fails: INVALID_ARGUMENT, MISSING_COLLECTIONS, CORRUPT_DATA, CANCELLED,
 * AFTER_FORK, IO, PERMISSION.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_trial_load(smd_trial *trial) SMD_NOEXCEPT;

/* Makes and loads a trial: smd_trial_new(), then smd_trial_load().
 *
 * Fails: as smd_trial_new() and smd_trial_load().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_trial_open(const char *path, const smd_trial_options *options,
                            smd_trial **out) SMD_NOEXCEPT;

/* Ends every wait on this trial with CANCELLED, and every later call that looks for new data or
 * reads values: open the trial again to go on.
 * Thread: any.   Since: 1.0 */
SMD_API void smd_trial_cancel(smd_trial *trial) SMD_NOEXCEPT;

/* Frees the trial.  Its tensors and values stay valid.  NULL is allowed.
 * Thread: any.   Since: 1.0 */
SMD_API void smd_trial_free(smd_trial *trial) SMD_NOEXCEPT;

/* Returns the path as it was given; "" for NULL.  Borrowed.
 * Thread: any.   Since: 1.0 */
SMD_API const char *smd_trial_path(const smd_trial *trial) SMD_NOEXCEPT;

/* Returns the option "name", or else the last part of the path; "" for NULL.  Borrowed.
 * Thread: any.   Since: 1.0 */
SMD_API const char *smd_trial_name(const smd_trial *trial) SMD_NOEXCEPT;

/* Reads what was recorded since the last refresh.  Every query below refreshes first,
 * unless smd_trial_set_auto_refresh() switched that off.  If an index file cannot be
 * read, fails once for that file, but reads all others; every refresh tries the file
 * again.
 *
 * Fails: as smd_trial_load(): a trial that was not loaded is loaded first.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_trial_refresh(smd_trial *trial) SMD_NOEXCEPT;

/* Sets whether queries refresh (default 1).  Returns the previous setting.
 * Thread: any.   Since: 1.0 */
SMD_API int32_t smd_trial_set_auto_refresh(smd_trial *trial, int32_t on) SMD_NOEXCEPT;

/* Returns 1 if all workers have ended (docs/formats.md) and all that they recorded has been read.
 * Thread: any.   Since: 1.0 */
SMD_API int32_t smd_trial_has_ended(const smd_trial *trial) SMD_NOEXCEPT;

/* Returns the last global step that all workers wrote, or -1.
 * Thread: any.   Since: 1.0 */
SMD_API int64_t smd_trial_last_complete_step(const smd_trial *trial) SMD_NOEXCEPT;

/* Returns the steps of a mode (GLOBAL: all modes, by their global numbers), ascending.
 * Skips steps that some worker has not written, unless `incomplete_too` is not 0.
 *
 * Fails: as smd_trial_refresh().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_trial_steps(smd_trial *trial, smd_mode mode, int32_t incomplete_too,
                             smd_integers **out) SMD_NOEXCEPT;

/* Returns the modes (SMD_MODE_..., without GLOBAL) of the steps seen so far, ascending.
 *
 * Fails: as smd_trial_refresh().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_trial_modes(smd_trial *trial, smd_integers **out) SMD_NOEXCEPT;

/* Returns the mode step and the mode of a global step, or -1 and SMD_MODE_ANY if the
 * step was not seen.
 *
 * Fails: as smd_trial_refresh().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_trial_mode_step(smd_trial *trial, int64_t global_step, int64_t *step_out,
                                 smd_mode *mode_out) SMD_NOEXCEPT;

/* Returns the global step of a mode step, or -1 if the step was not seen.  With
 * SMD_MODE_GLOBAL, returns `mode_step`, seen or not.
 *
 * Fails: as smd_trial_refresh().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_trial_global_step(smd_trial *trial, int64_t mode_step, smd_mode mode,
                                   int64_t *out) SMD_NOEXCEPT;

/* Reports whether a step is available, will never be, or may still come.
 *
 * Fails: as smd_trial_refresh().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_trial_step_state(smd_trial *trial, int64_t step, smd_mode mode,
                                  smd_step_state *out) SMD_NOEXCEPT;

/* Waits until the step is available, at most `timeout_ms` milliseconds; negative:
 * without a limit.  Refreshes even if queries do not.
 *
 * Fails: STEP_UNAVAILABLE, NO_MORE_DATA (detail "last_step"), TIMEOUT, CANCELLED,
 * and as smd_trial_refresh().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_trial_wait_for_step(smd_trial *trial, int64_t step, smd_mode mode,
                                     int32_t timeout_ms) SMD_NOEXCEPT;

/* Returns the workers that recorded, sorted.
 *
 * Fails: as smd_trial_refresh().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_trial_workers(smd_trial *trial, smd_strings **out) SMD_NOEXCEPT;

/* Returns the names of all collections, in the order of the collections file.
 *
 * Fails: as smd_trial_refresh().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_trial_collections(smd_trial *trial, smd_strings **out) SMD_NOEXCEPT;

/* Returns the collection of that name, shared with the trial.
 *
 * Fails: NOT_FOUND, and as smd_trial_refresh().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_trial_collection(smd_trial *trial, const char *name,
                                  smd_collection **out) SMD_NOEXCEPT;

/* Returns the names of the tensors saved so far, sorted.  Each condition narrows them:
 * `step` if it is not negative (a step of `mode`), `mode`, `regexes` (one of them matches the
 * name), `collection`.  The last two may be NULL.
 *
 * Fails: INVALID_ARGUMENT (regexes and collection together), INVALID_CONFIG (a
 * regex), and as smd_trial_refresh().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_trial_tensor_names(smd_trial *trial, int64_t step, smd_mode mode,
                                    const smd_strings *regexes, const smd_collection *collection,
                                    smd_strings **out) SMD_NOEXCEPT;

/* Returns the names of the tensors saved at a step, in the order of recording: those of the
 * first worker, then those of others only.  Those without records come last.
 *
 * Fails: as smd_trial_refresh().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_trial_recorded_names(smd_trial *trial, int64_t step, smd_mode mode,
                                      smd_strings **out) SMD_NOEXCEPT;

/* Returns the tensor of that name.
 *
 * Fails: TENSOR_UNAVAILABLE, and as smd_trial_refresh().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_trial_tensor(smd_trial *trial, const char *name, smd_tensor **out) SMD_NOEXCEPT;

/* Reads the values of several tensors at several steps at once.  This is faster where
 * each value is a request.  smd_tensor_value() then serves each value once from
 * memory, which holds at most 256 MiB.  The values are those of the first worker that
 * has them.  `steps` holds `step_count` steps of `mode`.
 *
 * Fails: as smd_trial_tensor() and smd_tensor_value(), for the first that is missing.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_trial_prefetch(smd_trial *trial, const smd_strings *tensors, const int64_t *steps,
                                size_t step_count, smd_mode mode) SMD_NOEXCEPT;

/* Writes what the trial holds now as files for TensorBoard (docs/tensorboard.md).  If
 * this fails, files that are complete stay.
 *
 * Fails: INVALID_ARGUMENT, INVALID_CONFIG, UNSUPPORTED (the kind of path), CORRUPT_DATA,
 * IO, PERMISSION, NO_SPACE, and as smd_trial_refresh().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_trial_export_tensorboard(smd_trial *trial, const char *folder) SMD_NOEXCEPT;

/* Returns the name; "" for NULL.  Borrowed.
 * Thread: any.   Since: 1.0 */
SMD_API const char *smd_tensor_name(const smd_tensor *tensor) SMD_NOEXCEPT;

/* Returns the name that the framework uses, if a shape was saved with one; else "".
 *
 * Fails: as smd_trial_refresh().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_tensor_original_name(smd_tensor *tensor, smd_text **out) SMD_NOEXCEPT;

/* Returns the steps of a mode at which the tensor was saved, as smd_trial_steps().
 *
 * Fails: as smd_trial_refresh().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_tensor_steps(smd_tensor *tensor, smd_mode mode, int32_t incomplete_too,
                              smd_integers **out) SMD_NOEXCEPT;

/* Returns the last `count` of these steps (0: all) that are not after `step`.
 *
 * Fails: as smd_trial_refresh().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_tensor_prev_steps(smd_tensor *tensor, int64_t step, smd_mode mode, int64_t count,
                                   smd_integers **out) SMD_NOEXCEPT;

/* Returns the workers that saved the tensor at a step, sorted.
 *
 * Fails: VALUE_UNAVAILABLE, and as smd_trial_refresh().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_tensor_workers(smd_tensor *tensor, int64_t step, smd_mode mode,
                                smd_strings **out) SMD_NOEXCEPT;

/* Returns the elements at a step.  `worker` may be NULL: the first that has them.
 * Scalars are read from the index files, unless the option index_numbers is false.
 *
 * Fails: VALUE_UNAVAILABLE, STEP_UNAVAILABLE (also if the job has ended), STEP_NOT_YET,
 * WORKER_UNKNOWN, CORRUPT_DATA, and as smd_trial_refresh().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_tensor_value(smd_tensor *tensor, int64_t step, smd_mode mode, const char *worker,
                              smd_value **out) SMD_NOEXCEPT;

/* Returns the shape at a step: the saved shape, or else that of the value.
 *
 * Fails: SHAPE_UNAVAILABLE, and as smd_tensor_value().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_tensor_shape(smd_tensor *tensor, int64_t step, smd_mode mode, const char *worker,
                              smd_integers **out) SMD_NOEXCEPT;

/* Returns a reduction at a step: the saved one, or else computed from the value.
 * `reduction` and `absolute` are as for smd_value_reduce().
 *
 * Fails: INVALID_ARGUMENT (unknown name), UNSUPPORTED, and as smd_tensor_value().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_tensor_reduction(smd_tensor *tensor, int64_t step, smd_mode mode,
                                  const char *worker, const char *reduction, int32_t absolute,
                                  smd_value **out) SMD_NOEXCEPT;

/* Returns the names of the reductions saved at a step, such as "min", "abs_l1".
 *
 * Fails: as smd_tensor_value().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_tensor_reductions(smd_tensor *tensor, int64_t step, smd_mode mode,
                                   const char *worker, smd_strings **out) SMD_NOEXCEPT;

/* Frees a handle on a tensor.  NULL is allowed.
 * Thread: any.   Since: 1.0 */
SMD_API void smd_tensor_free(smd_tensor *tensor) SMD_NOEXCEPT;

SMD_END_DECLS

/* Example: prints the mean of a tensor at each step of the training.
 *
 *   smd_error *print_means(smd_trial *trial, const char *name) {
 *     smd_tensor *tensor = NULL;
 *     smd_integers *steps = NULL;
 *     smd_error *error = smd_trial_tensor(trial, name, &tensor);
 *     if (!error) error = smd_tensor_steps(tensor, SMD_MODE_TRAIN, 0, &steps);
 *     for (size_t i = 0; !error && i < smd_integers_count(steps); i++) {
 *       smd_value *value = NULL;
 *       double mean = 0;
 *       const int64_t step = smd_integers_get(steps, i);
 *       error = smd_tensor_reduction(tensor, step, SMD_MODE_TRAIN, NULL, "mean", 0, &value);
 *       if (!error) error = smd_value_to_double(value, &mean);
 *       if (!error) printf("%" PRId64 " %g\n", step, mean);
 *       smd_value_free(value);
 *     }
 *     smd_integers_free(steps);
 *     smd_tensor_free(tensor);
 *     return error;
 *   } */

#endif /* SMDEBUG_TRIAL_H */
