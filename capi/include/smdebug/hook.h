/* Recording: a hook turns the tensors of a running job into a trial. */
#ifndef SMDEBUG_HOOK_H
#define SMDEBUG_HOOK_H

#include "smdebug/collection.h"
#include "smdebug/config.h"
#include "smdebug/export.h"
#include "smdebug/hook_options.h"
#include "smdebug/log.h"
#include "smdebug/rule_set.h"
#include "smdebug/tensor.h"
#include "smdebug/types.h"

SMD_BEGIN_DECLS

/* ---- life ---------------------------------------------------------------- */

/* Opens a hook that records into out_dir.  Writes nothing and starts no thread: the first
 * step that saves something makes the folder and claims it, and the first tensor that is saved
 * starts the writer.  If another process already records into out_dir
 * (num_workers 1), or this worker is not included, the hook accepts every call and
 * writes nothing.
 *
 * Fails: INVALID_ARGUMENT, INVALID_CONFIG, TRIAL_EXISTS (out_dir holds a finished
 * trial; of several workers, one that this worker recorded into), UNSUPPORTED, CORRUPT_DATA
 * (checkpoint state), AFTER_FORK (a collection of the options was made before a fork), IO,
 * PERMISSION.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_new(const smd_hook_options *options, smd_hook **out) SMD_NOEXCEPT;

/* Waits at most `timeout_ms` milliseconds until every ended step is written, and
 * durable with durability "step".  A negative timeout waits without limit.  Steps that wait
 * for late tensors (smdebug/late.h) are not waited for.
 *
 * Fails: INVALID_ARGUMENT, WRONG_STATE (closed), TIMEOUT, AFTER_FORK, or the first
 * unreported error of the writer threads.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_flush(smd_hook *hook, int32_t timeout_ms) SMD_NOEXCEPT;

/* Ends an open step, completes those that wait for late tensors (smdebug/late.h), then
 * writes all queued steps, the collections file and the end marker.  Attached rules hear of
 * the end: smd_hook_take_findings() then has what only that tells.  A second call does nothing,
 * but in another thread it waits for the first one, except in a function that the library calls.
 *
 * Fails: INVALID_ARGUMENT, TIMEOUT (close_seconds; the other steps are dropped),
 * AFTER_FORK, or the first unreported error of the writer threads.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_close(smd_hook *hook) SMD_NOEXCEPT;

/* Frees the hook.  A hook that was not closed writes the steps that ended, but no end
 * marker: its trial looks like that of a job that was killed.  NULL is allowed.
 * Thread: any.   Since: 1.0 */
SMD_API void smd_hook_free(smd_hook *hook) SMD_NOEXCEPT;

/* ---- steps --------------------------------------------------------------- */

/* Sets the mode of the steps that follow; it is GLOBAL at first.  An open step keeps
 * its mode.
 *
 * Fails: INVALID_ARGUMENT, AFTER_FORK.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_set_mode(smd_hook *hook, smd_mode mode) SMD_NOEXCEPT;

/* Returns the mode set last; SMD_MODE_GLOBAL for NULL.
 * Thread: any.   Since: 1.0 */
SMD_API smd_mode smd_hook_mode(const smd_hook *hook) SMD_NOEXCEPT;

/* Begins the next step of the current mode.  Counting starts at 0.
 * `global_step_out` may be NULL.
 *
 * Fails: INVALID_ARGUMENT, INVALID_CONFIG (one of the caller's collections has neither
 * expressions nor tensors), WRONG_STATE (a step is open, or the hook is closed),
 * AFTER_FORK.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_begin_step(smd_hook *hook, int64_t *global_step_out) SMD_NOEXCEPT;

/* Ends the step.  Soon after, or when its late tensors have come (smdebug/late.h), readers
 * see all of its tensors at once.
 *
 * Fails: INVALID_ARGUMENT, WRONG_STATE (no step open), AFTER_FORK, or the first
 * unreported error of the writer threads.  After any of these but the first two, the
 * step has ended.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_end_step(smd_hook *hook) SMD_NOEXCEPT;

/* Closes the open step without recording it, for example because the code that fills it
 * failed.  Readers and TensorBoard see nothing of it.  Its numbers stay used, so that
 * later steps keep theirs; no count of smd_hook_count() changes.  Scalars and custom
 * tensors wait for the next step that saves anything.  Attached rules report no findings
 * for the step.
 *
 * Fails: INVALID_ARGUMENT, WRONG_STATE (no step open), AFTER_FORK.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_discard_step(smd_hook *hook) SMD_NOEXCEPT;

/* Saves these collections at the open step too, whatever their save configs select, for
 * example at the end of an epoch.  Collections that the hook does not include stay unsaved.
 *
 * Fails: INVALID_ARGUMENT, WRONG_STATE (no step open), AFTER_FORK.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_add_to_step(smd_hook *hook, const smd_strings *collections) SMD_NOEXCEPT;

/* Returns the last step begun in `mode` (GLOBAL: in any), or -1 if there was none.
 * Thread: any.   Since: 1.0 */
