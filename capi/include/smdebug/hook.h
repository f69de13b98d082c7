/* Recording: a hook turns the tensors of a running job into a trial. */
#ifndef SMDEBUG_HOOK_H
#define SMDEBUG_HOOK_H

#include "smdebug/config.h"
#include "smdebug/export.h"
#include "smdebug/hook_options.h"
#include "smdebug/log.h"
#include "smdebug/tensor.h"
#include "smdebug/types.h"

SMD_BEGIN_DECLS

/* ---- life ---------------------------------------------------------------- */

/* Starts recording.  Nothing is written and no thread runs before the first
 * tensor.  If another process already records into out_dir (num_workers 1), or
 * this worker is not included, the hook takes every call and writes nothing.
 *
 * Fails: INVALID_ARGUMENT, INVALID_CONFIG, TRIAL_EXISTS (a finished trial lies in
 * out_dir), UNSUPPORTED, CORRUPT_DATA (checkpoint state), IO, PERMISSION.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_new(const smd_hook_options *options, smd_hook **out) SMD_NOEXCEPT;

/* Waits until every ended step is written (and durable, if so asked), at most
 * `timeout_ms` milliseconds; negative: without end.
 *
 * Fails: INVALID_ARGUMENT, WRONG_STATE (closed), TIMEOUT, AFTER_FORK, or the first
 * error of the background writer not yet reported.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_flush(smd_hook *hook, int32_t timeout_ms) SMD_NOEXCEPT;

/* Ends an open step, writes what waits, the collections file and the end marker.
 * A second call does nothing.
 *
 * Fails: INVALID_ARGUMENT, TIMEOUT (close_seconds; the rest is given up),
 * AFTER_FORK, or the first error of the background writer not yet reported.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_close(smd_hook *hook) SMD_NOEXCEPT;

/* Frees the hook.  One that was not closed finishes the steps that ended, but
 * writes no end marker: its trial looks like that of a job that was killed.
 * NULL is allowed.
 * Thread: any.   Since: 1.0 */
SMD_API void smd_hook_free(smd_hook *hook) SMD_NOEXCEPT;

/* ---- steps --------------------------------------------------------------- */

/* Says what the following steps are done for (GLOBAL at first).  An open step
 * keeps the mode it was begun in.
 *
 * Fails: INVALID_ARGUMENT, AFTER_FORK.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_set_mode(smd_hook *hook, smd_mode mode) SMD_NOEXCEPT;

/* The mode set last; SMD_MODE_GLOBAL for NULL.
 * Thread: any.   Since: 1.0 */
SMD_API smd_mode smd_hook_mode(const smd_hook *hook) SMD_NOEXCEPT;

/* Begins the next step of the current mode.  Counting starts at 0.  `global_step`
 * may be NULL.
 *
 * Fails: INVALID_ARGUMENT, INVALID_CONFIG (a collection of the caller's that has
 * neither expressions nor tensors), WRONG_STATE (a step is open, or closed),
 * AFTER_FORK.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_begin_step(smd_hook *hook, int64_t *global_step) SMD_NOEXCEPT;

/* Ends the step: what was saved becomes visible to readers as one piece, soon.
 *
 * Fails: INVALID_ARGUMENT, WRONG_STATE (no step open), AFTER_FORK, or the first
 * error of the background writer not yet reported; the step has ended all the same.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_end_step(smd_hook *hook) SMD_NOEXCEPT;

/* Makes the open step save these collections too, whatever their save configs say:
 * what is only known at an epoch's end.  Those that the hook never saves stay unsaved.
 *
 * Fails: INVALID_ARGUMENT, WRONG_STATE (no step open), AFTER_FORK.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_add_to_step(smd_hook *hook, const smd_strings *collections) SMD_NOEXCEPT;

/* The last step begun in `mode` (GLOBAL: of all), or -1 if there was none.
 * Thread: any.   Since: 1.0 */
SMD_API int64_t smd_hook_step(const smd_hook *hook, smd_mode mode) SMD_NOEXCEPT;

/* 1 if the open step saves this tensor, or a panel looks at it (smd_hook_watch): ask
 * before an expensive copy.  0 if no step is open.
 * Thread: any.   Since: 1.0 */
SMD_API int32_t smd_hook_wants(const smd_hook *hook, const char *tensor) SMD_NOEXCEPT;

