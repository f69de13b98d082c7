/* The files of a trial one at a time, for tools that need less than a hook and
 * less than a trial: converters, checkers, tests. */
#ifndef SMDEBUG_FILES_H
#define SMDEBUG_FILES_H

#include "smdebug/config.h"
#include "smdebug/export.h"
#include "smdebug/tensor.h"
#include "smdebug/types.h"

SMD_BEGIN_DECLS

/* ---- writing one step's event file and index file ------------------------ */

/* Begins the files of one step and worker in the trial folder `out_dir`.  The
 * event file is made with the first tensor.
 *
 * Fails: INVALID_ARGUMENT, UNSUPPORTED, IO, PERMISSION.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_step_file_open(const char *out_dir, int64_t step, const char *worker,
                                smd_step_file **out) SMD_NOEXCEPT;

/* Appends a tensor.  The first one's mode and mode step are the file's.
 * `mode_step` -1 means the global step, `timestamp` 0 now.
 *
 * Fails: INVALID_ARGUMENT, WRONG_STATE (closed), UNSUPPORTED (2 GiB or more), IO,
 * NO_SPACE.
 * Thread: one.   Since: 1.0 */
SMD_FALLIBLE smd_step_file_add_tensor(smd_step_file *file, const char *tensor,
                                      const smd_tensor_view *view, smd_mode mode, int64_t mode_step,
                                      double timestamp) SMD_NOEXCEPT;

/* Appends a shape to the index.  `original_name` may be NULL.
 *
 * Fails: INVALID_ARGUMENT, WRONG_STATE (closed).
 * Thread: one.   Since: 1.0 */
SMD_FALLIBLE smd_step_file_add_shape(smd_step_file *file, const char *tensor, const int64_t *shape,
                                     int32_t ndim, smd_mode mode, int64_t mode_step,
                                     const char *original_name) SMD_NOEXCEPT;

/* Where the event file is, or will be.  Borrowed.
 * Thread: one.   Since: 1.0 */
SMD_API const char *smd_step_file_path(const smd_step_file *file) SMD_NOEXCEPT;

/* Gives the files their names, the index last.  A second call does nothing.
 *
 * Fails: INVALID_ARGUMENT, IO, NO_SPACE.
 * Thread: one.   Since: 1.0 */
SMD_FALLIBLE smd_step_file_close(smd_step_file *file) SMD_NOEXCEPT;

/* Frees the handle; files that were not closed are given up.  NULL is allowed.
 * Thread: any.   Since: 1.0 */
SMD_API void smd_step_file_free(smd_step_file *file) SMD_NOEXCEPT;

/* ---- reading one event file ---------------------------------------------- */

/* Opens an event file (the name ends in .tfevents) by its path.
 *
 * Fails: INVALID_ARGUMENT, NOT_FOUND, UNSUPPORTED, IO, PERMISSION.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_event_file_open(const char *path, smd_event_file **out) SMD_NOEXCEPT;

/* Moves to the next tensor; *found becomes 0 at the end of the file.  Events that
 * hold no tensor are passed over.
 *
 * Fails: INVALID_ARGUMENT, CORRUPT_DATA, IO.
 * Thread: one.   Since: 1.0 */
SMD_FALLIBLE smd_event_file_next(smd_event_file *file, int32_t *found) SMD_NOEXCEPT;

/* The current tensor's name; "" before the first.  Borrowed until the next move.
 * Thread: one.   Since: 1.0 */
SMD_API const char *smd_event_file_tensor(const smd_event_file *file) SMD_NOEXCEPT;

/* The current tensor's global step.
 * Thread: one.   Since: 1.0 */
SMD_API int64_t smd_event_file_step(const smd_event_file *file) SMD_NOEXCEPT;

/* The current tensor's mode.
 * Thread: one.   Since: 1.0 */
SMD_API smd_mode smd_event_file_mode(const smd_event_file *file) SMD_NOEXCEPT;

/* The current tensor's mode step.
 * Thread: one.   Since: 1.0 */
SMD_API int64_t smd_event_file_mode_step(const smd_event_file *file) SMD_NOEXCEPT;

/* When the current tensor was saved, in seconds since 1970.
 * Thread: one.   Since: 1.0 */
SMD_API double smd_event_file_timestamp(const smd_event_file *file) SMD_NOEXCEPT;

/* The current tensor's elements.
 *
 * Fails: INVALID_ARGUMENT, WRONG_STATE (there is no current tensor).
 * Thread: one.   Since: 1.0 */
SMD_FALLIBLE smd_event_file_value(const smd_event_file *file, smd_value **out) SMD_NOEXCEPT;

/* Frees the handle.  NULL is allowed.
 * Thread: any.   Since: 1.0 */
SMD_API void smd_event_file_free(smd_event_file *file) SMD_NOEXCEPT;

/* ---- collections files --------------------------------------------------- */

/* The text of a collections file: {"collections": {...}, "_meta": {"num_workers":
 * n}}.  `collections` points to `count` handles.
 *
 * Fails: INVALID_ARGUMENT.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_collections_to_json(const smd_collection *const *collections, size_t count,
                                     int32_t num_workers, smd_text **out) SMD_NOEXCEPT;

SMD_END_DECLS

#endif /* SMDEBUG_FILES_H */
