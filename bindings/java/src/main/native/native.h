/* Shared by the generated wrapper and the functions written by hand. */
#ifndef SMDEBUG_JAVA_NATIVE_H
#define SMDEBUG_JAVA_NATIVE_H

#include <jni.h>
#include <stddef.h>
#include <stdint.h>

#include "smdebug.h"

/* Throws the exception for `error`, and frees the error. */
void SmdJavaThrow(JNIEnv *env, smd_error *error);

/* Throws OutOfMemoryError. */
void SmdJavaThrowNoMemory(JNIEnv *env);

/* Returns a copy of the bytes with a NUL after them; the caller frees it.  Returns NULL for
 * null, or if it has thrown OutOfMemoryError. */
char *SmdJavaText(JNIEnv *env, jbyteArray bytes);

/* Returns a copy of the numbers; the caller frees it.  Returns NULL if it has thrown
 * OutOfMemoryError. */
int64_t *SmdJavaNumbers(JNIEnv *env, jlongArray numbers);

/* Returns a new byte[], or NULL if it has thrown OutOfMemoryError. */
jbyteArray SmdJavaBytes(JNIEnv *env, const char *bytes, size_t count);

#endif
