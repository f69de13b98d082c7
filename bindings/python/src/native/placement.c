/* Which part of a tensor a worker holds. */
#include "native.h"

/* Copies a tuple of int to `numbers`, which has room for SMD_MAX_RANK.  Returns their count, or -1
 * with an exception set. */
static int32_t Numbers(PyObject *tuple, int64_t *numbers) {
  const Py_ssize_t count = PyTuple_Size(tuple);
  if (count > SMD_MAX_RANK) {
    PyErr_Format(SmdNativeValueError(), "a placement of %zd dimensions is not allowed, at most %d",
                 count, SMD_MAX_RANK);
    return -1;
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    numbers[i] = PyLong_AsLongLong(PyTuple_GetItem(tuple, i));
    if (numbers[i] == -1 && PyErr_Occurred()) return -1;
  }
  return (int32_t)count;
}

/* set_placement(hook, name, shape, offset, part, is_flat, mesh, split) */
PyObject *SmdSetPlacement(PyObject *Py_UNUSED(module), PyObject *args) {
  smd_placement placement = SMD_PLACEMENT_INIT;
  int64_t lists[5][SMD_MAX_RANK];
  int32_t counts[5];
  PyObject *owner, *text, *tuples[5];
  const char *name;
  smd_hook *hook;
  smd_error *error;
  if (!PyArg_ParseTuple(args, "OOO!O!O!pO!O!:set_placement", &owner, &text, &PyTuple_Type,
                        &tuples[0], &PyTuple_Type, &tuples[1], &PyTuple_Type, &tuples[2],
                        &placement.is_flat, &PyTuple_Type, &tuples[3], &PyTuple_Type, &tuples[4])) {
    return NULL;
  }
  hook = SmdNativePointer(owner, SMD_NATIVE_HOOK);
  name = hook == NULL ? NULL : SmdNativeName(text);
  if (name == NULL) return NULL;
  for (int i = 0; i < 5; ++i) {
    counts[i] = Numbers(tuples[i], lists[i]);
    if (counts[i] < 0) return NULL;
  }
  if (counts[1] != (placement.is_flat ? 1 : counts[0]) || counts[2] != counts[1] ||
      counts[3] != counts[4]) {
    PyErr_SetString(SmdNativeValueError(), "the lists of the placement differ in length");
    return NULL;
  }
  placement.shape = lists[0];
  placement.ndim = counts[0];
  placement.offset = lists[1];
  placement.part = lists[2];
  placement.mesh = lists[3];
  placement.split = lists[4];
  placement.mesh_ndim = counts[3];
  error = smd_hook_set_placement(hook, name, &placement);
  if (error != NULL) return SmdNativeRaise(error);
  Py_RETURN_NONE;
}

static PyObject *Tuple(const int64_t *numbers, int32_t count) {
  PyObject *tuple = PyTuple_New(count);
  for (int32_t i = 0; tuple != NULL && i < count; ++i) {
    PyObject *number = PyLong_FromLongLong(numbers[i]);
    if (number == NULL || PyTuple_SetItem(tuple, i, number) < 0) Py_CLEAR(tuple);
  }
  return tuple;
}

/* read_placement(tensor, worker) -> (shape, offset, part, is_flat, mesh, split), or None if the
 * worker recorded none */
PyObject *SmdReadPlacement(PyObject *Py_UNUSED(module), PyObject *args) {
  const smd_placement *found;
  PyObject *owner, *text;
  const char *worker;
  smd_tensor *tensor;
  int32_t rank;
  if (!PyArg_ParseTuple(args, "OO:read_placement", &owner, &text)) return NULL;
  tensor = SmdNativePointer(owner, SMD_NATIVE_TENSOR);
  worker = tensor == NULL ? NULL : SmdNativeName(text);
  if (worker == NULL) return NULL;
  found = smd_tensor_placement(tensor, worker);
  if (found == NULL) Py_RETURN_NONE;
  rank = found->is_flat ? 1 : found->ndim;
  return Py_BuildValue("NNNNNN", Tuple(found->shape, found->ndim), Tuple(found->offset, rank),
                       Tuple(found->part, rank), PyBool_FromLong(found->is_flat),
                       Tuple(found->mesh, found->mesh_ndim), Tuple(found->split, found->mesh_ndim));
}