SMD_API int64_t smd_hook_last_step(const smd_hook *hook, smd_mode mode) SMD_NOEXCEPT;

/* Returns 1 if the open step saves this tensor or attached rules evaluate it
 * (smd_hook_attach), else 0.  Call it before an expensive copy.
 * Thread: any.   Since: 1.0 */
SMD_API int32_t smd_hook_wants(const smd_hook *hook, const char *tensor) SMD_NOEXCEPT;

/* Returns 1 if the open step saves or evaluates anything at all, else 0.
 * Thread: any.   Since: 1.0 */
SMD_API int32_t smd_hook_saves_step(const smd_hook *hook) SMD_NOEXCEPT;

/* ---- tensors ------------------------------------------------------------- */

/* Saves a tensor at the open step, if a collection selects it.  If a name is saved
 * twice in a step, the last value counts; attached rules, which see each value at once, see both.
 *
 * A tensor of 2 GiB or more goes into several records (docs/formats.md), which readers of
 * this library join.  The memory behind `view` is only read during the call.  An unselected tensor
 * costs one hash look-up and is no error.  If the queue is full, queue_policy decides.
 *
 * Fails: INVALID_ARGUMENT (as a name that reductions are saved under, "smdebug/reductions/..."),
 * WRONG_STATE (no step open), UNSUPPORTED (a text of 2 GiB or more), AFTER_FORK, or the first
 * unreported error of the writer threads.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_save(smd_hook *hook, const char *tensor,
                           const smd_tensor_view *view) SMD_NOEXCEPT;

/* Saves a tensor as smd_hook_save() does, but borrows the memory behind `view` until it
 * calls `release(user_data)`, so that large compact tensors are not copied.  `release` is
 * called exactly once, also if this fails, on this thread or a writer thread, with no lock
 * held: it may ask the hook anything, but must not wait for it (docs/threading.md).
 *
 * Fails: as smd_hook_save().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_save_owned(smd_hook *hook, const char *tensor, const smd_tensor_view *view,
                                 smd_release_fn release, void *user_data) SMD_NOEXCEPT;

/* Saves a DLPack tensor in host memory as smd_hook_save_owned() does.  Its deleter is
 * called exactly once, also if this fails, as `release` is there.
 *
 * Fails: as smd_hook_save(), and UNSUPPORTED (other types; other devices: detail "device",
 * such as "cuda:0").  smd_hook_save_statistics() needs no copy of a tensor of a device.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_save_dlpack(smd_hook *hook, const char *tensor,
                                  struct DLManagedTensorVersioned *dlpack) SMD_NOEXCEPT;

/* Copies a tensor and saves it into the named collections, which are made if missing,
 * with the next step that saves anything, at the latest when the hook is closed.  It is
 * saved raw if the reduction config of one of them saves raw tensors.  `collections`
 * NULL or empty means "default".
 *
 * Fails: INVALID_ARGUMENT, WRONG_STATE (closed), UNSUPPORTED (a text of 2 GiB or more),
 * AFTER_FORK, or the first unreported error of the writer threads.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_save_custom(smd_hook *hook, const char *tensor, const smd_tensor_view *view,
                                  const smd_strings *collections) SMD_NOEXCEPT;

/* Saves one number as the tensor "scalar/<name>" with the next step that saves
 * anything, at the latest when the hook is closed.  `view` holds one element.
 * `timestamp` is in seconds since 1970; 0 means now.
 *
 * Fails: INVALID_ARGUMENT, WRONG_STATE (closed), AFTER_FORK.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_save_scalar(smd_hook *hook, const char *name, const smd_tensor_view *view,
                                  double timestamp) SMD_NOEXCEPT;

/* ---- collections and facts ----------------------------------------------- */

