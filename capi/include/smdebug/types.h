/* Handles, enumerations, and the small immutable lists. */
#ifndef SMDEBUG_TYPES_H
#define SMDEBUG_TYPES_H

#include "smdebug/export.h"

SMD_BEGIN_DECLS

/* What a step was done for.  GLOBAL numbers all steps of a job in one row. */
typedef int32_t smd_mode;
enum {
  SMD_MODE_ANY = 0, /* every mode, where a function says it takes this */
  SMD_MODE_TRAIN = 1,
  SMD_MODE_EVAL = 2,
  SMD_MODE_PREDICT = 3,
  SMD_MODE_GLOBAL = 4
};

/* Element types.  Numbers are never changed nor used again. */
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
typedef struct smd_text smd_text;       /* an immutable text */
typedef struct smd_strings smd_strings; /* a list of names */
typedef struct smd_steps smd_steps;     /* an immutable list of numbers */
typedef struct smd_save_config smd_save_config;
typedef struct smd_reduction_config smd_reduction_config;
typedef struct smd_collection smd_collection;
typedef struct smd_hook_options smd_hook_options;
typedef struct smd_hook smd_hook;
typedef struct smd_trial_options smd_trial_options;
typedef struct smd_trial smd_trial;
typedef struct smd_tensor smd_tensor; /* a trial's tensor, by name */
typedef struct smd_value smd_value;   /* one tensor's elements at one step */
typedef struct smd_rule smd_rule;
typedef struct smd_step_file smd_step_file;   /* one step's files, being written */
typedef struct smd_event_file smd_event_file; /* one event file, being read */
typedef struct smd_panel smd_panel;           /* built-in rules that look together */
typedef struct smd_verdicts smd_verdicts;     /* what rules say of a job */

/* Says that memory lent to the library, or user data, is no longer needed. */
typedef void (*smd_release_fn)(void *user_data);

/* "TRAIN", "EVAL", "PREDICT" or "GLOBAL"; "" for anything else.  Static text.
 * Thread: any.   Since: 1.0 */
SMD_API const char *smd_mode_name(smd_mode mode) SMD_NOEXCEPT;

/* "float32", "bfloat16", "string", ...; "" for anything else.  Static text.
 * Thread: any.   Since: 1.0 */
SMD_API const char *smd_dtype_name(smd_dtype dtype) SMD_NOEXCEPT;

/* Bytes of one element; 0 for SMD_STRING and for anything unknown.
 * Thread: any.   Since: 1.0 */
SMD_API size_t smd_dtype_size(smd_dtype dtype) SMD_NOEXCEPT;

/* The text's bytes, followed by a NUL; "" for NULL.  Borrowed.
 * Thread: any.   Since: 1.0 */
SMD_API const char *smd_text_data(const smd_text *text) SMD_NOEXCEPT;

/* The number of bytes, without the NUL.
 * Thread: any.   Since: 1.0 */
SMD_API size_t smd_text_size(const smd_text *text) SMD_NOEXCEPT;

/* Frees a text.  NULL is allowed.
 * Thread: any.   Since: 1.0 */
SMD_API void smd_text_free(smd_text *text) SMD_NOEXCEPT;

/* Makes an empty list, for functions that take one.
 *
 * Fails: INVALID_ARGUMENT.
 * Thread: any.   Since: 1.0 */
SMD_FALLIBLE smd_strings_new(smd_strings **out) SMD_NOEXCEPT;

/* Appends a copy of `text`.
 *
 * Fails: INVALID_ARGUMENT.
 * Thread: one.   Since: 1.0 */
SMD_FALLIBLE smd_strings_add(smd_strings *list, const char *text) SMD_NOEXCEPT;

/* How many there are; 0 for NULL.
 * Thread: any.   Since: 1.0 */
SMD_API size_t smd_strings_count(const smd_strings *list) SMD_NOEXCEPT;

/* The text at `index`, or NULL past the end.  Borrowed.
 * Thread: any.   Since: 1.0 */
SMD_API const char *smd_strings_get(const smd_strings *list, size_t index) SMD_NOEXCEPT;

/* Bytes of the text at `index` without its NUL (a string tensor's element may
 * hold NULs); 0 past the end.
 * Thread: any.   Since: 1.0 */
SMD_API size_t smd_strings_size(const smd_strings *list, size_t index) SMD_NOEXCEPT;

/* Frees a list.  NULL is allowed.
 * Thread: any.   Since: 1.0 */
SMD_API void smd_strings_free(smd_strings *list) SMD_NOEXCEPT;

/* How many there are; 0 for NULL.
 * Thread: any.   Since: 1.0 */
SMD_API size_t smd_steps_count(const smd_steps *list) SMD_NOEXCEPT;

/* All of them, in order; NULL where there are none.  Borrowed.
 * Thread: any.   Since: 1.0 */
SMD_API const int64_t *smd_steps_data(const smd_steps *list) SMD_NOEXCEPT;

/* The number at `index`, or -1 past the end.
 * Thread: any.   Since: 1.0 */
SMD_API int64_t smd_steps_get(const smd_steps *list, size_t index) SMD_NOEXCEPT;

/* Frees a list.  NULL is allowed.
 * Thread: any.   Since: 1.0 */
SMD_API void smd_steps_free(smd_steps *list) SMD_NOEXCEPT;

SMD_END_DECLS

#endif /* SMDEBUG_TYPES_H */
