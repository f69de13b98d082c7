/* Rules of a rule set that are written in Java. */
#include <stdlib.h>

#include "native.h"

/* What RuleReceiver.invoke() returns for a step that lacks data; SMD_RULE_... and any other
 * negative number mean what they do in C. */
enum { kSkipped = -2 };

/* An evaluation.  A rule's function is called on the thread that evaluates, so the library keeps
 * no references to Java. */
typedef struct Evaluating {
  JNIEnv *env;
  jobject receiver;
  jmethodID invoke;
  jthrowable thrown; /* by the receiver, which should throw nothing; or NULL */
  struct Evaluating *outer;
} Evaluating;

/* The evaluation that this thread is inside. */
static _Thread_local Evaluating *current;

static int32_t Invoke(void *rule, smd_trial *trial, int64_t step, smd_findings *findings,
                      smd_error **error) {
  Evaluating *const evaluating = current;
  JNIEnv *env;
  jint answer;
  (void)trial;
  if (evaluating == NULL) return -1;
  env = evaluating->env;
  answer = (*env)->CallIntMethod(env, evaluating->receiver, evaluating->invoke,
                                 (jint)(intptr_t)rule, (jlong)step, (jlong)(intptr_t)findings);
  if ((*env)->ExceptionCheck(env)) {
    evaluating->thrown = (*env)->ExceptionOccurred(env);
    (*env)->ExceptionClear(env);
    return -1;
  }
  if (answer == kSkipped) {
    *error = smd_error_new(SMD_VALUE_UNAVAILABLE, "data that the rule needs is missing");
  }
  return answer;
}

JNIEXPORT void JNICALL Java_org_smdebug_raw_Native_addFunction(JNIEnv *env, jclass type, jlong set,
                                                               jbyteArray name, jint rule,
                                                               jint action) {
  smd_rule_ops ops = SMD_RULE_OPS_INIT;
  char *text = SmdJavaText(env, name);
  smd_error *error;
  (void)type;
  if (text == NULL) return;
  ops.invoke = Invoke;
  error = smd_rule_set_add_function((smd_rule_set *)(intptr_t)set, text, &ops,
                                    (void *)(intptr_t)rule, action);
  free(text);
  if (error != NULL) SmdJavaThrow(env, error);
}

JNIEXPORT void JNICALL Java_org_smdebug_raw_Native_evaluate(JNIEnv *env, jclass type, jlong set,
                                                            jlong trial, jlong first, jlong end,
                                                            jint flags, jobject receiver,
                                                            jlongArray out) {
  Evaluating evaluating = {env, receiver, NULL, NULL, current};
  jclass kind = (*env)->GetObjectClass(env, receiver);
  smd_findings *found = NULL;
  smd_error *error;
  jlong handle;
  (void)type;
  evaluating.invoke = (*env)->GetMethodID(env, kind, "invoke", "(IJJ)I");
  (*env)->DeleteLocalRef(env, kind);
  if (evaluating.invoke == NULL) return;
  current = &evaluating;
  error = smd_rule_set_evaluate((smd_rule_set *)(intptr_t)set, (smd_trial *)(intptr_t)trial, first,
                                end, (uint32_t)flags, &found);
  current = evaluating.outer;
  handle = (jlong)(intptr_t)found;
  (*env)->SetLongArrayRegion(env, out, 0, 1, &handle);
  if (evaluating.thrown != NULL) {
    smd_error_free(error);
    (*env)->Throw(env, evaluating.thrown);
  } else if (error != NULL) {
    SmdJavaThrow(env, error);
  }
}

JNIEXPORT void JNICALL Java_org_smdebug_raw_Native_addFinding(JNIEnv *env, jclass type,
                                                              jlong findings, jobjectArray texts,
                                                              jint action, jdouble value,
                                                              jdouble limit, jint level) {
  smd_finding finding = SMD_FINDING_INIT;
  const char **const fields[] = {&finding.check, &finding.tensor, &finding.worker,
                                 &finding.message};
  enum { kTexts = sizeof(fields) / sizeof(fields[0]) };
  char *copies[kTexts] = {NULL};
  smd_error *error = NULL;
  jsize i;
  (void)type;
  for (i = 0; i < kTexts && !(*env)->ExceptionCheck(env); ++i) {
    jbyteArray text = (*env)->GetObjectArrayElement(env, texts, i);
    copies[i] = SmdJavaText(env, text);
    *fields[i] = copies[i];
    (*env)->DeleteLocalRef(env, text);
  }
  if (!(*env)->ExceptionCheck(env)) {
    finding.action = action;
    finding.value = value;
    finding.limit = limit;
    finding.level = level;
    error = smd_findings_add((smd_findings *)(intptr_t)findings, &finding);
  }
  for (i = 0; i < kTexts; ++i) free(copies[i]);
  if (error != NULL) SmdJavaThrow(env, error);
}
