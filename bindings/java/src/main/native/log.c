/* Passes log lines from any thread of the library to Java. */
#include <stdlib.h>
#include <string.h>

#include "native.h"

/* Options.OF_HOOK and Options.OF_PROFILER. */
enum { kOfHook = 1, kOfProfiler = 2 };

typedef struct {
  JavaVM *vm;
  jobject receiver;
  jmethodID method;
} Log;

/* Returns the thread's environment, and attaches the thread if necessary.  Returns NULL if the
 * JVM accepts no more threads. */
static JNIEnv *Attach(JavaVM *vm, int *is_attached) {
  JNIEnv *env = NULL;
  *is_attached = 0;
  if ((*vm)->GetEnv(vm, (void **)&env, JNI_VERSION_1_8) == JNI_OK) return env;
  if ((*vm)->AttachCurrentThreadAsDaemon(vm, (void **)&env, NULL) != JNI_OK) return NULL;
  *is_attached = 1;
  return env;
}

static void TakeLine(void *user_data, smd_log_level level, const char *message) {
  const Log *log = user_data;
  int is_attached;
  JNIEnv *env = Attach(log->vm, &is_attached);
  jbyteArray bytes;
  if (env == NULL) return;
  bytes = SmdJavaBytes(env, message, strlen(message));
  if (bytes != NULL) {
    (*env)->CallVoidMethod(env, log->receiver, log->method, (jint)level, bytes);
    (*env)->DeleteLocalRef(env, bytes);
  }
  /* The receiver catches exceptions of the user's function, so this can only be
   * OutOfMemoryError. */
  if ((*env)->ExceptionCheck(env)) (*env)->ExceptionClear(env);
  if (is_attached) (*log->vm)->DetachCurrentThread(log->vm);
}

static void Destroy(void *user_data) {
  Log *log = user_data;
  int is_attached;
  JNIEnv *env = Attach(log->vm, &is_attached);
  if (env != NULL) (*env)->DeleteGlobalRef(env, log->receiver);
  if (is_attached) (*log->vm)->DetachCurrentThread(log->vm);
  free(log);
}

JNIEXPORT void JNICALL Java_org_smdebug_raw_Native_setLog(JNIEnv *env, jclass type, jlong options,
                                                          jint kind, jint level, jobject receiver) {
  Log *log = calloc(1, sizeof *log);
  jclass class = (*env)->GetObjectClass(env, receiver);
  smd_error *error;
  (void)type;
  if (log != NULL && (*env)->GetJavaVM(env, &log->vm) == JNI_OK) {
    log->receiver = (*env)->NewGlobalRef(env, receiver);
    log->method = (*env)->GetMethodID(env, class, "log", "(I[B)V");
  }
  if (log == NULL || log->receiver == NULL || log->method == NULL) {
    free(log);
    if (!(*env)->ExceptionCheck(env)) SmdJavaThrowNoMemory(env);
    return;
  }
  if (kind == kOfHook) {
    error = smd_hook_options_set_log((smd_hook_options *)(intptr_t)options, level, TakeLine, log,
                                     Destroy);
  } else if (kind == kOfProfiler) {
    error = smd_profiler_options_set_log((smd_profiler_options *)(intptr_t)options, level, TakeLine,
                                         log, Destroy);
  } else {
    error = smd_trial_options_set_log((smd_trial_options *)(intptr_t)options, level, TakeLine, log,
                                      Destroy);
  }
  if (error != NULL) SmdJavaThrow(env, error);
}
