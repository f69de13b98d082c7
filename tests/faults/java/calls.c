/* The functions of fault_failing_calls for FailingCalls.java. */
#include <jni.h>

#include "failing_calls.h"

JNIEXPORT void JNICALL Java_FailingCalls_arm(JNIEnv *env, jclass type, jint group, jlong number,
                                             jint error, jboolean on) {
  (void)env;
  (void)type;
  fault_arm((enum fault_group)group, number, error, on);
}

JNIEXPORT jlong JNICALL Java_FailingCalls_disarm(JNIEnv *env, jclass type) {
  (void)env;
  (void)type;
  return fault_disarm();
}

JNIEXPORT jlong JNICALL Java_FailingCalls_allocations(JNIEnv *env, jclass type) {
  (void)env;
  (void)type;
  return fault_allocations();
}
