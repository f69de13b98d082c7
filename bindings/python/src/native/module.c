/* The module's functions: recording, reading, and lists and errors as Python objects. */
#include <string.h>

#include "native.h"

/* Above this size a save copies for longer than other threads should wait for the
 * interpreter lock; below it, giving the lock away costs more than the save. */
static const Py_ssize_t kReleaseBytes = 64 * 1024;
static const int64_t kReleaseElements = 16 * 1024;

static PyObject *exception_from; /* raw error -> exception */
static PyObject *value_error;    /* classes for arguments that are refused here */
static PyObject *type_error;
static PyObject *mode_keys[4]; /* the ModeKeys members, by mode number - 1 */
static PyObject *dtype_for;    /* element type number -> numpy dtype */
static PyObject *dtypes[64];   /* what dtype_for returned */

static void Replace(PyObject **place, PyObject *object) {
  PyObject *old = *place;
  *place = Py_NewRef(object);
  Py_XDECREF(old);
}

/* configure(exception_from, value_error, type_error, modes, dtype_for) */
static PyObject *Configure(PyObject *Py_UNUSED(module), PyObject *args) {
  PyObject *from;
  PyObject *classes[2];
  PyObject *modes[4];
  PyObject *factory;
  if (!PyArg_ParseTuple(args, "OOO(OOOO)O:configure", &from, &classes[0], &classes[1], &modes[0],
                        &modes[1], &modes[2], &modes[3], &factory)) {
    return NULL;
  }
  Replace(&exception_from, from);
  Replace(&value_error, classes[0]);
  Replace(&type_error, classes[1]);
  Replace(&dtype_for, factory);
  for (int i = 0; i < 4; ++i) Replace(&mode_keys[i], modes[i]);
  Py_RETURN_NONE;
}

PyObject *SmdNativeException(smd_error *error) {
  PyObject *handle = SmdNativeWrap(error, SMD_NATIVE_ERROR);
  PyObject *exception = NULL;
  if (handle != NULL) exception = PyObject_CallFunctionObjArgs(exception_from, handle, NULL);
  smd_error_free(error);
  Py_XDECREF(handle);
  return exception;
}

PyObject *SmdNativeRaise(smd_error *error) {
  PyObject *exception = SmdNativeException(error);
  if (exception == NULL) return NULL;
  PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
  Py_DECREF(exception);
  return NULL;
}

PyObject *SmdNativeValueError(void) { return value_error; }

smd_mode SmdNativeMode(PyObject *mode) {
  if (mode == Py_None) return SMD_MODE_GLOBAL;
  for (int i = 0; i < 4; ++i) {
    if (mode == mode_keys[i]) return i + 1;
  }
  PyErr_Format(value_error, "%R is not a mode; modes are those of smdebug.modes", mode);
  return -1;
}

PyObject *SmdNativeDtype(smd_dtype dtype) {
  PyObject *number;
  if (dtype < 0 || (size_t)dtype >= sizeof(dtypes) / sizeof(dtypes[0])) {
    return PyErr_Format(PyExc_ValueError, "unknown element type %d", (int)dtype);
  }
  if (dtypes[dtype] != NULL) return dtypes[dtype];
  number = PyLong_FromLong(dtype);
  if (number == NULL) return NULL;
  dtypes[dtype] = PyObject_CallFunctionObjArgs(dtype_for, number, NULL);
  Py_DECREF(number);
  return dtypes[dtype];
}

void SmdNativeRefuse(const char *expected, PyObject *object) {
  PyObject *name = PyType_GetName(Py_TYPE(object));
  if (name == NULL) return;
  PyErr_Format(type_error, "expected %s, got %U", expected, name);
  Py_DECREF(name);
}

const char *SmdNativeName(PyObject *text) {
  Py_ssize_t size;
  const char *utf8;
  if (!PyUnicode_Check(text)) {
    SmdNativeRefuse("str", text);
    return NULL;
  }
  utf8 = PyUnicode_AsUTF8AndSize(text, &size);
  if (utf8 == NULL) return NULL;
  if (strlen(utf8) == (size_t)size) return utf8;
  PyErr_Format(value_error, "%R holds a NUL character", text);
  return NULL;
}

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

PyObject *SmdNativeList(smd_strings *strings) {
  size_t count = smd_strings_count(strings);
  PyObject *list = PyList_New((Py_ssize_t)count);
  for (size_t i = 0; list != NULL && i < count; ++i) {
    PyObject *text = PyUnicode_DecodeUTF8(smd_strings_get(strings, i),
                                          (Py_ssize_t)smd_strings_size(strings, i), "replace");
    /* Takes `text` over, also when it fails. */
    if (text == NULL || PyList_SetItem(list, (Py_ssize_t)i, text) < 0) Py_CLEAR(list);
  }
  smd_strings_free(strings);
  return list;
}

/* take_strings(strings) -> list[str]; frees them */
static PyObject *TakeStrings(PyObject *Py_UNUSED(module), PyObject *handle) {
  smd_strings *strings = SmdNativePointer(handle, SMD_NATIVE_STRINGS);
  return strings == NULL ? NULL : SmdNativeList(strings);
}

