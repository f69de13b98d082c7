/* Saves statistics that Java has computed. */
#include <stdlib.h>

#include "native.h"

enum { kFigures = 14, kCounts = 3 };

/* `figures` in the order of their bits. */
static void SetFigures(smd_statistics *to, const double *figures) {
  double *const each[kFigures] = {&to->min,     &to->max,        &to->median,   &to->mean,
                                  &to->variance, &to->sum,       &to->prod,     &to->l1,
                                  &to->l2,      &to->abs_min,    &to->abs_max,  &to->abs_median,
                                  &to->abs_mean, &to->abs_variance};
  int i;
  for (i = 0; i < kFigures; ++i) *each[i] = figures[i];
}

static smd_error *Save(jlong hook, jboolean is_late, jlong step, const char *name,
                       const smd_statistics *statistics) {
  smd_hook *into = (smd_hook *)(intptr_t)hook;
  if (!is_late) return smd_hook_save_statistics(into, name, statistics);
  return smd_hook_save_late_statistics(into, name, step, statistics);
}

/* The caller checked the sizes of the arrays; `sample` may be null. */
JNIEXPORT void JNICALL Java_org_smdebug_raw_Native_saveStatistics(
    JNIEnv *env, jclass type, jlong hook, jboolean is_late, jlong step, jbyteArray name,
    jint dtype, jlongArray shape, jint given, jdoubleArray figures, jlongArray counts,
    jbyteArray sample, jlong sample_count) {
  smd_statistics statistics = SMD_STATISTICS_INIT;
  int64_t dims[SMD_MAX_RANK];
  int64_t numbers[kCounts];
  double values[kFigures];
  char *text = SmdJavaText(env, name);
  char *elements = sample == NULL ? NULL : SmdJavaText(env, sample);
  smd_error *error = NULL;
  (void)type;
  if (text != NULL && (sample == NULL || elements != NULL)) {
    statistics.ndim = (*env)->GetArrayLength(env, shape);
    (*env)->GetLongArrayRegion(env, shape, 0, statistics.ndim, (jlong *)dims);
    (*env)->GetLongArrayRegion(env, counts, 0, kCounts, (jlong *)numbers);
    (*env)->GetDoubleArrayRegion(env, figures, 0, kFigures, values);
    statistics.shape = dims;
    statistics.dtype = dtype;
    statistics.sample = elements;
    statistics.sample_count = sample_count;
    statistics.given = (uint32_t)given;
    statistics.nan_count = numbers[0];
    statistics.inf_count = numbers[1];
    statistics.zero_count = numbers[2];
    SetFigures(&statistics, values);
    error = Save(hook, is_late, step, text, &statistics);
  }
  free(elements);
  free(text);
  if (error != NULL) SmdJavaThrow(env, error);
}
