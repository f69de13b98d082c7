/* Reading a tensor at many steps in one call. */
#ifndef SMDEBUG_VALUES_H
#define SMDEBUG_VALUES_H

#include "smdebug/export.h"
#include "smdebug/types.h"

SMD_BEGIN_DECLS

/* Reads the elements at all steps, from `first` to before `end`, at which the tensor was
 * saved: those of smd_tensor_steps().  `end` may be INT64_MAX; `worker` may be NULL, as for
 * smd_tensor_value().  A step that cannot be read does not stop the others:
 * smd_values_get() fails for that step alone.
 *
 * Up to 8 threads read, the caller's among them; the others stop before the call returns.
 * From a bucket, many values are requested at once.  All values are in memory together:
 * read large tensors in several ranges.
 *
 * Scalars are read from the index files (docs/formats.md), unless the option index_numbers is
 * false: then damage of their event files is found too.
 *
 * Fails: as smd_trial_refresh(); also CANCELLED if smd_trial_cancel() is called meanwhile.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_tensor_values(smd_tensor *tensor, int64_t first, int64_t end, smd_mode mode,
                               const char *worker, smd_values **out) SMD_NOEXCEPT;

/* Reads a reduction at all these steps: the saved one, or else computed from the value.
 * `reduction` and `absolute` are as for smd_value_reduce().
 *
 * Fails: INVALID_ARGUMENT (unknown name), and as smd_tensor_values().
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_tensor_reduction_values(smd_tensor *tensor, int64_t first, int64_t end,
                                         smd_mode mode, const char *worker, const char *reduction,
                                         int32_t absolute, smd_values **out) SMD_NOEXCEPT;

/* Returns the number of steps; 0 for NULL.
 * Thread: any.   Since: 1.0 */
SMD_API size_t smd_values_count(const smd_values *values) SMD_NOEXCEPT;

/* Returns the step at `index`, or -1 past the end.  Steps ascend.
 * Thread: any.   Since: 1.0 */
SMD_API int64_t smd_values_step(const smd_values *values, size_t index) SMD_NOEXCEPT;

/* Returns the value of the step at `index`.  It shares its elements with the list, which may
 * be freed before it.  They are aligned to the size of one element.
 *
 * Fails: INVALID_ARGUMENT (past the end), and as smd_tensor_value() or
 * smd_tensor_reduction() at that step.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_values_get(const smd_values *values, size_t index, smd_value **out) SMD_NOEXCEPT;

/* Returns how many values from `index` on form one array in memory: they have the same dtype
 * and shape, and each begins where the one before ends.  smd_value_data() of the first is the
 * address of that array, which is valid as long as the first value.  Small values lie so.
 * Returns 1 for a value that stands alone, for text, and for a step that cannot be read; 0
 * past the end.
 * Thread: any.   Since: 1.0 */
SMD_API size_t smd_values_run(const smd_values *values, size_t index) SMD_NOEXCEPT;

/* Frees a list.  NULL is allowed.
 * Thread: any.   Since: 1.0 */
SMD_API void smd_values_free(smd_values *values) SMD_NOEXCEPT;

SMD_END_DECLS

/* Example: counts the steps of a tensor that can be read, at all of which it is read at once.
 *
 *   smd_error *count_readable(smd_tensor *tensor, size_t *count_out) {
 *     smd_values *values;
 *     *count_out = 0;
 *     smd_error *error = smd_tensor_values(tensor, 0, INT64_MAX, SMD_MODE_GLOBAL, NULL, &values);
 *     for (size_t i = 0; i < smd_values_count(values); i++) {
 *       smd_value *value;
 *       smd_error *unreadable = smd_values_get(values, i, &value);
 *       *count_out += unreadable == NULL;
 *       smd_error_free(unreadable);
 *       smd_value_free(value);
 *     }
 *     smd_values_free(values);
 *     return error;
 *   } */

#endif /* SMDEBUG_VALUES_H */
