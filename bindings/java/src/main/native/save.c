/* Saves Java arrays and buffers into a hook. */
#include <stdlib.h>
#include <string.h>

#include "native.h"

/* Tensors of at least this size are owned by the library instead of copied. */
enum { kOwnedBytes = 16 * 1024, kShortName = 256 };

/* The target of a tensor; org.smdebug.TensorSink has the same numbers. */
enum { kIntoStep = 0, kIntoCollections = 1, kAsScalar = 2, kIntoLateStep = 3 };

typedef struct {
  smd_hook *hook;
  int target;
  const smd_strings *collections;
  int64_t step; /* for kIntoLateStep: the step that expects the tensor */
  const char *name;
  smd_tensor_view view;
  int64_t shape[SMD_MAX_RANK];
  char short_name[kShortName];
  char *long_name;
} Saving;

/* The caller checked that `name` ends in a NUL and that the rank is small enough. */
static int Begin(Saving *saving, JNIEnv *env, jlong hook, jint target, jlong collections,
                 jbyteArray name, jint dtype, jlongArray shape) {
  const smd_tensor_view empty = SMD_TENSOR_VIEW_INIT;
  const jsize name_size = (*env)->GetArrayLength(env, name);
  saving->hook = (smd_hook *)(intptr_t)hook;
  saving->target = target;
  saving->collections = target == kIntoLateStep ? NULL : (const smd_strings *)(intptr_t)collections;
  saving->step = collections;
  saving->view = empty;
  saving->view.dtype = dtype;
  saving->view.ndim = (*env)->GetArrayLength(env, shape);
  saving->view.shape = saving->shape;
  (*env)->GetLongArrayRegion(env, shape, 0, saving->view.ndim, (jlong *)saving->shape);
  saving->long_name = NULL;
  if (name_size < kShortName) {
    (*env)->GetByteArrayRegion(env, name, 0, name_size, (jbyte *)saving->short_name);
    saving->short_name[name_size] = '\0';
    saving->name = saving->short_name;
    return 1;
  }
  saving->long_name = SmdJavaText(env, name);
  saving->name = saving->long_name;
  return saving->long_name != NULL;
}

static void End(Saving *saving, JNIEnv *env, smd_error *error) {
  free(saving->long_name);
  if (error != NULL) SmdJavaThrow(env, error);
}

static smd_error *Save(const Saving *saving) {
  switch (saving->target) {
    case kIntoCollections:
      return smd_hook_save_custom(saving->hook, saving->name, &saving->view, saving->collections);
    case kIntoLateStep:
      return smd_hook_save_late(saving->hook, saving->name, saving->step, &saving->view);
    case kAsScalar: return smd_hook_save_scalar(saving->hook, saving->name, &saving->view, 0);
    default: return smd_hook_save(saving->hook, saving->name, &saving->view);
  }
}

/* Copies `count` elements of a Java array from `first` on. */
static void CopyRegion(JNIEnv *env, jarray array, char kind, jint first, jint count, void *into) {
  switch (kind) {
    case 'Z': (*env)->GetBooleanArrayRegion(env, array, first, count, into); break;
    case 'B': (*env)->GetByteArrayRegion(env, array, first, count, into); break;
    case 'S': (*env)->GetShortArrayRegion(env, array, first, count, into); break;
    case 'I': (*env)->GetIntArrayRegion(env, array, first, count, into); break;
    case 'J': (*env)->GetLongArrayRegion(env, array, first, count, into); break;
    case 'F': (*env)->GetFloatArrayRegion(env, array, first, count, into); break;
    default: (*env)->GetDoubleArrayRegion(env, array, first, count, into); break;
  }
}

static size_t ElementBytes(char kind) {
  switch (kind) {
    case 'Z':
    case 'B': return 1;
    case 'S': return 2;
    case 'I':
    case 'F': return 4;
    default: return 8;
  }
}

