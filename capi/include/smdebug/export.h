/* Marks for visibility, noexcept and must-use on the public functions. */
#ifndef SMDEBUG_EXPORT_H
#define SMDEBUG_EXPORT_H

#include <stddef.h>
#include <stdint.h>

#if defined(SWIG)
#define SMD_API
#else
#define SMD_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
#define SMD_NOEXCEPT noexcept
#define SMD_BEGIN_DECLS extern "C" {
#define SMD_END_DECLS }
#else
#define SMD_NOEXCEPT
#define SMD_BEGIN_DECLS
#define SMD_END_DECLS
#endif

#if defined(SWIG)
#define SMD_MUST_USE
#else
#define SMD_MUST_USE __attribute__((warn_unused_result))
#endif

/* A function that can fail returns an error, or NULL for success. */
#define SMD_FALLIBLE SMD_API SMD_MUST_USE struct smd_error *

/* Example: a function that a program makes of others, with the same promise to its callers.
 *
 *   SMD_MUST_USE smd_error *open_quietly(const char *path, smd_trial **out) {
 *     smd_trial_options *options;
 *     smd_error *error = smd_trial_options_new(&options);
 *     if (error == NULL) error = smd_trial_options_set(options, "wait_seconds", "0");
 *     if (error == NULL) error = smd_trial_open(path, options, out);
 *     smd_trial_options_free(options);
 *     return error;
 *   } */

#endif /* SMDEBUG_EXPORT_H */
