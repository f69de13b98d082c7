#include "native.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static jclass errors_class;
static jmethodID errors_from;

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM *vm, void *reserved) {
  JNIEnv *env;
  jclass found;
  (void)reserved;
  if ((*vm)->GetEnv(vm, (void **)&env, JNI_VERSION_1_8) != JNI_OK) return JNI_ERR;
  found = (*env)->FindClass(env, "org/smdebug/Errors");
  if (found == NULL) return JNI_ERR;
  errors_class = (*env)->NewGlobalRef(env, found);
  (*env)->DeleteLocalRef(env, found);
  if (errors_class == NULL) return JNI_ERR;
  errors_from = (*env)->GetStaticMethodID(env, errors_class, "from", "(J)Ljava/lang/Throwable;");
  return errors_from == NULL ? JNI_ERR : JNI_VERSION_1_8;
}

JNIEXPORT void JNICALL JNI_OnUnload(JavaVM *vm, void *reserved) {
  JNIEnv *env;
  (void)reserved;
  if ((*vm)->GetEnv(vm, (void **)&env, JNI_VERSION_1_8) != JNI_OK) return;
  (*env)->DeleteGlobalRef(env, errors_class);
}

void SmdJavaThrow(JNIEnv *env, smd_error *error) {
  jobject thrown =
      (*env)->CallStaticObjectMethod(env, errors_class, errors_from, (jlong)(intptr_t)error);
  if ((*env)->ExceptionCheck(env)) return;
  (*env)->Throw(env, (jthrowable)thrown);
  (*env)->DeleteLocalRef(env, thrown);
}

void SmdJavaThrowNoMemory(JNIEnv *env) {
  jclass kind = (*env)->FindClass(env, "java/lang/OutOfMemoryError");
  if (kind != NULL) (*env)->ThrowNew(env, kind, "no native memory left");
}

char *SmdJavaText(JNIEnv *env, jbyteArray bytes) {
  jsize count;
  char *text;
  if (bytes == NULL) return NULL;
  count = (*env)->GetArrayLength(env, bytes);
  text = malloc((size_t)count + 1);
  if (text == NULL) {
    SmdJavaThrowNoMemory(env);
    return NULL;
  }
  (*env)->GetByteArrayRegion(env, bytes, 0, count, (jbyte *)text);
  text[count] = '\0';
  return text;
}

int64_t *SmdJavaNumbers(JNIEnv *env, jlongArray numbers) {
  const jsize count = (*env)->GetArrayLength(env, numbers);
  int64_t *copy = malloc(sizeof(int64_t) * ((size_t)count + 1));
  if (copy == NULL) {
    SmdJavaThrowNoMemory(env);
    return NULL;
  }
  (*env)->GetLongArrayRegion(env, numbers, 0, count, (jlong *)copy);
  return copy;
}

jbyteArray SmdJavaBytes(JNIEnv *env, const char *bytes, size_t count) {
  jbyteArray made;
  if (count > INT_MAX) {
    SmdJavaThrowNoMemory(env);
    return NULL;
  }
  made = (*env)->NewByteArray(env, (jsize)count);
  if (made != NULL) {
    (*env)->SetByteArrayRegion(env, made, 0, (jsize)count, (const jbyte *)bytes);
  }
  return made;
}

/* ---- org.smdebug.raw.Native ---------------------------------------------- */

static jlongArray Numbers(JNIEnv *env, const int64_t *numbers, size_t count) {
  jlongArray made;
  if (count > INT_MAX) {
    SmdJavaThrowNoMemory(env);
    return NULL;
  }
  made = (*env)->NewLongArray(env, (jsize)count);
  if (made != NULL && count > 0) {
    (*env)->SetLongArrayRegion(env, made, 0, (jsize)count, (const jlong *)numbers);
  }
  return made;
}

JNIEXPORT jbyteArray JNICALL Java_org_smdebug_raw_Native_takeText(JNIEnv *env, jclass type,
                                                                  jlong handle) {
  smd_text *text = (smd_text *)(intptr_t)handle;
  jbyteArray made = SmdJavaBytes(env, smd_text_data(text), smd_text_size(text));
  (void)type;
  smd_text_free(text);
  return made;
}

JNIEXPORT jlongArray JNICALL Java_org_smdebug_raw_Native_takeIntegers(JNIEnv *env, jclass type,
                                                                      jlong handle) {
  smd_integers *integers = (smd_integers *)(intptr_t)handle;
  jlongArray made = Numbers(env, smd_integers_data(integers), smd_integers_count(integers));
  (void)type;
  smd_integers_free(integers);
  return made;
}

static jobjectArray ByteArrays(JNIEnv *env, const smd_strings *strings) {
  const size_t count = smd_strings_count(strings);
  jclass kind = (*env)->FindClass(env, "[B");
  jobjectArray made;
  size_t i;
  if (kind == NULL) return NULL;
  if (count > INT_MAX) {
    SmdJavaThrowNoMemory(env);
    return NULL;
  }
  made = (*env)->NewObjectArray(env, (jsize)count, kind, NULL);
  (*env)->DeleteLocalRef(env, kind);
  for (i = 0; made != NULL && i < count; ++i) {
    jbyteArray element =
        SmdJavaBytes(env, smd_strings_get(strings, i), smd_strings_size(strings, i));
    if (element == NULL) return NULL;
    (*env)->SetObjectArrayElement(env, made, (jsize)i, element);
    (*env)->DeleteLocalRef(env, element);
  }
  return made;
}

JNIEXPORT jobjectArray JNICALL Java_org_smdebug_raw_Native_takeStrings(JNIEnv *env, jclass type,
                                                                       jlong handle) {
  smd_strings *strings = (smd_strings *)(intptr_t)handle;
  jobjectArray made = ByteArrays(env, strings);
  (void)type;
  smd_strings_free(strings);
  return made;
}

JNIEXPORT jlongArray JNICALL Java_org_smdebug_raw_Native_valueShape(JNIEnv *env, jclass type,
                                                                    jlong handle) {
  const smd_value *value = (const smd_value *)(intptr_t)handle;
  (void)type;
  return Numbers(env, smd_value_shape(value), (size_t)smd_value_ndim(value));
}

JNIEXPORT jobject JNICALL Java_org_smdebug_raw_Native_valueBuffer(JNIEnv *env, jclass type,
                                                                  jlong handle, jlong first,
                                                                  jint count) {
  const char *data = smd_value_data((const smd_value *)(intptr_t)handle);
  (void)type;
  if (data == NULL) return NULL;
  /* Java returns it as a read-only view. */
  return (*env)->NewDirectByteBuffer(env, (void *)(uintptr_t)(data + first), count);
}