static smd_error *SaveLarge(Saving *saving, JNIEnv *env, jarray array, char kind, jint first,
                            jint count) {
  smd_error *error;
  void *copy = malloc((size_t)count * ElementBytes(kind));
  if (copy == NULL) {
    SmdJavaThrowNoMemory(env);
    return NULL;
  }
  CopyRegion(env, array, kind, first, count, copy);
  saving->view.data = copy;
  if (saving->target == kIntoStep) {
    return smd_hook_save_owned(saving->hook, saving->name, &saving->view, free, copy);
  }
  error = Save(saving);
  free(copy);
  return error;
}

JNIEXPORT void JNICALL Java_org_smdebug_raw_Native_saveArray(JNIEnv *env, jclass type, jlong hook,
                                                             jint target, jlong collections,
                                                             jbyteArray name, jint dtype,
                                                             jlongArray shape, jarray array,
                                                             jchar kind, jint first, jint count,
                                                             jboolean is_step_open) {
  _Alignas(16) char small[kOwnedBytes];
  Saving saving;
  smd_error *error = NULL;
  (void)type;
  if (!Begin(&saving, env, hook, target, collections, name, dtype, shape)) return;
  if ((size_t)count * ElementBytes((char)kind) < sizeof(small)) {
    CopyRegion(env, array, (char)kind, first, count, small);
    saving.view.data = small;
    error = Save(&saving);
  } else if (target != kIntoStep || !is_step_open || smd_hook_wants(saving.hook, saving.name)) {
    error = SaveLarge(&saving, env, array, (char)kind, first, count);
  }
  End(&saving, env, error);
}

JNIEXPORT void JNICALL Java_org_smdebug_raw_Native_saveBuffer(JNIEnv *env, jclass type, jlong hook,
                                                              jint target, jlong collections,
                                                              jbyteArray name, jint dtype,
                                                              jlongArray shape, jobject buffer,
                                                              jlong first) {
  Saving saving;
  (void)type;
  if (!Begin(&saving, env, hook, target, collections, name, dtype, shape)) return;
  saving.view.data = (const char *)(*env)->GetDirectBufferAddress(env, buffer) + first;
  End(&saving, env, Save(&saving));
}

/* Returns pointers to the texts, followed by the texts; the caller frees them.  Returns NULL
 * with an exception set. */
static const char **Texts(JNIEnv *env, jobjectArray elements, jsize count, size_t bytes) {
  const size_t pointers = sizeof(char *) * (size_t)count;
  const char **texts = malloc(pointers + bytes + 1);
  char *next;
  jsize i;
  if (texts == NULL) {
    SmdJavaThrowNoMemory(env);
    return NULL;
  }
  next = (char *)texts + pointers;
  for (i = 0; i < count; ++i) {
    jbyteArray element = (*env)->GetObjectArrayElement(env, elements, i);
    const jsize size = (*env)->GetArrayLength(env, element);
    (*env)->GetByteArrayRegion(env, element, 0, size, (jbyte *)next);
    next[size] = '\0';
    texts[i] = next;
    next += size + 1;
    (*env)->DeleteLocalRef(env, element);
  }
  return texts;
}

JNIEXPORT void JNICALL Java_org_smdebug_raw_Native_saveStrings(JNIEnv *env, jclass type, jlong hook,
                                                               jint target, jlong collections,
                                                               jbyteArray name, jlongArray shape,
                                                               jobjectArray elements,
                                                               jlong total_bytes) {
  Saving saving;
  smd_error *error = NULL;
  const char **texts;
  (void)type;
  if (!Begin(&saving, env, hook, target, collections, name, SMD_STRING, shape)) return;
  texts = Texts(env, elements, (*env)->GetArrayLength(env, elements), (size_t)total_bytes);
  if (texts != NULL) {
    saving.view.data = texts;
    error = Save(&saving);
    free(texts);
  }
  End(&saving, env, error);
}
