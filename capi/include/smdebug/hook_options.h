/* Options for recording. */
#ifndef SMDEBUG_HOOK_OPTIONS_H
#define SMDEBUG_HOOK_OPTIONS_H

#include "smdebug/config.h"
#include "smdebug/export.h"
#include "smdebug/log.h"
#include "smdebug/types.h"

SMD_BEGIN_DECLS

/* Makes options with the defaults below.  `out_dir` must be set.
 *
 * Fails: INVALID_ARGUMENT.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_options_new(smd_hook_options **out) SMD_NOEXCEPT;

/* Sets one option by its name.  Defaults are in parentheses:
 *   out_dir             folder of the trial ("~" is the home folder), or
 *                       s3://bucket/prefix; required
 *   worker              name of this process ("worker_0")
 *   num_workers         how many processes record into out_dir ("1")
 *   include_workers     "one": only worker_0 records; "all" ("one")
 *   include_collections comma-separated names of collections to save besides the
 *                       losses ("")
 *   save_all            "true": save every tensor, in the collection "all" ("false")
 *   dry_run             "true": decide everything, write nothing ("false")
 *   queue_bytes         most bytes that wait to be written ("268435456")
 *   queue_policy        if the queue is full: "block" up to block_seconds, then
 *                       drop the step; "drop"; "spill" to spill_dir ("block")
 *   block_seconds       ("5")
 *   spill_dir           folder for "spill", on another disk
 *   spill_bytes         most bytes in that folder ("1073741824")
 *   durability          "step": a step counts as written once it is on the disk
 *                       (fsync); "none": once the system has it ("none")
 *   report_errors       which calls report errors of the writer threads: "soon", the
 *                       next call that can fail; "late", only smd_hook_flush(),
 *                       smd_hook_close() and smd_hook_export_collections(), so that
 *                       no disk or network stops a training ("soon")
 *   builtin_collections "false": only all and default of the built-in collections
 *                       (all, default, weights, biases, gradients, losses) ("true")
 *   keep_output_numbers "true": reductions of "w:0" are saved for "w:0", as
 *                       TensorFlow needs it, not for "w" ("false")
 *   row_files           "false": write no files in rows/; scans of the trial take
 *                       longer ("true")
 *   export_tensorboard  "true": also write scalars and histograms for TensorBoard
 *                       ("false")
 *   tensorboard_dir     folder for them; setting it also enables the export
 *                       ("<out_dir>/tensorboard")
 *   checkpoint_dir      folder of checkpoints; the hook resumes from the step counts
 *                       in its metadata.json (the folder in the file that
 *                       CHECKPOINT_CONFIG_FILE_PATH names)
 *   close_seconds       how long closing may wait for writes ("30")
 *   s3_...              see smdebug/store.h
 *
 * Fails: INVALID_ARGUMENT (unknown name; the message names the nearest),
 * INVALID_CONFIG (bad value).
 * Thread: one.   Since: 1.0 */
SMD_FALLIBLE smd_hook_options_set(smd_hook_options *options, const char *name,
                                  const char *value) SMD_NOEXCEPT;

/* Applies the configuration that the training service passes to a job: {"LocalPath",
 * "HookParameters", "CollectionConfigurations"} (docs/configuration.md).  If `path` is
 * not given, reads the file that SMDEBUG_CONFIG_FILE_PATH names, or else
 * /opt/ml/input/config/debughookconfig.json.  If neither LocalPath nor out_dir is set,
 * out_dir becomes /opt/ml/output/tensors.  A collection of the file extends one that
 * was added before under the same name.  Two entries for one collection are merged: both
 * add expressions, and the later settings count.  If this fails, some settings may have
 * been applied.
 *
 * A mistyped key must not stop a training: unknown keys and bad values are ignored, each
 * with a warning in the log that names the path, the key and the nearest known key.  Set
 * the log before loading.  If the environment variable SMDEBUG_STRICT_CONFIG is "1", this
 * fails instead, with a list of them.  `smdebug doctor --config FILE` lists them too.
 *
 * Fails: INVALID_ARGUMENT, NOT_FOUND, INVALID_CONFIG (the file is not a JSON object, or
 * SMDEBUG_STRICT_CONFIG is "1"), AFTER_FORK (a collection was added before a fork), IO,
 * PERMISSION.
 * Thread: one.   Since: 1.0 */
