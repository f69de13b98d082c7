/* When to save (save config), and what to save of a tensor (reduction config). */
#ifndef SMDEBUG_CONFIG_H
#define SMDEBUG_CONFIG_H

#include "smdebug/export.h"
#include "smdebug/types.h"

SMD_BEGIN_DECLS

/* ---- save config: per mode, which mode steps are saved ------------------- */

/* Makes a save config without settings.  A mode without settings uses those of the
 * config it is merged with, or else the defaults: every 500th step from 0, without
 * end.
 *
 * Fails: INVALID_ARGUMENT.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_save_config_new(smd_save_config **out) SMD_NOEXCEPT;

/* Sets `mode` (SMD_MODE_ANY: every mode).  A mode step s is saved if `steps`
 * contains it, or if first <= s < end and s % every == 0.
 * `every` >= 1; `first` >= 0; `end` is -1 for no end; if `end` <= `first`, only `steps`
 * are saved.  `steps` holds `step_count` numbers >= 0 and may be NULL if that is 0.
 *
 * Fails: INVALID_ARGUMENT, INVALID_CONFIG.
 * Thread: one.   Since: 1.0 */
SMD_FALLIBLE smd_save_config_set(smd_save_config *config, smd_mode mode, int64_t every,
                                 int64_t first, int64_t end, const int64_t *steps,
                                 size_t step_count) SMD_NOEXCEPT;

/* Returns 1 if the mode has settings of its own.
 * Thread: any.   Since: 1.0 */
SMD_API int32_t smd_save_config_is_set(const smd_save_config *config, smd_mode mode) SMD_NOEXCEPT;

/* Returns the settings by which smd_save_config_saves() decides, as
 * smd_save_config_set() takes them: those of the mode, or the defaults if it has none.
 * `mode` is not SMD_MODE_ANY.
 *
 * Fails: INVALID_ARGUMENT.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_save_config_get(const smd_save_config *config, smd_mode mode, int64_t *every_out,
                                 int64_t *first_out, int64_t *end_out,
                                 smd_integers **steps_out) SMD_NOEXCEPT;

/* Returns 1 if mode step `step` of `mode` is saved.
 * Thread: any.   Since: 1.0 */
SMD_API int32_t smd_save_config_saves(const smd_save_config *config, int64_t step,
                                      smd_mode mode) SMD_NOEXCEPT;

/* Copies from `defaults` the settings of each mode that has none in `config`.
 *
 * Fails: INVALID_ARGUMENT.
 * Thread: one.   Since: 1.0 */
SMD_FALLIBLE smd_save_config_merge(smd_save_config *config,
                                   const smd_save_config *defaults) SMD_NOEXCEPT;

/* Returns 1 if both have the same settings for the same modes.
 * Thread: any.   Since: 1.0 */
SMD_API int32_t smd_save_config_equal(const smd_save_config *a,
                                      const smd_save_config *b) SMD_NOEXCEPT;

/* Writes the JSON of collection files: {"TRAIN": {"save_interval": 2,
 * "save_steps": [], "start_step": 0, "end_step": null}, "EVAL": null, ...}.
 *
 * Fails: INVALID_ARGUMENT.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_save_config_to_json(const smd_save_config *config, smd_text **out) SMD_NOEXCEPT;

/* Reads that JSON.  A missing key takes its default.
 *
 * Fails: INVALID_ARGUMENT, INVALID_CONFIG.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_save_config_from_json(const char *json, smd_save_config **out) SMD_NOEXCEPT;

/* Frees a save config.  NULL is allowed.
 * Thread: any.   Since: 1.0 */
SMD_API void smd_save_config_free(smd_save_config *config) SMD_NOEXCEPT;

/* ---- reduction config: what is saved of a tensor ------------------------- */

