/* Reads a tensor at many steps in one call. */
#include "native.h"

/* A run of small values costs one array and a view of it for each. */
enum { FEWEST_IN_ARRAY = 2 };

typedef struct {
  smd_tensor *tensor;
  int64_t first;
  int64_t end;
  smd_mode mode;
  const char *worker; /* NULL: the first worker that has the tensor */
} Range;

static int ParseBound(PyObject *object, int64_t otherwise, int64_t *bound) {
  *bound = otherwise;
  return object == Py_None ? 0 : SmdNativeStep(object, bound);
}

/* Parses (tensor, first, end, mode, worker).  Returns -1 with an exception set. */
static int ParseRange(PyObject *const *args, Range *range) {
  if (ParseBound(args[1], 0, &range->first) < 0) return -1;
  if (ParseBound(args[2], INT64_MAX, &range->end) < 0) return -1;
  range->mode = SmdNativeMode(args[3]);
  if (range->mode < 0) return -1;
  range->worker = args[4] == Py_None ? NULL : SmdNativeName(args[4]);
  if (range->worker == NULL && args[4] != Py_None) return -1;
  range->tensor = SmdNativePointer(args[0], SMD_NATIVE_TENSOR);
  return range->tensor == NULL ? -1 : 0;
}

/* numpy knows these types only through a package, or not at all. */
static int IsExtended(smd_dtype dtype) {
  return dtype == SMD_BFLOAT16 || dtype == SMD_FLOAT8_E5M2 || dtype == SMD_FLOAT8_E4M3FN;
}

/* Returns the element of an array at `index`, as an array without dimensions; if `index` is
 * negative, the only element of an array without dimensions, as a number. */
static PyObject *ElementOf(PyObject *array, Py_ssize_t index) {
  PyObject *key = index < 0 ? PyTuple_New(0) : Py_BuildValue("(nO)", index, Py_Ellipsis);
  PyObject *element = key == NULL ? NULL : PyObject_GetItem(array, key);
  Py_XDECREF(key);
  return element;
}

static int SetAt(PyObject *dict, int64_t step, PyObject *value) {
  PyObject *key = value == NULL ? NULL : PyLong_FromLongLong(step);
  int result = key == NULL ? -1 : PyDict_SetItem(dict, key, value);
  Py_XDECREF(key);
  return result;
}

/* Adds the value at `index` alone; takes ownership of it. */
static int AddOne(PyObject *dict, const smd_values *values, size_t index, smd_value *value,
                  int as_number) {
  int is_number = as_number && smd_value_ndim(value) == 0;
  PyObject *array = SmdValueToArray(value, 0);
  PyObject *each = array != NULL && is_number ? ElementOf(array, -1) : Py_XNewRef(array);
  int result = SetAt(dict, smd_values_step(values, index), each);
  Py_XDECREF(each);
  Py_XDECREF(array);
  return result;
}

/* Adds the values of a run, which begins with `value`; takes ownership of it. */
static int AddRun(PyObject *dict, const smd_values *values, size_t index, size_t run,
                  smd_value *value, int as_number) {
  int has_elements = smd_value_ndim(value) > 0 || as_number;
  PyObject *array = SmdValueToArray(value, (Py_ssize_t)run);
  PyObject *list = NULL;
  int result = array == NULL ? -1 : 0;
  if (array != NULL && has_elements) {
    list = PySequence_List(array);
    if (list == NULL) result = -1;
  }
  for (size_t i = 0; result == 0 && i < run; ++i) {
    PyObject *each = list != NULL ? Py_XNewRef(PyList_GetItem(list, (Py_ssize_t)i))
                                  : ElementOf(array, (Py_ssize_t)i);
    result = SetAt(dict, smd_values_step(values, index + i), each);
    Py_XDECREF(each);
  }
  Py_XDECREF(list);
  Py_XDECREF(array);
  return result;
}

/* Adds all values.  Sets `is_plain` to 0 if numpy does not know a type. */
static int AddAll(PyObject *dict, const smd_values *values, int as_numbers, int *is_plain) {
  size_t count = smd_values_count(values);
  size_t run = 1;
  for (size_t i = 0; i < count; i += run) {
    smd_value *value = NULL;
    smd_error *error = smd_values_get(values, i, &value);
    int is_extended;
    if (error != NULL) {
      SmdNativeRaise(error);
      return -1;
    }
    is_extended = IsExtended(smd_value_dtype(value));
    if (is_extended) *is_plain = 0;
    run = smd_value_ndim(value) < SMD_MAX_RANK ? smd_values_run(values, i) : 1;
    if (run < FEWEST_IN_ARRAY) run = 1;
    if ((run == 1 ? AddOne(dict, values, i, value, as_numbers && !is_extended)
                  : AddRun(dict, values, i, run, value, as_numbers && !is_extended)) < 0) {
      return -1;
    }
  }
  return 0;
}

/* Returns (dict of the values by step, whether numpy knows all their types); frees them. */
static PyObject *DictOf(smd_values *values, int as_numbers) {
  int is_plain = 1;
  PyObject *dict = PyDict_New();
  if (dict != NULL && AddAll(dict, values, as_numbers, &is_plain) < 0) Py_CLEAR(dict);
  smd_values_free(values);
  return dict == NULL ? NULL : Py_BuildValue("(NO)", dict, is_plain ? Py_True : Py_False);
}

/* read_values(tensor, first, end, mode, worker) -> (dict, bool) */
PyObject *SmdReadValues(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
  Range range;
  smd_values *values = NULL;
  smd_error *error;
  if (!SmdNativeHasCount("read_values", count, 5) || ParseRange(args, &range) < 0) return NULL;
  Py_BEGIN_ALLOW_THREADS
  error =
      smd_tensor_values(range.tensor, range.first, range.end, range.mode, range.worker, &values);
  Py_END_ALLOW_THREADS
  return error != NULL ? SmdNativeRaise(error) : DictOf(values, 0);
}

/* read_reductions(tensor, first, end, mode, worker, name, absolute) -> (dict, bool) */
PyObject *SmdReadReductions(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
  Range range;
  const char *name;
  smd_values *values = NULL;
  smd_error *error;
  int absolute;
  if (!SmdNativeHasCount("read_reductions", count, 7) || ParseRange(args, &range) < 0) return NULL;
  name = SmdNativeName(args[5]);
  if (name == NULL) return NULL;
  absolute = PyObject_IsTrue(args[6]);
  if (absolute < 0) return NULL;
  Py_BEGIN_ALLOW_THREADS
  error = smd_tensor_reduction_values(range.tensor, range.first, range.end, range.mode,
                                      range.worker, name, absolute, &values);
  Py_END_ALLOW_THREADS
  return error != NULL ? SmdNativeRaise(error) : DictOf(values, 1);
}
