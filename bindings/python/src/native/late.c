/* Late tensors. */
#include "native.h"

typedef struct {
  smd_hook *hook;
  const char *name;
  int64_t step;
} Late;

/* Parses (hook, name, step).  Returns -1 with an exception set. */
static int ParseLate(PyObject *const *args, Late *late) {
  late->hook = SmdNativePointer(args[0], SMD_NATIVE_HOOK);
  late->name = late->hook == NULL ? NULL : SmdNativeName(args[1]);
  return late->name == NULL ? -1 : SmdNativeStep(args[2], &late->step);
}

static PyObject *NoneOr(smd_error *error) {
  if (error != NULL) return SmdNativeRaise(error);
  Py_RETURN_NONE;
}

static smd_error *SaveView(const Late *late, const smd_tensor_view *view, int is_large) {
  smd_error *error;
  if (!is_large) return smd_hook_save_late(late->hook, late->name, late->step, view);
  Py_BEGIN_ALLOW_THREADS
  error = smd_hook_save_late(late->hook, late->name, late->step, view);
  Py_END_ALLOW_THREADS
  return error;
}

/* expect(hook, name) -> int */
PyObject *SmdExpect(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
  uint32_t parts = 0;
  smd_error *error;
  smd_hook *hook =
      SmdNativeHasCount("expect", count, 2) ? SmdNativePointer(args[0], SMD_NATIVE_HOOK) : NULL;
  const char *name = hook == NULL ? NULL : SmdNativeName(args[1]);
  if (name == NULL) return NULL;
  error = smd_hook_expect(hook, name, &parts);
  return error != NULL ? SmdNativeRaise(error) : PyLong_FromUnsignedLong(parts);
}

/* save_late(hook, name, step, value) -> True, or False if the value is neither a buffer nor a
 * number */
PyObject *SmdSaveLate(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
  SmdLoan loan;
  Late late;
  smd_error *error;
  int lent;
  if (!SmdNativeHasCount("save_late", count, 4) || ParseLate(args, &late) < 0) return NULL;
  lent = SmdLoanBegin(&loan, args[3], SMD_DTYPE_INVALID);
  if (lent < 0) return NULL;
  if (lent == 0) Py_RETURN_FALSE;
  error = SaveView(&late, &loan.view,
                   loan.buffer.obj != NULL && loan.buffer.len >= SMD_NATIVE_RELEASE_BYTES);
  SmdLoanEnd(&loan);
  if (error != NULL) return SmdNativeRaise(error);
  Py_RETURN_TRUE;
}

/* save_late_dlpack(hook, name, step, capsule): saves the tensor in the capsule */
PyObject *SmdSaveLateDlpack(PyObject *Py_UNUSED(module), PyObject *const *args,
                            Py_ssize_t count) {
  smd_tensor_view view = SMD_TENSOR_VIEW_INIT;
  int64_t dims[2 * SMD_MAX_RANK];
  Late late;
  if (!SmdNativeHasCount("save_late_dlpack", count, 4) || ParseLate(args, &late) < 0) return NULL;
  if (SmdDlpackView(args[3], &view, dims) < 0) return NULL;
  return NoneOr(SaveView(&late, &view, 1));
}

/* forgo(hook, name, step) */
PyObject *SmdForgo(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
  Late late;
  if (!SmdNativeHasCount("forgo", count, 3) || ParseLate(args, &late) < 0) return NULL;
  return NoneOr(smd_hook_forgo(late.hook, late.name, late.step));
}
