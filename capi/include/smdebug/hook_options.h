/* How a hook records. */
#ifndef SMDEBUG_HOOK_OPTIONS_H
#define SMDEBUG_HOOK_OPTIONS_H

#include "smdebug/config.h"
#include "smdebug/export.h"
#include "smdebug/log.h"
#include "smdebug/types.h"

SMD_BEGIN_DECLS

/* Makes options with the defaults below; `out_dir` must be set.
 *
 * Fails: INVALID_ARGUMENT.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_options_new(smd_hook_options **out) SMD_NOEXCEPT;

/* Sets one option by its name:
 *   out_dir             folder of the trial ("~" is the home folder), or
 *                       s3://bucket/prefix; required
 *   worker              this process's name ("worker_0")
 *   num_workers         how many processes record into out_dir ("1")
 *   include_workers     "one": only worker_0 records; "all" ("one")
 *   include_collections comma-separated names, saved beside the losses ("")
 *   save_all            "true": every tensor, in the collection "all" ("false")
 *   dry_run             "true": everything is decided, nothing written ("false")
 *   queue_bytes         bound of what waits for the disk ("268435456")
 *   queue_policy        when the queue is full: "block" up to block_seconds, then
 *                       drop the step; "drop"; "spill" to spill_dir ("block")
 *   block_seconds       ("5")
 *   spill_dir           folder for "spill", on another disk
 *   spill_bytes         bound of that folder ("1073741824")
 *   durability          "step": a step is on the disk (fsync) before it counts as
 *                       written; "none": the system writes it when it likes ("none")
 *   report_errors       of what went wrong in the background: "soon", by the next call
 *                       that can fail; "late", by smd_hook_flush(), _close() and
 *                       _export_collections() alone, so that no disk and no network
 *                       stops a training ("soon")
 *   builtin_collections "false": of the built-in collections (all, default, weights,
 *                       biases, gradients, losses) only all and default ("true")
 *   keep_output_numbers "true": saved reductions of "w:0" are of "w:0", as those of
 *                       TensorFlow, and not of "w" ("false")
 *   export_tensorboard  "true": scalars and histograms for TensorBoard too ("false")
 *   tensorboard_dir     folder for them, which alone asks for them too
 *                       ("<out_dir>/tensorboard")
 *   checkpoint_dir      folder of checkpoints; the step counts found in its
 *                       metadata.json are taken up again (from the file that
 *                       CHECKPOINT_CONFIG_FILE_PATH names)
 *   close_seconds       how long closing may wait for the disk ("30")
 *   s3_...              as smdebug/store.h lists them
 *
 * Fails: INVALID_ARGUMENT (unknown name; the message names the nearest),
 * INVALID_CONFIG (bad value).
 * Thread: one.   Since: 1.0 */
SMD_FALLIBLE smd_hook_options_set(smd_hook_options *options, const char *name,
                                  const char *value) SMD_NOEXCEPT;

/* Takes the settings of a configuration as the training service hands it to a job:
 * {"LocalPath", "HookParameters", "CollectionConfigurations"}, all keys as docs/configuration.md
 * lists them.  `path` is the file; if it is not given, SMDEBUG_CONFIG_FILE_PATH names
 * it, else it is /opt/ml/input/config/debughookconfig.json.  Without LocalPath, and if
 * no out_dir was set, that becomes /opt/ml/output/tensors.  A collection that was added
 * before is the one that the file's collection of its name adds to.
 *
 * Fails: INVALID_ARGUMENT, NOT_FOUND, INVALID_CONFIG (names the path, the key, and the
 * nearest known one; some settings may have been taken), IO, PERMISSION.
 * Thread: one.   Since: 1.0 */
SMD_FALLIBLE smd_hook_options_load(smd_hook_options *options, const char *path) SMD_NOEXCEPT;

/* One option as smd_hook_options_set() would take it; "" if it has no value.  What
 * belongs to a store (s3_...) is not given out.
 *
 * Fails: INVALID_ARGUMENT (unknown name; the message names the nearest).
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_options_get(const smd_hook_options *options, const char *name,
                                  smd_text **out) SMD_NOEXCEPT;

/* The expressions that smd_hook_options_include_regex() took or a file held.
 *
 * Fails: INVALID_ARGUMENT.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_options_regexes(const smd_hook_options *options,
                                      smd_strings **out) SMD_NOEXCEPT;

/* The names of the collections that were added or that a file held, in their order.
 *
 * Fails: INVALID_ARGUMENT.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_options_collections(const smd_hook_options *options,
                                          smd_strings **out) SMD_NOEXCEPT;

/* One of them, shared.
 *
 * Fails: INVALID_ARGUMENT, NOT_FOUND.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_options_collection(const smd_hook_options *options, const char *name,
                                         smd_collection **out) SMD_NOEXCEPT;

/* The save config as it is set (a copy).
 *
 * Fails: INVALID_ARGUMENT.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_options_save_config(const smd_hook_options *options,
                                          smd_save_config **out) SMD_NOEXCEPT;

/* The reduction config as it is set (a copy).
 *
 * Fails: INVALID_ARGUMENT.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_hook_options_reduction_config(const smd_hook_options *options,
                                               smd_reduction_config **out) SMD_NOEXCEPT;

/* Includes the tensors whose names match, in the collection "default".
 *
 * Fails: INVALID_ARGUMENT, INVALID_CONFIG.
 * Thread: one.   Since: 1.0 */
SMD_FALLIBLE smd_hook_options_include_regex(smd_hook_options *options,
                                            const char *regex) SMD_NOEXCEPT;

/* The save config of collections that have none of their own (a copy).
 *
 * Fails: INVALID_ARGUMENT.
 * Thread: one.   Since: 1.0 */
SMD_FALLIBLE smd_hook_options_set_save_config(smd_hook_options *options,
                                              const smd_save_config *config) SMD_NOEXCEPT;

/* The reduction config of collections that have none of their own (a copy).
 * Without it tensors are saved raw.
 *
 * Fails: INVALID_ARGUMENT.
 * Thread: one.   Since: 1.0 */
SMD_FALLIBLE smd_hook_options_set_reduction_config(smd_hook_options *options,
                                                   const smd_reduction_config *config) SMD_NOEXCEPT;

/* Adds a collection, or takes the place of the built-in one of its name.  The
 * hook shares it with `collection`: later changes through either are seen.
 *
 * Fails: INVALID_ARGUMENT.
 * Thread: one.   Since: 1.0 */
SMD_FALLIBLE smd_hook_options_add_collection(smd_hook_options *options,
                                             smd_collection *collection) SMD_NOEXCEPT;

/* Sends log lines of the hook to `log`.  `destroy`, if not NULL, is called once
 * with `user_data`, when the options and the hook are gone or if this fails.
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

#endif /* SMDEBUG_HOOK_OPTIONS_H */
