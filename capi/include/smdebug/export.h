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

#endif /* SMDEBUG_EXPORT_H */