/* take_steps(steps) -> list[int]; frees them */
static PyObject *TakeSteps(PyObject *Py_UNUSED(module), PyObject *handle) {
  smd_steps *steps = SmdNativePointer(handle, SMD_NATIVE_STEPS);
  PyObject *list;
  const int64_t *data;
  size_t count;
  if (steps == NULL) return NULL;
  data = smd_steps_data(steps);
  count = smd_steps_count(steps);
  list = PyList_New((Py_ssize_t)count);
  for (size_t i = 0; list != NULL && i < count; ++i) {
    PyObject *step = PyLong_FromLongLong(data[i]);
    if (step == NULL || PyList_SetItem(list, (Py_ssize_t)i, step) < 0) Py_CLEAR(list);
  }
  smd_steps_free(steps);
  return list;
}

/* take_value(value) -> Value; takes it over */
static PyObject *TakeValue(PyObject *Py_UNUSED(module), PyObject *handle) {
  smd_value *value = SmdNativePointer(handle, SMD_NATIVE_VALUE);
  return value == NULL ? NULL : SmdValueNew(value, 0);
}

/* take_array(value) -> ndarray; takes it over */
static PyObject *TakeArray(PyObject *Py_UNUSED(module), PyObject *handle) {
  smd_value *value = SmdNativePointer(handle, SMD_NATIVE_VALUE);
  return value == NULL ? NULL : SmdValueToArray(value);
}

/* ---- recording ---------------------------------------------------------------- */

int SmdNativeHasCount(const char *function, Py_ssize_t count, Py_ssize_t expected) {
  if (count == expected) return 1;
  PyErr_Format(PyExc_TypeError, "%s() takes %zd arguments, got %zd", function, expected, count);
  return 0;
}

/* wants(hook, name) -> bool */
static PyObject *Wants(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
  smd_hook *hook =
      SmdNativeHasCount("wants", count, 2) ? SmdNativePointer(args[0], SMD_NATIVE_HOOK) : NULL;
  const char *name = hook == NULL ? NULL : SmdNativeName(args[1]);
  return name == NULL ? NULL : PyBool_FromLong(smd_hook_wants(hook, name));
}

/* save(hook, name, value) -> True, or False for what is neither buffer nor number */
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
  if (loan.buffer.obj != NULL && loan.buffer.len >= kReleaseBytes) {
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

smd_error *SmdNativeSave(smd_hook *hook, const char *name, const smd_tensor_view *view) {
  int64_t elements = 1;
  smd_error *error;
  for (int32_t i = 0; i < view->ndim; ++i) elements *= view->shape[i];
  if (elements < kReleaseElements) return smd_hook_save(hook, name, view);
  Py_BEGIN_ALLOW_THREADS
  error = smd_hook_save(hook, name, view);
  Py_END_ALLOW_THREADS
  return error;
}

/* save_dlpack(hook, name, capsule): saves what the capsule lends */
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
  const char *worker; /* NULL: the first that has it */
} Place;

/* From (tensor, step, mode, worker).  Returns -1 with an exception set. */
static int ParsePlace(PyObject *const *args, Place *place) {
  PyObject *step = PyNumber_Index(args[1]);
  if (step == NULL) return -1;
  place->step = PyLong_AsLongLong(step);
  Py_DECREF(step);
  if (place->step == -1 && PyErr_Occurred()) return -1;
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
  return value == NULL ? NULL : SmdValueToArray(value);
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
  return error != NULL ? SmdNativeRaise(error) : SmdValueToArray(value);
}

/* ---- module --------------------------------------------------------------------- */

static PyMethodDef functions[] = {
    {"configure", Configure, METH_VARARGS, NULL},
    {"check", Check, METH_O, NULL},
    {"take_text", TakeText, METH_O, NULL},
    {"take_strings", TakeStrings, METH_O, NULL},
    {"take_steps", TakeSteps, METH_O, NULL},
    {"take_value", TakeValue, METH_O, NULL},
    {"take_array", TakeArray, METH_O, NULL},
    {"lend", SMD_NATIVE_FAST(SmdLend), NULL},
    {"lend_text", SmdLendText, METH_VARARGS, NULL},
    {"lend_dlpack", SmdLendDlpack, METH_O, NULL},
    {"wants", SMD_NATIVE_FAST(Wants), NULL},
    {"save", SMD_NATIVE_FAST(Save), NULL},
    {"save_dlpack", SMD_NATIVE_FAST(SaveDlpack), NULL},
    {"saver", SmdSaver, METH_VARARGS, NULL},
    {"take_number", SMD_NATIVE_FAST(SmdTakeNumber), NULL},
    {"modules_hold", SMD_NATIVE_FAST(SmdModulesHold), NULL},
    {"read_array", SMD_NATIVE_FAST(ReadArray), NULL},
    {"read_value", SMD_NATIVE_FAST(ReadValue), NULL},
    {"read_reduction", SMD_NATIVE_FAST(ReadReduction), NULL},
    {NULL, NULL, 0, NULL},
};

int SmdNativeInit(PyObject *module) {
  /* What is shared here, above all the exceptions, belongs to one interpreter. */
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
    PyErr_SetString(PyExc_ImportError,
                    "smdebug cannot be imported in a subinterpreter; use it in the main one, or "
                    "in a process of its own");
    return -1;
  }
  exception_from = Py_NewRef(PyExc_RuntimeError);
  value_error = Py_NewRef(PyExc_ValueError);
  type_error = Py_NewRef(PyExc_TypeError);
  dtype_for = Py_NewRef(Py_None);
  if (SmdViewInit(module) < 0 || SmdSaverInit(module) < 0 || SmdValueInit(module) < 0) return -1;
  return PyModule_AddFunctions(module, functions);
}
