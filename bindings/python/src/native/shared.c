/* State that all parts of the module share: exceptions, modes and element types as Python knows
 * them, names, lists. */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "native.h"

/* A save of more elements than this releases the interpreter lock. */
static const int64_t kReleaseElements = 16 * 1024;

static PyObject *exception_from; /* raw error -> exception */
static PyObject *value_error;    /* the classes for invalid arguments */
static PyObject *type_error;
static PyObject *mode_keys[4]; /* the ModeKeys members, by mode number - 1 */
static PyObject *dtype_for;    /* element type number -> numpy dtype */
static PyObject *dtypes[64];   /* cached results of dtype_for */

static void Replace(PyObject **place, PyObject *object) {
  PyObject *old = *place;
  *place = Py_NewRef(object);
  Py_XDECREF(old);
}

/* configure(exception_from, value_error, type_error, modes, dtype_for, log_line) */
PyObject *SmdConfigure(PyObject *Py_UNUSED(module), PyObject *args) {
  PyObject *from;
  PyObject *classes[2];
  PyObject *modes[4];
  PyObject *factory;
  PyObject *log_line;
  if (!PyArg_ParseTuple(args, "OOO(OOOO)OO:configure", &from, &classes[0], &classes[1], &modes[0],
                        &modes[1], &modes[2], &modes[3], &factory, &log_line) ||
      SmdLogInit(log_line) < 0) {
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

SMD_NATIVE_HOT const char *SmdNativeName(PyObject *text) {
  Py_ssize_t size;
  const char *utf8;
  if (!PyUnicode_Check(text)) {
    SmdNativeRefuse("str", text);
    return NULL;
  }
  utf8 = PyUnicode_AsUTF8AndSize(text, &size);
  if (utf8 == NULL) {
    if (PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) {
      PyErr_Clear();
      PyErr_Format(value_error, "%A cannot be written as UTF-8", text);
    }
    return NULL;
  }
  if (strlen(utf8) == (size_t)size) return utf8;
  PyErr_Format(value_error, "%R holds a NUL character", text);
  return NULL;
}

SMD_NATIVE_HOT int SmdNativeStep(PyObject *number, int64_t *step) {
  PyObject *index = PyNumber_Index(number);
  if (index == NULL) return -1;
  *step = PyLong_AsLongLong(index);
  if (*step == -1 && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_OverflowError)) {
    PyErr_Clear();
    PyErr_Format(value_error, "%S is no step: it does not fit into 64 bits", index);
  }
  Py_DECREF(index);
  return *step == -1 && PyErr_Occurred() ? -1 : 0;
}

SMD_NATIVE_HOT int SmdNativeHasCount(const char *function, Py_ssize_t count, Py_ssize_t expected) {
  if (count == expected) return 1;
  PyErr_Format(PyExc_TypeError, "%s() takes %zd arguments, got %zd", function, expected, count);
  return 0;
}

PyObject *SmdNativeList(smd_strings *strings) {
  size_t count = smd_strings_count(strings);
  PyObject *list = PyList_New((Py_ssize_t)count);
  for (size_t i = 0; list != NULL && i < count; ++i) {
    PyObject *text = PyUnicode_DecodeUTF8(smd_strings_get(strings, i),
                                          (Py_ssize_t)smd_strings_size(strings, i), "replace");
    /* This takes ownership of `text`, also if it fails. */
    if (text == NULL || PyList_SetItem(list, (Py_ssize_t)i, text) < 0) Py_CLEAR(list);
  }
  smd_strings_free(strings);
  return list;
}

static void SleepForever(void *unused) {
  (void)unused;
  for (;;) pause();
}

void SmdNativeWithLock(void (*function)(void *), void *argument) {
  PyGILState_STATE state;
  pthread_cleanup_push(SleepForever, NULL);
  state = PyGILState_Ensure();
  function(argument);
  PyGILState_Release(state);
  pthread_cleanup_pop(0);
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

void SmdSharedInit(void) {
  exception_from = Py_NewRef(PyExc_RuntimeError);
  value_error = Py_NewRef(PyExc_ValueError);
  type_error = Py_NewRef(PyExc_TypeError);
  dtype_for = Py_NewRef(Py_None);
}
