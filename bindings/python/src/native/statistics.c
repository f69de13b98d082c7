/* Saves statistics that the caller has computed. */
#include <math.h>

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
                        &PyTuple_Type, &shape, &dtype, &of->given, &of->min, &of->max, &of->median,
                        &of->mean, &of->variance, &of->sum, &of->prod, &of->l1, &of->l2,
                        &of->abs_min, &of->abs_max, &of->abs_median, &of->abs_mean,
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

/* ---- rows of a table ------------------------------------------------------- */

/* The columns of a row, as device_statistics.py names them; the last four may be missing. */
enum {
  COUNT,
  NANS,
  INFINITIES,
  ZEROS,
  SQUARES, /* divided by the square of the scale */
  SUM,
  L1,
  SQUARED_DISTANCES,
  ABS_SQUARED_DISTANCES,
  MIN,
  ABS_MIN,
  MAX,
  SCALE,
  COLUMNS,
  MEDIAN = COLUMNS,
  ABS_MEDIAN,
  SIGNIFICAND, /* of the product */
  EXPONENT,
  ALL_COLUMNS
};

/* What each row has. */
static const uint32_t kGiven = SMD_HAS_MIN | SMD_HAS_MAX | SMD_HAS_MEAN | SMD_HAS_VARIANCE |
                               SMD_HAS_SUM | SMD_HAS_L1 | SMD_HAS_L2 | SMD_HAS_ABS_MIN |
                               SMD_HAS_ABS_MAX | SMD_HAS_ABS_MEAN | SMD_HAS_COUNTS;
/* What a row has if it was wanted. */
static const uint32_t kExtra =
    SMD_HAS_ABS_VARIANCE | SMD_HAS_MEDIAN | SMD_HAS_ABS_MEDIAN | SMD_HAS_PROD;

/* Returns a sum of squared distances without what rounding adds.  NaN: the squares overflowed. */
static double Cleaned(double squares, int are_equal) {
  if (are_equal) return 0;
  if (isnan(squares)) return INFINITY;
  return squares > 0 ? squares : 0;
}

static double Scaled(double significand, double exponent) {
  const double most = 1 << 20; /* far beyond the range of exponents */
  if (significand == 0 || !isfinite(significand) || !isfinite(exponent)) return significand;
  return ldexp(significand, (int)fmax(-most, fmin(most, exponent)));
}

static void FillFigures(const double *row, Py_ssize_t columns, smd_statistics *out) {
  const double abs_max = fmax(fabs(row[MIN]), fabs(row[MAX]));
  double variance = Cleaned(row[SQUARED_DISTANCES], row[MIN] == row[MAX]);
  double abs_variance = Cleaned(row[ABS_SQUARED_DISTANCES], row[ABS_MIN] == abs_max);
  out->min = row[MIN];
  out->max = row[MAX];
  out->mean = row[SUM] / row[COUNT];
  out->sum = row[SUM];
  out->l1 = row[L1];
  out->l2 = row[SCALE] * sqrt(row[SQUARES]);
  out->abs_min = row[ABS_MIN];
  out->abs_max = abs_max;
  out->abs_mean = row[L1] / row[COUNT];
  if (row[INFINITIES] != 0) variance = abs_variance = NAN;
  out->variance = variance / row[COUNT];
  out->abs_variance = abs_variance / row[COUNT];
  if (columns < ALL_COLUMNS) return;
  out->median = row[MEDIAN];
  out->abs_median = row[ABS_MEDIAN];
  out->prod = Scaled(row[SIGNIFICAND], row[EXPONENT]);
}

