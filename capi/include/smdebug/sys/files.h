/* Second tier: single files of a trial, for converters, checkers and tests.  smdebug.h
 * does not include this header. */
#ifndef SMDEBUG_SYS_FILES_H
#define SMDEBUG_SYS_FILES_H

#include "smdebug/collection.h"
#include "smdebug/config.h"
#include "smdebug/export.h"
#include "smdebug/tensor.h"
#include "smdebug/types.h"

SMD_BEGIN_DECLS

typedef struct smd_step_file smd_step_file;   /* the files of one step, being written */
typedef struct smd_event_file smd_event_file; /* one event file, being read */

/* ---- writing one step's event file and index file ------------------------ */

/* Starts the files of one step and worker in the trial folder `out_dir`.  The first
 * tensor creates the event file.  `step` is from 0 to 2^63 - 2.
 *
 * Fails: INVALID_ARGUMENT, INVALID_CONFIG, UNSUPPORTED (the kind of path), IO, PERMISSION.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_step_file_open(const char *out_dir, int64_t step, const char *worker,
                                smd_step_file **out) SMD_NOEXCEPT;

/* Appends a tensor.  The first tensor sets the mode and mode step of the file.
 * `mode_step` -1 means the global step, `timestamp` 0 means now.
 *
 * Fails: INVALID_ARGUMENT, WRONG_STATE (closed), UNSUPPORTED (2 GiB or more),
 * AFTER_FORK, IO, PERMISSION, NO_SPACE.
 * Thread: one.   Since: 1.0 */
SMD_FALLIBLE smd_step_file_add_tensor(smd_step_file *file, const char *tensor,
                                      const smd_tensor_view *view, int64_t mode_step, smd_mode mode,
                                      double timestamp) SMD_NOEXCEPT;

/* Appends a shape to the index.  `original_name` may be NULL.
 *
 * Fails: INVALID_ARGUMENT, WRONG_STATE (closed), AFTER_FORK.
 * Thread: one.   Since: 1.0 */
SMD_FALLIBLE smd_step_file_add_shape(smd_step_file *file, const char *tensor, const int64_t *shape,
                                     int32_t ndim, int64_t mode_step, smd_mode mode,
                                     const char *original_name) SMD_NOEXCEPT;

/* Returns the path that the event file has once it is closed; "" for NULL.
 * Borrowed.
 * Thread: one.   Since: 1.0 */
SMD_API const char *smd_step_file_path(const smd_step_file *file) SMD_NOEXCEPT;

/* Publishes the files under their names, the index file last.  A second call does
 * nothing.
 *
 * Fails: INVALID_ARGUMENT, AFTER_FORK, IO, PERMISSION, NO_SPACE.
 * Thread: one.   Since: 1.0 */
SMD_FALLIBLE smd_step_file_close(smd_step_file *file) SMD_NOEXCEPT;

/* Frees the handle.  Removes the files if they were not closed.  NULL is allowed.
 * Thread: any.   Since: 1.0 */
SMD_API void smd_step_file_free(smd_step_file *file) SMD_NOEXCEPT;

/* ---- reading one event file ---------------------------------------------- */

/* Opens an event file by its path, which ends in .tfevents.
 *
 * Fails: INVALID_ARGUMENT, INVALID_CONFIG, NOT_FOUND, UNSUPPORTED (the kind of path), IO,
 * PERMISSION.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_event_file_open(const char *path, smd_event_file **out) SMD_NOEXCEPT;

/* Moves to the next tensor and returns 1, or 0 at the end of the file.  Skips events
 * without a tensor.
 *
 * Fails: INVALID_ARGUMENT, CORRUPT_DATA, AFTER_FORK, NOT_FOUND, IO,
 * PERMISSION.
 * Thread: one.   Since: 1.0 */
SMD_FALLIBLE smd_event_file_next(smd_event_file *file, int32_t *out) SMD_NOEXCEPT;

/* Returns the name of the current tensor, or "" if there is none.  Borrowed until the
 * next move.
 * Thread: one.   Since: 1.0 */
SMD_API const char *smd_event_file_tensor(const smd_event_file *file) SMD_NOEXCEPT;

/* Returns the global step of the current tensor, or -1 if there is none.
 * Thread: one.   Since: 1.0 */
SMD_API int64_t smd_event_file_step(const smd_event_file *file) SMD_NOEXCEPT;

/* Returns the mode of the current tensor, or GLOBAL if there is none.
 * Thread: one.   Since: 1.0 */
SMD_API smd_mode smd_event_file_mode(const smd_event_file *file) SMD_NOEXCEPT;

/* Returns the mode step of the current tensor, or -1 if there is none.
 * Thread: one.   Since: 1.0 */
SMD_API int64_t smd_event_file_mode_step(const smd_event_file *file) SMD_NOEXCEPT;

/* Returns when the current tensor was saved, in seconds since 1970, or 0 if there is
 * none.
 * Thread: one.   Since: 1.0 */
SMD_API double smd_event_file_timestamp(const smd_event_file *file) SMD_NOEXCEPT;

/* Returns the elements of the current tensor.
 *
 * Fails: INVALID_ARGUMENT, WRONG_STATE (there is no current tensor), AFTER_FORK.
 * Thread: one.   Since: 1.0 */
SMD_FALLIBLE smd_event_file_value(const smd_event_file *file, smd_value **out) SMD_NOEXCEPT;

/* Frees the handle.  NULL is allowed.
 * Thread: any.   Since: 1.0 */
SMD_API void smd_event_file_free(smd_event_file *file) SMD_NOEXCEPT;

/* ---- collections files --------------------------------------------------- */

/* Writes the JSON of a collections file: {"collections": {...}, "_meta":
 * {"num_workers": n}}.  `collections` points to `count` handles.
 *
 * Fails: INVALID_ARGUMENT, AFTER_FORK.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_collections_to_json(const smd_collection *const *collections, size_t count,
                                     int32_t num_workers, smd_text **out) SMD_NOEXCEPT;

SMD_END_DECLS

/* Example: prints what is in an event file.
 *
 *   smd_error *print_events(const char *path) {
 *     smd_event_file *file;
 *     int32_t found = 0;
 *     smd_error *error = smd_event_file_open(path, &file);
 *     if (!error) error = smd_event_file_next(file, &found);
 *     while (!error && found) {
 *       printf("%" PRId64 " %s\n", smd_event_file_step(file), smd_event_file_tensor(file));
 *       error = smd_event_file_next(file, &found);
 *     }
 *     smd_event_file_free(file);
 *     return error;
 *   } */

#endif /* SMDEBUG_SYS_FILES_H */