SMD_FALLIBLE smd_hook_options_load(smd_hook_options *options, const char *path) SMD_NOEXCEPT;

/* Returns one option as smd_hook_options_set() takes it; "" if it has no value.
 *
 * Fails: INVALID_ARGUMENT (an unknown name, or an option of a store, s3_...; the message
 * names the nearest).
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_options_get(const smd_hook_options *options, const char *name,
                                  smd_text **out) SMD_NOEXCEPT;

/* Returns the expressions from smd_hook_options_include_regex() and from files.
 *
 * Fails: INVALID_ARGUMENT.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_options_regexes(const smd_hook_options *options,
                                      smd_strings **out) SMD_NOEXCEPT;

/* Returns the names of the collections that were added or that a file held, in order.
 *
 * Fails: INVALID_ARGUMENT.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_options_collections(const smd_hook_options *options,
                                          smd_strings **out) SMD_NOEXCEPT;

/* Returns one of these collections, shared with the options.
 *
 * Fails: INVALID_ARGUMENT, NOT_FOUND.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_options_collection(const smd_hook_options *options, const char *name,
                                         smd_collection **out) SMD_NOEXCEPT;

/* Returns a copy of the save config.
 *
 * Fails: INVALID_ARGUMENT.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_options_save_config(const smd_hook_options *options,
                                          smd_save_config **out) SMD_NOEXCEPT;

/* Returns a copy of the reduction config.
 *
 * Fails: INVALID_ARGUMENT.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_options_reduction_config(const smd_hook_options *options,
                                               smd_reduction_config **out) SMD_NOEXCEPT;

/* Includes the tensors whose names match `regex` in the collection "default".
 *
 * Fails: INVALID_ARGUMENT, INVALID_CONFIG.
 * Thread: one.   Since: 1.0 */
SMD_FALLIBLE smd_hook_options_include_regex(smd_hook_options *options,
                                            const char *regex) SMD_NOEXCEPT;

/* Sets the save config of collections without one of their own (a copy).
 *
 * Fails: INVALID_ARGUMENT.
 * Thread: one.   Since: 1.0 */
SMD_FALLIBLE smd_hook_options_set_save_config(smd_hook_options *options,
                                              const smd_save_config *config) SMD_NOEXCEPT;

/* Sets the reduction config of collections without one of their own (a copy).  The
 * default saves values and no reductions.
 *
 * Fails: INVALID_ARGUMENT.
 * Thread: one.   Since: 1.0 */
SMD_FALLIBLE smd_hook_options_set_reduction_config(smd_hook_options *options,
                                                   const smd_reduction_config *config) SMD_NOEXCEPT;

/* Adds a collection, or replaces the built-in one of the same name.  The hook shares
 * it with `collection`: each sees the changes made through the other.
 *
 * Fails: INVALID_ARGUMENT, AFTER_FORK.
 * Thread: one.   Since: 1.0 */
SMD_FALLIBLE smd_hook_options_add_collection(smd_hook_options *options,
                                             smd_collection *collection) SMD_NOEXCEPT;

/* Sends the log lines of the hook to `log`.  `destroy`, if not NULL, is called once
 * with `user_data`: when the options and the hook are freed, or if this fails.
 *
 * Fails: INVALID_ARGUMENT.
 * Thread: one.   Since: 1.0 */
SMD_FALLIBLE smd_hook_options_set_log(smd_hook_options *options, smd_log_level level,
                                      smd_log_fn log, void *user_data,
                                      smd_release_fn destroy) SMD_NOEXCEPT;

/* Frees options.  NULL is allowed.
 * Thread: any.   Since: 1.0 */
SMD_API void smd_hook_options_free(smd_hook_options *options) SMD_NOEXCEPT;

SMD_END_DECLS

/* Example: opens a hook that records every tensor.
 *
 *   smd_error *open_hook(const char *folder, smd_hook **out) {
 *     smd_hook_options *options;
 *     smd_error *error = smd_hook_options_new(&options);
 *     if (!error) error = smd_hook_options_set(options, "out_dir", folder);
 *     if (!error) error = smd_hook_options_set(options, "save_all", "true");
 *     if (!error) error = smd_hook_new(options, out);
 *     smd_hook_options_free(options);
 *     return error;
 *   } */

#endif /* SMDEBUG_HOOK_OPTIONS_H */