/* 1 if the open step saves anything at all; 0 if no step is open.
 * Thread: any.   Since: 1.0 */
SMD_API int32_t smd_hook_saves_step(const smd_hook *hook) SMD_NOEXCEPT;

/* ---- tensors ------------------------------------------------------------- */

/* Saves a tensor for the open step, if some collection wants it.  Saving a name
 * again within a step makes the last one count.
 *
 * The memory behind `view` is only read during the call.  A tensor that nobody
 * wants costs one look-up and is no error.  When the queue is full, its policy
 * decides.
 *
 * Fails: INVALID_ARGUMENT, WRONG_STATE (no step open), UNSUPPORTED (2 GiB or
 * more), AFTER_FORK, or the first error of the background writer not yet reported.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_save(smd_hook *hook, const char *tensor,
                           const smd_tensor_view *view) SMD_NOEXCEPT;

/* The same without a copy: the memory behind a compact `view` is the library's
 * until `release(user_data)` is called, exactly once, from any thread, also when
 * this fails.
 *
 * Fails: as smd_hook_save().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_save_owned(smd_hook *hook, const char *tensor, const smd_tensor_view *view,
                                 smd_release_fn release, void *user_data) SMD_NOEXCEPT;

/* The same from a DLPack tensor in host memory.  Its deleter is called exactly
 * once, from any thread, also when this fails.
 *
 * Fails: as smd_hook_save(), and UNSUPPORTED (other devices or types).
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_save_dlpack(smd_hook *hook, const char *tensor,
                                  struct DLManagedTensorVersioned *dlpack) SMD_NOEXCEPT;

/* Saves a tensor into the named collections, made if missing, with the next step
 * that saves anything (at the latest with the last one); copied at once.  Raw, if the
 * reduction config of one of them saves raw tensors.  `collections` NULL or empty
 * means "default".
 *
 * Fails: as smd_hook_save(), but a step need not be open.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_save_custom(smd_hook *hook, const char *tensor, const smd_tensor_view *view,
                                  const smd_strings *collections) SMD_NOEXCEPT;

/* Saves one number as the tensor "scalar/<name>" with the next step that saves
 * anything (at the latest with the last one).  `view` holds one element.
 * `timestamp` is in seconds since 1970; 0: now.
 *
 * Fails: INVALID_ARGUMENT, WRONG_STATE (closed), AFTER_FORK.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_save_scalar(smd_hook *hook, const char *name, const smd_tensor_view *view,
                                  double timestamp) SMD_NOEXCEPT;

/* ---- collections and facts ----------------------------------------------- */

/* The hook's collection of that name, made if missing.  The handle shares it with
 * the hook: changes count from the next step on.
 *
 * Fails: INVALID_ARGUMENT.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_collection(smd_hook *hook, const char *name,
                                 smd_collection **out) SMD_NOEXCEPT;

/* Adds a collection, or takes the place of the one of its name; shared.
 *
 * Fails: INVALID_ARGUMENT.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_add_collection(smd_hook *hook, smd_collection *collection) SMD_NOEXCEPT;

/* The names of all collections the hook knows, in the order they were made.
 *
 * Fails: INVALID_ARGUMENT.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_collections(const smd_hook *hook, smd_strings **out) SMD_NOEXCEPT;

/* Writes the collections file now, instead of after the first saved step, and all
 * that waits before it.
 *
 * Fails: INVALID_ARGUMENT, WRONG_STATE (closed), TIMEOUT (close_seconds),
 * AFTER_FORK, IO, PERMISSION, or the first error of the background writer not yet
 * reported.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_export_collections(smd_hook *hook) SMD_NOEXCEPT;

/* 1 if this process writes: it is included, holds the claim, and is no dry run.
 * Thread: any.   Since: 1.0 */
SMD_API int32_t smd_hook_is_recording(const smd_hook *hook) SMD_NOEXCEPT;

/* A count since the hook was made, or -1 for an unknown name: "steps_written",
 * "steps_dropped", "steps_failed", "tensors_written", "bytes_written",
 * "bytes_queued" (now).
 * Thread: any.   Since: 1.0 */
SMD_API int64_t smd_hook_count(const smd_hook *hook, const char *name) SMD_NOEXCEPT;

SMD_END_DECLS

#endif /* SMDEBUG_HOOK_H */
