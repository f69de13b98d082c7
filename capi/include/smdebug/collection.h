/* A collection: a named group of tensors, and how they are saved. */
#ifndef SMDEBUG_COLLECTION_H
#define SMDEBUG_COLLECTION_H

#include "smdebug/config.h"
#include "smdebug/export.h"
#include "smdebug/types.h"

SMD_BEGIN_DECLS

/* Makes an empty collection.
 *
 * Fails: INVALID_ARGUMENT (no name).
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_collection_new(const char *name, smd_collection **out) SMD_NOEXCEPT;

/* Returns the name; "" for NULL.  Borrowed.
 * Thread: any.   Since: 1.0 */
SMD_API const char *smd_collection_name(const smd_collection *collection) SMD_NOEXCEPT;

/* Includes the tensors whose names match the regular expression (as Python's
 * `re.search`).
 *
 * Fails: INVALID_ARGUMENT, INVALID_CONFIG (it does not compile; the message says
 * where), AFTER_FORK.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_collection_include_regex(smd_collection *collection,
                                          const char *regex) SMD_NOEXCEPT;

/* Includes one tensor by its name.
 *
 * Fails: INVALID_ARGUMENT, AFTER_FORK.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_collection_add_tensor(smd_collection *collection, const char *tensor) SMD_NOEXCEPT;

/* Excludes a tensor that was included by its name; no effect if it was not.
 *
 * Fails: INVALID_ARGUMENT, AFTER_FORK.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_collection_remove_tensor(smd_collection *collection,
                                          const char *tensor) SMD_NOEXCEPT;

/* Returns 1 if the collection includes the tensor, by name or by expression.
 * Thread: any.   Since: 1.0 */
SMD_API int32_t smd_collection_has(const smd_collection *collection,
                                   const char *tensor) SMD_NOEXCEPT;

/* Sets the collection's own save config (a copy); NULL removes it.
 *
 * Fails: INVALID_ARGUMENT, AFTER_FORK.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_collection_set_save_config(smd_collection *collection,
                                            const smd_save_config *config) SMD_NOEXCEPT;

/* Sets the collection's own reduction config (a copy); NULL removes it.
 *
 * Fails: INVALID_ARGUMENT, AFTER_FORK.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_collection_set_reduction_config(smd_collection *collection,
                                                 const smd_reduction_config *config) SMD_NOEXCEPT;

/* Sets whether TensorBoard histograms are written for its tensors (default 1).
 *
 * Fails: INVALID_ARGUMENT, AFTER_FORK.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_collection_set_save_histogram(smd_collection *collection, int32_t on) SMD_NOEXCEPT;

/* Returns 1 if TensorBoard histograms are written for its tensors.
 * Thread: any.   Since: 1.0 */
SMD_API int32_t smd_collection_save_histogram(const smd_collection *collection) SMD_NOEXCEPT;

/* Returns the regular expressions, in the order they were included.
 *
 * Fails: INVALID_ARGUMENT, AFTER_FORK.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_collection_regexes(const smd_collection *collection,
                                    smd_strings **out) SMD_NOEXCEPT;

/* Returns the names of tensors known to be in the collection, sorted.
 *
 * Fails: INVALID_ARGUMENT, AFTER_FORK.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_collection_tensors(const smd_collection *collection,
                                    smd_strings **out) SMD_NOEXCEPT;

/* Returns a copy of its own save config; *out is NULL if it has none.
 *
 * Fails: INVALID_ARGUMENT, AFTER_FORK.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_collection_save_config(const smd_collection *collection,
                                        smd_save_config **out) SMD_NOEXCEPT;

/* Returns a copy of its own reduction config; *out is NULL if it has none.
 *
 * Fails: INVALID_ARGUMENT, AFTER_FORK.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_collection_reduction_config(const smd_collection *collection,
                                             smd_reduction_config **out) SMD_NOEXCEPT;

/* Writes the JSON of collection files: {"name": ..., "include_regex": [...], ...}.
 *
 * Fails: INVALID_ARGUMENT, AFTER_FORK.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_collection_to_json(const smd_collection *collection, smd_text **out) SMD_NOEXCEPT;

/* Reads that JSON.  Keys other than "name" may be missing.
 *
 * Fails: INVALID_ARGUMENT, INVALID_CONFIG.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_collection_from_json(const char *json, smd_collection **out) SMD_NOEXCEPT;

/* Frees a handle on a collection.  NULL is allowed.
 * Thread: any.   Since: 1.0 */
SMD_API void smd_collection_free(smd_collection *collection) SMD_NOEXCEPT;

SMD_END_DECLS

/* Example: adds a collection of all outputs of layers.
 *
 *   smd_error *add_outputs(smd_hook_options *options) {
 *     smd_collection *outputs;
 *     smd_error *error = smd_collection_new("outputs", &outputs);
 *     if (!error) error = smd_collection_include_regex(outputs, "^output/");
 *     if (!error) error = smd_hook_options_add_collection(options, outputs);
 *     smd_collection_free(outputs);
 *     return error;
 *   } */

#endif /* SMDEBUG_COLLECTION_H */
