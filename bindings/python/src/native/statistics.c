/* Saves statistics that the caller has computed. */
#include "native.h"

/* Returns the sample as the library takes it; -1 with an exception set. */
static int AddSample(PyObject *sample, smd_statistics *statistics) {
  const smd_tensor_view *view;
  if (sample == Py_None) return 0;
  view = SmdNativePointer(sample, SMD_NATIVE_VIEW);
  if (view == NULL) return -1;
  if (view->dtype != statistics->dtype) {
    PyErr_Format(SmdNativeValueError(), "the sample is of dtype %s, but the tensor of %s",
                 smd_dtype_name(view->dtype), smd_dtype_name(statistics->dtype));
    return -1;
  }
  if (view->ndim != 1 || (view->strides != NULL && view->shape[0] > 1 && view->strides[0] != 1)) {
    PyErr_SetString(SmdNativeValueError(), "the sample must be contiguous and have one dimension");
    return -1;
  }
  statistics->sample = view->data;
  statistics->sample_count = view->shape[0];
  return 0;
}

static int AddShape(PyObject *shape, int64_t *dims, smd_statistics *statistics) {
  const Py_ssize_t count = PyTuple_Size(shape);
  if (count > SMD_MAX_RANK) {
    PyErr_Format(SmdNativeValueError(), "a tensor of %zd dimensions cannot be saved, at most %d",
                 count, SMD_MAX_RANK);
    return -1;
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    dims[i] = PyLong_AsLongLong(PyTuple_GetItem(shape, i));
    if (dims[i] == -1 && PyErr_Occurred()) return -1;
  }
  statistics->shape = dims;
  statistics->ndim = (int32_t)count;
  return 0;
}

/* The parsed arguments of a call that saves statistics. */
typedef struct {
  smd_hook *hook;
  const char *name;
  int64_t dims[SMD_MAX_RANK];
  smd_statistics statistics;
} Given;

/* Parses (hook, name, shape, dtype, given, figures, counts, sample): `figures` in the order of
 * their bits in `given`; `sample` is a view or None.  Returns -1 with an exception set. */
static int ParseGiven(PyObject *args, Given *given) {
  const smd_statistics empty = SMD_STATISTICS_INIT;
  smd_statistics *of = &given->statistics;
  long long nans, infinities, zeros;
  PyObject *owner, *text, *shape, *sample;
  int dtype;
  *of = empty;
  if (!PyArg_ParseTuple(args, "OOO!iI(dddddddddddddd)(LLL)O:save_statistics", &owner, &text,
                        &PyTuple_Type, &shape, &dtype, &of->given, &of->min, &of->max,
                        &of->median, &of->mean, &of->variance, &of->sum, &of->prod, &of->l1,
                        &of->l2, &of->abs_min, &of->abs_max, &of->abs_median, &of->abs_mean,
                        &of->abs_variance, &nans, &infinities, &zeros, &sample)) {
    return -1;
  }
  of->dtype = (smd_dtype)dtype;
  of->nan_count = nans;
  of->inf_count = infinities;
  of->zero_count = zeros;
  given->hook = SmdNativePointer(owner, SMD_NATIVE_HOOK);
  given->name = given->hook == NULL ? NULL : SmdNativeName(text);
  if (given->name == NULL || AddShape(shape, given->dims, of) < 0) return -1;
  return AddSample(sample, of);
}

/* save_statistics(hook, name, shape, dtype, given, figures, counts, sample) */
PyObject *SmdSaveStatistics(PyObject *Py_UNUSED(module), PyObject *args) {
  Given given;
  smd_error *error;
  if (ParseGiven(args, &given) < 0) return NULL;
  error = smd_hook_save_statistics(given.hook, given.name, &given.statistics);
  if (error != NULL) return SmdNativeRaise(error);
  Py_RETURN_NONE;
}

/* save_late_statistics(step, hook, name, shape, dtype, given, figures, counts, sample) */
PyObject *SmdSaveLateStatistics(PyObject *Py_UNUSED(module), PyObject *args) {
  const Py_ssize_t count = PyTuple_Size(args);
  PyObject *rest = PyTuple_GetSlice(args, 1, count);
  Given given;
  smd_error *error;
  int64_t step;
  int result = rest == NULL ? -1 : ParseGiven(rest, &given);
  if (result == 0) result = SmdNativeStep(PyTuple_GetItem(args, 0), &step);
  if (result == 0) {
    error = smd_hook_save_late_statistics(given.hook, given.name, step, &given.statistics);
    if (error != NULL) {
      SmdNativeRaise(error);
      result = -1;
    }
  }
  Py_XDECREF(rest);
  if (result < 0) return NULL;
  Py_RETURN_NONE;
}
