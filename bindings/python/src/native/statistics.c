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

/* save_statistics(hook, name, shape, dtype, given, figures, counts, sample): `figures` in the order
 * of their bits in `given`; `sample` is a view or None */
PyObject *SmdSaveStatistics(PyObject *Py_UNUSED(module), PyObject *args) {
  smd_statistics of = SMD_STATISTICS_INIT;
  int64_t dims[SMD_MAX_RANK];
  long long nans, infinities, zeros;
  PyObject *owner, *text, *shape, *sample;
  int dtype;
  const char *name;
  smd_hook *hook;
  smd_error *error;
  if (!PyArg_ParseTuple(args, "OOO!iI(dddddddddddddd)(LLL)O:save_statistics", &owner, &text,
                        &PyTuple_Type, &shape, &dtype, &of.given, &of.min, &of.max, &of.median,
                        &of.mean, &of.variance, &of.sum, &of.prod, &of.l1, &of.l2, &of.abs_min,
                        &of.abs_max, &of.abs_median, &of.abs_mean, &of.abs_variance, &nans,
                        &infinities, &zeros, &sample)) {
    return NULL;
  }
  of.dtype = (smd_dtype)dtype;
  of.nan_count = nans;
  of.inf_count = infinities;
  of.zero_count = zeros;
  hook = SmdNativePointer(owner, SMD_NATIVE_HOOK);
  name = hook == NULL ? NULL : SmdNativeName(text);
  if (name == NULL || AddShape(shape, dims, &of) < 0 || AddSample(sample, &of) < 0) return NULL;
  error = smd_hook_save_statistics(hook, name, &of);
  if (error != NULL) return SmdNativeRaise(error);
  Py_RETURN_NONE;
}