/* Returns the hook's collection of that name.  The handle shares it with the hook:
 * changes take effect with the next step.
 *
 * Fails: INVALID_ARGUMENT, NOT_FOUND, AFTER_FORK.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_collection(smd_hook *hook, const char *name,
                                 smd_collection **out) SMD_NOEXCEPT;

/* As smd_hook_collection(), but creates a missing collection, empty.
 *
 * Fails: INVALID_ARGUMENT, AFTER_FORK.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_ensure_collection(smd_hook *hook, const char *name,
                                        smd_collection **out) SMD_NOEXCEPT;

/* Adds a collection, shared with the hook, or replaces the one of the same name.
 *
 * Fails: INVALID_ARGUMENT, AFTER_FORK.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_add_collection(smd_hook *hook, smd_collection *collection) SMD_NOEXCEPT;

/* Returns the names of all collections of the hook, in the order they were made.
 *
 * Fails: INVALID_ARGUMENT, AFTER_FORK.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_collections(const smd_hook *hook, smd_strings **out) SMD_NOEXCEPT;

/* Writes all queued steps and the collections file now, instead of after the first
 * saved step.
 *
 * Fails: INVALID_ARGUMENT, WRONG_STATE (closed), TIMEOUT (close_seconds),
 * AFTER_FORK, IO, PERMISSION, or the first unreported error of the writer threads.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_export_collections(smd_hook *hook) SMD_NOEXCEPT;

/* Returns 1 if this process writes: it is included, holds the claim on out_dir, and is
 * no dry run.
 * Thread: any.   Since: 1.0 */
SMD_API int32_t smd_hook_is_recording(const smd_hook *hook) SMD_NOEXCEPT;

/* Returns a count since the hook was made: "steps_written", "steps_dropped" (the queue
 * was full), "steps_failed" (an error), "tensors_written", "bytes_written", "bytes_queued" (now),
 * or "selections"; -1 for an unknown name.  While a step is open, what smd_hook_wants() answers is
 * the same as in an earlier one with the same number of selections: answers for many tensors need
 * not be asked for again.
 * Thread: any.   Since: 1.0 */
SMD_API int64_t smd_hook_count(const smd_hook *hook, const char *name) SMD_NOEXCEPT;

/* ---- rules in the training process ---------------------------------------- */

/* Attaches a rule set: from the next step on, its rules evaluate every step of the job as it ends,
 * or those that the set's save config selects, whatever is saved.  smd_hook_wants() then also
 * returns 1 for the tensors that the rules want.  Replaces the set attached before; its findings
 * can still be taken.  Attaching the same set again changes nothing.
 *
 * Fails: INVALID_ARGUMENT (also for a set with a caller's function, which reads a trial),
 * WRONG_STATE (a step is open, or the set belongs to a trial or another hook), AFTER_FORK.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_attach(smd_hook *hook, smd_rule_set *set) SMD_NOEXCEPT;

/* Returns the most severe action that the findings of the last evaluated step recommend; CONTINUE
 * without findings.  A step is evaluated as it ends, or later if it expects late tensors.
 * Thread: any.   Since: 1.0 */
SMD_API smd_action smd_hook_action(const smd_hook *hook) SMD_NOEXCEPT;

/* Returns the findings since the last call, up to the newest 10,000.
 *
 * Fails: INVALID_ARGUMENT, AFTER_FORK.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_take_findings(smd_hook *hook, smd_findings **out) SMD_NOEXCEPT;

SMD_END_DECLS

/* Example: records one step.
 *
 *   smd_error *record_loss(smd_hook *hook, double loss) {
 *     smd_tensor_view view = SMD_TENSOR_VIEW_INIT;
 *     view.data = &loss;
 *     view.dtype = SMD_FLOAT64;
 *     smd_error *error = smd_hook_set_mode(hook, SMD_MODE_TRAIN);
 *     if (!error) error = smd_hook_begin_step(hook, NULL);
 *     if (!error) error = smd_hook_save(hook, "loss", &view);
 *     if (!error) return smd_hook_end_step(hook);
 *     smd_error_free(smd_hook_discard_step(hook));
 *     return error;
 *   } */

#endif /* SMDEBUG_HOOK_H */
