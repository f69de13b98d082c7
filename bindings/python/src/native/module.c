/* The module and its functions: recording, reading, and results of the library as Python
 * objects.  No other file calls this one. */
#include "native.h"

/* ---- errors and lists -------------------------------------------------------- */

/* check(error): raises the error, if there is one, and frees it */
static PyObject *Check(PyObject *Py_UNUSED(module), PyObject *error) {
  smd_error *pointer;
  if (error == Py_None) Py_RETURN_NONE;
  pointer = SmdNativePointer(error, SMD_NATIVE_ERROR);
  return pointer == NULL ? NULL : SmdNativeRaise(pointer);
}

/* take_text(text) -> str; frees it */
static PyObject *TakeText(PyObject *Py_UNUSED(module), PyObject *handle) {
  smd_text *text = SmdNativePointer(handle, SMD_NATIVE_TEXT);
  PyObject *result;
  if (text == NULL) return NULL;
  result = PyUnicode_DecodeUTF8(smd_text_data(text), (Py_ssize_t)smd_text_size(text), "replace");
  smd_text_free(text);
  return result;
}

/* take_bytes(text) -> bytes; frees it */
static PyObject *TakeBytes(PyObject *Py_UNUSED(module), PyObject *handle) {
  smd_text *text = SmdNativePointer(handle, SMD_NATIVE_TEXT);
  PyObject *result;
  if (text == NULL) return NULL;
  result = PyBytes_FromStringAndSize(smd_text_data(text), (Py_ssize_t)smd_text_size(text));
  smd_text_free(text);
  return result;
}

/* take_strings(strings) -> list[str]; frees them */
static PyObject *TakeStrings(PyObject *Py_UNUSED(module), PyObject *handle) {
  smd_strings *strings = SmdNativePointer(handle, SMD_NATIVE_STRINGS);
  return strings == NULL ? NULL : SmdNativeList(strings);
}

/* take_integers(integers) -> list[int]; frees them */
static PyObject *TakeIntegers(PyObject *Py_UNUSED(module), PyObject *handle) {
  smd_integers *integers = SmdNativePointer(handle, SMD_NATIVE_INTEGERS);
  PyObject *list;
  const int64_t *data;
  size_t count;
  if (integers == NULL) return NULL;
  data = smd_integers_data(integers);
  count = smd_integers_count(integers);
  list = PyList_New((Py_ssize_t)count);
  for (size_t i = 0; list != NULL && i < count; ++i) {
    PyObject *number = PyLong_FromLongLong(data[i]);
    if (number == NULL || PyList_SetItem(list, (Py_ssize_t)i, number) < 0) Py_CLEAR(list);
  }
  smd_integers_free(integers);
  return list;
}

/* take_value(value) -> Value; takes ownership of the value */
static PyObject *TakeValue(PyObject *Py_UNUSED(module), PyObject *handle) {
  smd_value *value = SmdNativePointer(handle, SMD_NATIVE_VALUE);
  return value == NULL ? NULL : SmdValueNew(value, 0);
}

/* take_array(value) -> ndarray; takes ownership of the value */
static PyObject *TakeArray(PyObject *Py_UNUSED(module), PyObject *handle) {
  smd_value *value = SmdNativePointer(handle, SMD_NATIVE_VALUE);
  return value == NULL ? NULL : SmdValueToArray(value, 0);
}

/* ---- recording ---------------------------------------------------------------- */

/* wants(hook, name) -> bool */
static PyObject *Wants(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
  smd_hook *hook =
      SmdNativeHasCount("wants", count, 2) ? SmdNativePointer(args[0], SMD_NATIVE_HOOK) : NULL;
  const char *name = hook == NULL ? NULL : SmdNativeName(args[1]);
  return name == NULL ? NULL : PyBool_FromLong(smd_hook_wants(hook, name));
}

/* save(hook, name, value) -> True, or False if the value is neither a buffer nor a number */
static PyObject *Save(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
  SmdLoan loan;
  smd_hook *hook;
  const char *name;
  smd_error *error;
  int lent;
  hook = SmdNativeHasCount("save", count, 3) ? SmdNativePointer(args[0], SMD_NATIVE_HOOK) : NULL;
  if (hook == NULL) return NULL;
  name = SmdNativeName(args[1]);
  if (name == NULL) return NULL;
  lent = SmdLoanBegin(&loan, args[2], SMD_DTYPE_INVALID);
  if (lent < 0) return NULL;
  if (lent == 0) Py_RETURN_FALSE;
  if (loan.buffer.obj != NULL && loan.buffer.len >= SMD_NATIVE_RELEASE_BYTES) {
    Py_BEGIN_ALLOW_THREADS
    error = smd_hook_save(hook, name, &loan.view);
    Py_END_ALLOW_THREADS
  } else {
    error = smd_hook_save(hook, name, &loan.view);
  }
  SmdLoanEnd(&loan);
  if (error != NULL) return SmdNativeRaise(error);
  Py_RETURN_TRUE;
}

