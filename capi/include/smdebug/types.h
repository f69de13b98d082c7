/* Handles, enumerations, and the small immutable lists. */
#ifndef SMDEBUG_TYPES_H
#define SMDEBUG_TYPES_H

#include "smdebug/export.h"

SMD_BEGIN_DECLS

/* The purpose of a step.  GLOBAL counts all steps of a job in one sequence. */
typedef int32_t smd_mode;
enum {
  SMD_MODE_ANY = 0, /* every mode, where a function accepts it */
  SMD_MODE_TRAIN = 1,
  SMD_MODE_EVAL = 2,
  SMD_MODE_PREDICT = 3,
  SMD_MODE_GLOBAL = 4
};

/* Element types.  Numbers never change and are never reused. */
typedef int32_t smd_dtype;
enum {
  SMD_DTYPE_INVALID = 0,
  SMD_FLOAT16 = 1,
  SMD_FLOAT32 = 2,
  SMD_FLOAT64 = 3,
  SMD_BFLOAT16 = 4,
  SMD_FLOAT8_E5M2 = 5,
  SMD_FLOAT8_E4M3FN = 6,
  SMD_INT8 = 10,
  SMD_INT16 = 11,
  SMD_INT32 = 12,
  SMD_INT64 = 13,
  SMD_UINT8 = 20,
  SMD_UINT16 = 21,
  SMD_UINT32 = 22,
  SMD_UINT64 = 23,
  SMD_BOOL = 30,
  SMD_COMPLEX64 = 40,
  SMD_COMPLEX128 = 41,
  SMD_STRING = 50
};

typedef int32_t smd_step_state;
enum { SMD_STEP_IS_UNAVAILABLE = 0, SMD_STEP_IS_AVAILABLE = 1, SMD_STEP_IS_NOT_YET = 2 };

typedef struct smd_error smd_error;
typedef struct smd_text smd_text;         /* an immutable text */
typedef struct smd_strings smd_strings;   /* a list of names */
typedef struct smd_integers smd_integers; /* an immutable list of integers */
typedef struct smd_save_config smd_save_config;
typedef struct smd_reduction_config smd_reduction_config;
typedef struct smd_collection smd_collection;
typedef struct smd_hook_options smd_hook_options;
typedef struct smd_hook smd_hook;
typedef struct smd_trial_options smd_trial_options;
typedef struct smd_trial smd_trial;
typedef struct smd_tensor smd_tensor;             /* a trial's tensor, by name */
typedef struct smd_value smd_value;               /* one tensor's elements at one step */
typedef struct smd_values smd_values;             /* a list of values at several steps */
typedef struct smd_rule_set smd_rule_set;         /* rules that evaluate one job together */
typedef struct smd_findings smd_findings;         /* a list of what rules found */
typedef struct smd_rule_results smd_rule_results; /* a list with a summary of each rule */
typedef struct smd_diagnosis smd_diagnosis;       /* a list of likely causes */

/* Called when the library no longer needs borrowed memory or user data. */
typedef void (*smd_release_fn)(void *user_data);

/* Returns "TRAIN", "EVAL", "PREDICT" or "GLOBAL"; "" for anything else.  Static text.
 * Thread: any.   Since: 1.0 */
SMD_API const char *smd_mode_name(smd_mode mode) SMD_NOEXCEPT;

/* Returns "float32", "bfloat16", "string", ...; "" for anything else.  Static text.
 * Thread: any.   Since: 1.0 */
SMD_API const char *smd_dtype_name(smd_dtype dtype) SMD_NOEXCEPT;

/* Returns the bytes of one element; 0 for SMD_STRING and unknown types.
 * Thread: any.   Since: 1.0 */
SMD_API size_t smd_dtype_size(smd_dtype dtype) SMD_NOEXCEPT;

/* Returns the text's bytes, followed by a NUL; "" for NULL.  Borrowed.
 * Thread: any.   Since: 1.0 */
SMD_API const char *smd_text_data(const smd_text *text) SMD_NOEXCEPT;

/* Returns the number of bytes, without the NUL; 0 for NULL.
 * Thread: any.   Since: 1.0 */
SMD_API size_t smd_text_size(const smd_text *text) SMD_NOEXCEPT;

/* Frees a text.  NULL is allowed.
 * Thread: any.   Since: 1.0 */
SMD_API void smd_text_free(smd_text *text) SMD_NOEXCEPT;

/* Makes an empty list, to pass to functions that take one.
 *
 * Fails: INVALID_ARGUMENT.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_strings_new(smd_strings **out) SMD_NOEXCEPT;

/* Appends a copy of `text`.
 *
 * Fails: INVALID_ARGUMENT.
 * Thread: one.   Since: 1.0 */
SMD_FALLIBLE smd_strings_add(smd_strings *list, const char *text) SMD_NOEXCEPT;

/* Returns the number of items; 0 for NULL.
 * Thread: any.   Since: 1.0 */
SMD_API size_t smd_strings_count(const smd_strings *list) SMD_NOEXCEPT;

/* Returns the text at `index`, or NULL past the end.  Borrowed.
 * Thread: any.   Since: 1.0 */
SMD_API const char *smd_strings_get(const smd_strings *list, size_t index) SMD_NOEXCEPT;

/* Returns the bytes of the text at `index` without its final NUL; 0 past the end.
 * An element of a string tensor may hold NULs.
 * Thread: any.   Since: 1.0 */
SMD_API size_t smd_strings_size(const smd_strings *list, size_t index) SMD_NOEXCEPT;

/* Frees a list.  NULL is allowed.
 * Thread: any.   Since: 1.0 */
SMD_API void smd_strings_free(smd_strings *list) SMD_NOEXCEPT;

/* Returns the number of items; 0 for NULL.
 * Thread: any.   Since: 1.0 */
SMD_API size_t smd_integers_count(const smd_integers *list) SMD_NOEXCEPT;

/* Returns all numbers, in order; NULL for an empty list.  Borrowed.
 * Thread: any.   Since: 1.0 */
SMD_API const int64_t *smd_integers_data(const smd_integers *list) SMD_NOEXCEPT;

/* Returns the number at `index`, or -1 past the end.
 * Thread: any.   Since: 1.0 */
SMD_API int64_t smd_integers_get(const smd_integers *list, size_t index) SMD_NOEXCEPT;

/* Frees a list.  NULL is allowed.
 * Thread: any.   Since: 1.0 */
SMD_API void smd_integers_free(smd_integers *list) SMD_NOEXCEPT;

SMD_END_DECLS

/* Example: prints a list, and frees it.
 *
 *   void print_and_free(smd_strings *names) {
 *     for (size_t i = 0; i < smd_strings_count(names); i++) puts(smd_strings_get(names, i));
 *     smd_strings_free(names);
 *   } */

#endif /* SMDEBUG_TYPES_H */
