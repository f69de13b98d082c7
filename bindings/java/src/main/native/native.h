/* Shared by the generated wrapper and the functions written by hand. */
#ifndef SMDEBUG_JAVA_NATIVE_H
#define SMDEBUG_JAVA_NATIVE_H

#include <jni.h>
#include <stddef.h>
#include <stdint.h>

#include "smdebug.h"

/* Throws the exception that stands for `error`, and frees that. */
void SmdJavaThrow(JNIEnv *env, smd_error *error);

/* Throws OutOfMemoryError. */
void SmdJavaThrowNoMemory(JNIEnv *env);

/* A copy of the bytes with a NUL behind them, to be freed.  NULL for null, or with
 * OutOfMemoryError thrown. */
char *SmdJavaText(JNIEnv *env, jbyteArray bytes);

/* A copy of the numbers, to be freed.  NULL with OutOfMemoryError thrown. */
int64_t *SmdJavaNumbers(JNIEnv *env, jlongArray numbers);

/* A new byte[]; NULL with OutOfMemoryError thrown. */
jbyteArray SmdJavaBytes(JNIEnv *env, const char *bytes, size_t count);

#endif