/* save_dlpack(hook, name, capsule): saves the tensor in the capsule */
static PyObject *SaveDlpack(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
  smd_tensor_view view = SMD_TENSOR_VIEW_INIT;
  int64_t dims[2 * SMD_MAX_RANK];
  smd_hook *hook;
  const char *name;
  smd_error *error;
  hook = SmdNativeHasCount("save_dlpack", count, 3) ? SmdNativePointer(args[0], SMD_NATIVE_HOOK)
                                                    : NULL;
  if (hook == NULL) return NULL;
  name = SmdNativeName(args[1]);
  if (name == NULL || SmdDlpackView(args[2], &view, dims) < 0) return NULL;
  error = SmdNativeSave(hook, name, &view);
  if (error != NULL) return SmdNativeRaise(error);
  Py_RETURN_NONE;
}

/* ---- reading ------------------------------------------------------------------- */

typedef struct {
  smd_tensor *tensor;
  int64_t step;
  smd_mode mode;
  const char *worker; /* NULL: the first worker that has the tensor */
} Place;

/* Parses (tensor, step, mode, worker).  Returns -1 with an exception set. */
static int ParsePlace(PyObject *const *args, Place *place) {
  if (SmdNativeStep(args[1], &place->step) < 0) return -1;
  place->mode = SmdNativeMode(args[2]);
  if (place->mode < 0) return -1;
  place->worker = args[3] == Py_None ? NULL : SmdNativeName(args[3]);
  if (place->worker == NULL && args[3] != Py_None) return -1;
  place->tensor = SmdNativePointer(args[0], SMD_NATIVE_TENSOR);
  return place->tensor == NULL ? -1 : 0;
}

static smd_value *ReadAt(PyObject *const *args) {
  Place place;
  smd_value *value = NULL;
  smd_error *error;
  if (ParsePlace(args, &place) < 0) return NULL;
  Py_BEGIN_ALLOW_THREADS
  error = smd_tensor_value(place.tensor, place.step, place.mode, place.worker, &value);
  Py_END_ALLOW_THREADS
  if (error != NULL) SmdNativeRaise(error);
  return value;
}

/* read_array(tensor, step, mode, worker) -> ndarray */
static PyObject *ReadArray(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
  smd_value *value = SmdNativeHasCount("read_array", count, 4) ? ReadAt(args) : NULL;
  return value == NULL ? NULL : SmdValueToArray(value, 0);
}

/* read_value(tensor, step, mode, worker) -> Value */
static PyObject *ReadValue(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
  smd_value *value = SmdNativeHasCount("read_value", count, 4) ? ReadAt(args) : NULL;
  return value == NULL ? NULL : SmdValueNew(value, 0);
}

/* read_reduction(tensor, step, mode, worker, name, absolute) -> ndarray */
static PyObject *ReadReduction(PyObject *Py_UNUSED(module), PyObject *const *args,
                               Py_ssize_t count) {
  Place place;
  const char *name;
  smd_value *value = NULL;
  smd_error *error;
  int absolute;
  if (!SmdNativeHasCount("read_reduction", count, 6) || ParsePlace(args, &place) < 0) return NULL;
  name = SmdNativeName(args[4]);
  if (name == NULL) return NULL;
  absolute = PyObject_IsTrue(args[5]);
  if (absolute < 0) return NULL;
  Py_BEGIN_ALLOW_THREADS
  error = smd_tensor_reduction(place.tensor, place.step, place.mode, place.worker, name, absolute,
                               &value);
  Py_END_ALLOW_THREADS
  return error != NULL ? SmdNativeRaise(error) : SmdValueToArray(value, 0);
}

/* ---- module --------------------------------------------------------------------- */

