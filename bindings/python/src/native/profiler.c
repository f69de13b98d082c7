/* Events of a timeline.  A call keeps the interpreter lock: it only copies the event, and giving
 * the lock away would cost more. */
#include "native.h"

/* profiler_now(profiler) -> microseconds since 1970 */
SMD_NATIVE_HOT PyObject *SmdProfilerNow(PyObject *Py_UNUSED(module), PyObject *object) {
  smd_profiler *profiler = SmdNativePointer(object, SMD_NATIVE_PROFILER);
  return profiler == NULL ? NULL : PyLong_FromLongLong(smd_profiler_now(profiler));
}

/* Reads a whole number; None is -1.  Returns -1 with an exception set. */
SMD_NATIVE_HOT static int Number(PyObject *object, int64_t *number) {
  *number = object == Py_None ? -1 : PyLong_AsLongLong(object);
  return *number == -1 && object != Py_None && PyErr_Occurred() != NULL ? -1 : 0;
}

/* profiler_step(profiler, step, phase, begin, ended) -> the microseconds since 1970, and 0 if the
 * profiler is off for this step, else 1, plus 2, 4, 8 if "detailed", "dataloader", "python" are
 * active.  Unless phase is None, first records the step `ended`, which lasted from begin until now.
 * One call for a step: after the operations of a training, each call finds little in the caches. */
SMD_NATIVE_HOT PyObject *SmdProfilerStep(PyObject *Py_UNUSED(module), PyObject *const *args,
                                         Py_ssize_t count) {
  static const char *const features[] = {"detailed", "dataloader", "python"};
  smd_profiler *profiler = SmdNativeHasCount("profiler_step", count, 5)
                               ? SmdNativePointer(args[0], SMD_NATIVE_PROFILER)
                               : NULL;
  int64_t step;
  int64_t now;
  long active = 0;
  if (profiler == NULL || SmdNativeStep(args[1], &step) < 0) return NULL;
  now = smd_profiler_now(profiler);
  if (args[2] != Py_None) {
    const char *phase = SmdNativeName(args[2]);
    int64_t begin;
    int64_t ended;
    smd_error *error;
    if (phase == NULL || Number(args[3], &begin) < 0 || Number(args[4], &ended) < 0) return NULL;
    error = smd_profiler_event(profiler, phase, phase, ended, begin, now - begin, NULL);
    if (error != NULL) return SmdNativeRaise(error);
  }
  /* A file that changed is read, and may open the profiler. */
  Py_BEGIN_ALLOW_THREADS
  if (smd_profiler_update(profiler)) active = 1;
  Py_END_ALLOW_THREADS
  for (int i = 0; i < 3 && active != 0; ++i) {
    const char *name = i == 1 ? "DataLoaderIter" : NULL;
    if (smd_profiler_is_active(profiler, features[i], step, name) == 1) active |= 2L << i;
  }
  return Py_BuildValue("Ll", (long long)now, active);
}

/* profiler_event(profiler, name, phase, begin, duration, step, args) -> the microseconds since 1970
 * at which it ends: step, args and duration may be None; without a duration that is now */
SMD_NATIVE_HOT PyObject *SmdProfilerEvent(PyObject *Py_UNUSED(module), PyObject *const *args,
                                          Py_ssize_t count) {
  smd_profiler *profiler;
  const char *name;
  const char *phase;
  const char *members = NULL;
  int64_t begin;
  int64_t duration;
  int64_t step;
  smd_error *error;
  if (!SmdNativeHasCount("profiler_event", count, 7)) return NULL;
  profiler = SmdNativePointer(args[0], SMD_NATIVE_PROFILER);
  name = profiler == NULL ? NULL : SmdNativeName(args[1]);
  phase = name == NULL ? NULL : SmdNativeName(args[2]);
  if (phase == NULL) return NULL;
  if (Number(args[3], &begin) < 0 || Number(args[4], &duration) < 0) return NULL;
  if (Number(args[5], &step) < 0) return NULL;
  if (args[6] != Py_None) members = SmdNativeName(args[6]);
  if (members == NULL && args[6] != Py_None) return NULL;
  if (args[4] == Py_None) {
    const int64_t passed = smd_profiler_now(profiler) - begin;
    duration = passed < 0 ? 0 : passed;
  }
  error = smd_profiler_event(profiler, name, phase, step, begin, duration, members);
  if (error != NULL) return SmdNativeRaise(error);
  return PyLong_FromLongLong((long long)((uint64_t)begin + (uint64_t)duration));
}