/* Fills all but the shape, the dtype and the sample. */
static void FillStatistics(const double *row, Py_ssize_t columns, uint32_t wanted,
                           smd_statistics *out) {
  out->given = kGiven | (wanted & kExtra);
  out->nan_count = (int64_t)row[NANS];
  out->inf_count = (int64_t)row[INFINITIES];
  out->zero_count = (int64_t)row[ZEROS];
  out->min = out->max = out->mean = out->variance = out->sum = out->l1 = out->l2 = NAN;
  out->abs_min = out->abs_max = out->abs_mean = out->abs_variance = NAN;
  out->median = out->abs_median = out->prod = NAN;
  if (row[NANS] == 0) FillFigures(row, columns, out);
}

/* Saves a row; `item` is as save_late_rows() has it.  Returns -1 with an exception set. */
static int SaveRow(smd_hook *hook, int64_t step, const double *row, Py_ssize_t columns,
                   PyObject *item) {
  smd_statistics statistics = SMD_STATISTICS_INIT;
  int64_t dims[SMD_MAX_RANK];
  PyObject *text, *shape, *sample;
  const char *name;
  unsigned int wanted;
  smd_error *error;
  int dtype;
  if (!PyArg_ParseTuple(item, "OO!iIO:save_late_rows", &text, &PyTuple_Type, &shape, &dtype,
                        &wanted, &sample)) {
    return -1;
  }
  FillStatistics(row, columns, wanted, &statistics);
  statistics.dtype = (smd_dtype)dtype;
  name = SmdNativeName(text);
  if (name == NULL || AddShape(shape, dims, &statistics) < 0) return -1;
  if (AddSample(sample, &statistics) < 0) return -1;
  error = smd_hook_save_late_statistics(hook, name, step, &statistics);
  if (error != NULL) SmdNativeRaise(error);
  return error == NULL ? 0 : -1;
}

/* Moves the exception that is set into the list, as (number, exception). */
static int AddFailure(PyObject *failures, Py_ssize_t number) {
  PyObject *type, *value, *trace, *failure;
  int result;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  failure = Py_BuildValue("(nO)", number, value);
  result = failure == NULL ? -1 : PyList_Append(failures, failure);
  Py_XDECREF(failure);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  return result;
}

static PyObject *SaveRows(smd_hook *hook, int64_t step, const Py_buffer *rows, PyObject *items) {
  const Py_ssize_t count = PyTuple_Size(items);
  const Py_ssize_t numbers = rows->len / (Py_ssize_t)sizeof(double);
  const Py_ssize_t columns = count > 0 ? numbers / count : 0;
  PyObject *failures;
  if (count < 0) return NULL;
  if (numbers != count * columns || (count > 0 && columns != COLUMNS && columns != ALL_COLUMNS)) {
    PyErr_Format(SmdNativeValueError(), "save_late_rows: %zd numbers are no table of %zd rows",
                 numbers, count);
    return NULL;
  }
  failures = PyList_New(0);
  for (Py_ssize_t i = 0; i < count && failures != NULL; ++i) {
    PyObject *item = PyTuple_GetItem(items, i);
    const double *row = (const double *)rows->buf + i * columns;
    if (item == Py_None || SaveRow(hook, step, row, columns, item) == 0) continue;
    if (AddFailure(failures, i) < 0) Py_CLEAR(failures);
  }
  return failures;
}

/* save_late_rows(hook, step, rows, items) -> [(number, exception)...] of what failed: saves the
 * statistics in each row of a table of float64.  Its item is (name, shape, dtype, wanted, sample),
 * or None, which saves nothing. */
PyObject *SmdSaveLateRows(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
  Py_buffer rows;
  PyObject *failures;
  smd_hook *hook;
  int64_t step;
  if (!SmdNativeHasCount("save_late_rows", count, 4)) return NULL;
  hook = SmdNativePointer(args[0], SMD_NATIVE_HOOK);
  if (hook == NULL || SmdNativeStep(args[1], &step) < 0) return NULL;
  if (PyObject_GetBuffer(args[2], &rows, PyBUF_ND) < 0) return NULL;
  failures = SaveRows(hook, step, &rows, args[3]);
  PyBuffer_Release(&rows);
  return failures;
}