static PyMethodDef functions[] = {
    {"configure", SmdConfigure, METH_VARARGS, NULL},
    {"check", Check, METH_O, NULL},
    {"take_text", TakeText, METH_O, NULL},
    {"take_bytes", TakeBytes, METH_O, NULL},
    {"take_strings", TakeStrings, METH_O, NULL},
    {"take_integers", TakeIntegers, METH_O, NULL},
    {"take_value", TakeValue, METH_O, NULL},
    {"take_array", TakeArray, METH_O, NULL},
    {"lend", SMD_NATIVE_FAST(SmdLend), NULL},
    {"lend_text", SmdLendText, METH_VARARGS, NULL},
    {"lend_dlpack", SmdLendDlpack, METH_O, NULL},
    {"wants", SMD_NATIVE_FAST(Wants), NULL},
    {"save", SMD_NATIVE_FAST(Save), NULL},
    {"save_dlpack", SMD_NATIVE_FAST(SaveDlpack), NULL},
    {"save_statistics", SmdSaveStatistics, METH_VARARGS, NULL},
    {"expect", SMD_NATIVE_FAST(SmdExpect), NULL},
    {"save_late", SMD_NATIVE_FAST(SmdSaveLate), NULL},
    {"save_late_dlpack", SMD_NATIVE_FAST(SmdSaveLateDlpack), NULL},
    {"save_late_statistics", SmdSaveLateStatistics, METH_VARARGS, NULL},
    {"save_late_rows", SMD_NATIVE_FAST(SmdSaveLateRows), NULL},
    {"forgo", SMD_NATIVE_FAST(SmdForgo), NULL},
    {"set_placement", SmdSetPlacement, METH_VARARGS, NULL},
    {"read_placement", SmdReadPlacement, METH_VARARGS, NULL},
    {"scan_schema", SmdScanSchema, METH_O, NULL},
    {"scan_columns", SmdScanColumns, METH_O, NULL},
    {"scan_stream", SmdScanStream, METH_O, NULL},
    {"scan_partitions", SmdScanPartitions, METH_O, NULL},
    {"column_texts", SmdColumnTexts, METH_O, NULL},
    {"column_wholes", SmdColumnWholes, METH_O, NULL},
    {"column_objects", SmdColumnObjects, METH_VARARGS, NULL},
    {"column_find", SmdColumnFind, METH_VARARGS, NULL},
    {"time_texts", SmdTimeTexts, METH_O, NULL},
    {"saver", SmdSaver, METH_VARARGS, NULL},
    {"profiler_now", SmdProfilerNow, METH_O, NULL},
    {"profiler_step", SMD_NATIVE_FAST(SmdProfilerStep), NULL},
    {"profiler_event", SMD_NATIVE_FAST(SmdProfilerEvent), NULL},
    {"take_number", SMD_NATIVE_FAST(SmdTakeNumber), NULL},
    {"modules_hold", SMD_NATIVE_FAST(SmdModulesHold), NULL},
    {"take_findings", SmdTakeFindings, METH_O, NULL},
    {"rule_results", SmdRuleResults, METH_O, NULL},
    {"diagnose", SmdDiagnose, METH_O, NULL},
    {"diagnosis_seen", SmdDiagnosisSeen, METH_O, NULL},
    {"builtin_rules", SmdBuiltinRules, METH_NOARGS, NULL},
    {"profile_findings", SmdProfileFindings, METH_O, NULL},
    {"profile_results", SmdProfileResults, METH_O, NULL},
    {"profile_phases", SmdProfilePhases, METH_O, NULL},
    {"profile_rules", SmdProfileRules, METH_NOARGS, NULL},
    {"evaluate", SmdEvaluate, METH_VARARGS, NULL},
    {"add_function", SmdAddFunction, METH_VARARGS, NULL},
    {"flush_log", SmdFlushLog, METH_NOARGS, NULL},
    {"stop_log", SmdStopLog, METH_O, NULL},
    {"read_array", SMD_NATIVE_FAST(ReadArray), NULL},
    {"read_value", SMD_NATIVE_FAST(ReadValue), NULL},
    {"read_reduction", SMD_NATIVE_FAST(ReadReduction), NULL},
    {"read_values", SMD_NATIVE_FAST(SmdReadValues), NULL},
    {"read_reductions", SMD_NATIVE_FAST(SmdReadReductions), NULL},
    {NULL, NULL, 0, NULL},
};

int SmdNativeInit(PyObject *module) {
  /* The module's shared state, such as the exceptions, belongs to one interpreter. */
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
    PyErr_SetString(PyExc_ImportError,
                    "smdebug cannot be imported in a subinterpreter; use it in the main one, or "
                    "in a process of its own");
    return -1;
  }
  SmdSharedInit();
  if (SmdViewInit(module) < 0 || SmdSaverInit(module) < 0 || SmdValueInit(module) < 0) return -1;
  return PyModule_AddFunctions(module, functions);
}