/* Makes a reduction config that saves nothing: no reductions, no values, no shapes.
 *
 * Fails: INVALID_ARGUMENT.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_reduction_config_new(smd_reduction_config **out) SMD_NOEXCEPT;

/* Adds reductions from a comma-separated list of min, max, median, mean, std,
 * variance, sum, prod, l1, l2 (or l1_norm, l2_norm), each also as abs_<name>.
 *
 * Fails: INVALID_ARGUMENT, INVALID_CONFIG.
 * Thread: one.   Since: 1.0 */
SMD_FALLIBLE smd_reduction_config_add(smd_reduction_config *config,
                                      const char *reductions) SMD_NOEXCEPT;

/* Sets whether the tensor itself is saved.
 *
 * Fails: INVALID_ARGUMENT.
 * Thread: one.   Since: 1.0 */
SMD_FALLIBLE smd_reduction_config_set_raw(smd_reduction_config *config, int32_t on) SMD_NOEXCEPT;

/* Sets whether the shape of the tensor is saved.
 *
 * Fails: INVALID_ARGUMENT.
 * Thread: one.   Since: 1.0 */
SMD_FALLIBLE smd_reduction_config_set_shape(smd_reduction_config *config, int32_t on) SMD_NOEXCEPT;

/* Returns 1 if the tensor itself is saved.
 * Thread: any.   Since: 1.0 */
SMD_API int32_t smd_reduction_config_raw(const smd_reduction_config *config) SMD_NOEXCEPT;

/* Returns 1 if the shape of the tensor is saved.
 * Thread: any.   Since: 1.0 */
SMD_API int32_t smd_reduction_config_shape(const smd_reduction_config *config) SMD_NOEXCEPT;

/* Returns the reductions in the order they were added: "min", "abs_mean", "l1_norm".
 *
 * Fails: INVALID_ARGUMENT.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_reduction_config_reductions(const smd_reduction_config *config,
                                             smd_strings **out) SMD_NOEXCEPT;

/* Returns 1 if both save the same, in whatever order it was added.
 * Thread: any.   Since: 1.0 */
SMD_API int32_t smd_reduction_config_equal(const smd_reduction_config *a,
                                           const smd_reduction_config *b) SMD_NOEXCEPT;

/* Writes the JSON of collection files: {"save_raw_tensor": false, "reductions":
 * "min,abs_l1_norm", "save_shape": false}.  Medians, which the original's reader
 * does not know, are under "extra_reductions".
 *
 * Fails: INVALID_ARGUMENT.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_reduction_config_to_json(const smd_reduction_config *config,
                                          smd_text **out) SMD_NOEXCEPT;

/* Reads that JSON.  The two switches may also be the strings "true" and "false".
 *
 * Fails: INVALID_ARGUMENT, INVALID_CONFIG.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_reduction_config_from_json(const char *json,
                                            smd_reduction_config **out) SMD_NOEXCEPT;

/* Frees a reduction config.  NULL is allowed.
 * Thread: any.   Since: 1.0 */
SMD_API void smd_reduction_config_free(smd_reduction_config *config) SMD_NOEXCEPT;

SMD_END_DECLS

/* Example: saves every 10th step of the training, the mean and the range of each tensor.
 *
 *   smd_error *save_little(smd_hook_options *options) {
 *     smd_save_config *when = NULL;
 *     smd_reduction_config *what = NULL;
 *     smd_error *error = smd_save_config_new(&when);
 *     if (!error) error = smd_save_config_set(when, SMD_MODE_TRAIN, 10, 0, -1, NULL, 0);
 *     if (!error) error = smd_hook_options_set_save_config(options, when);
 *     if (!error) error = smd_reduction_config_new(&what);
 *     if (!error) error = smd_reduction_config_add(what, "mean,min,max");
 *     if (!error) error = smd_hook_options_set_reduction_config(options, what);
 *     smd_save_config_free(when);
 *     smd_reduction_config_free(what);
 *     return error;
 *   } */

#endif /* SMDEBUG_CONFIG_H */
