/* Value: one tensor's elements as a Python object: a buffer and a DLPack exporter that keeps
 * them alive. */
#include "native.h"

typedef struct {
  PyObject_HEAD
  smd_value *value;
  Py_ssize_t run; /* the values that follow each other from `value` on; 0: `value` alone */
  int writable;
  Py_ssize_t *dims; /* shape, then strides in bytes; NULL until a consumer asks */
} Value;

static PyTypeObject *value_type;

/* The address that consumers get for an empty tensor. */
static char no_elements[1];

PyObject *SmdValueNew(smd_value *value, int writable) {
  Value *self = PyObject_New(Value, value_type);
  if (self == NULL) {
    smd_value_free(value);
    return NULL;
  }
  self->value = value;
  self->run = 0;
  self->writable = writable;
  self->dims = NULL;
  return (PyObject *)self;
}

static void ValueDealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  smd_value_free(((Value *)self)->value);
  PyMem_Free(((Value *)self)->dims);
  PyObject_Free(self);
  Py_DECREF(type);
}

/* ---- buffer protocol -------------------------------------------------------- */

/* Returns the struct-module format.  Types without a format letter are exported as their bits.
 * */
static const char *FormatOf(smd_dtype dtype) {
  switch (dtype) {
    case SMD_FLOAT16: return "e";
    case SMD_FLOAT32: return "f";
    case SMD_FLOAT64: return "d";
    case SMD_BFLOAT16: return "H";
    case SMD_FLOAT8_E5M2: return "B";
    case SMD_FLOAT8_E4M3FN: return "B";
    case SMD_INT8: return "b";
    case SMD_INT16: return "h";
    case SMD_INT32: return "i";
    case SMD_INT64: return "q";
    case SMD_UINT8: return "B";
    case SMD_UINT16: return "H";
    case SMD_UINT32: return "I";
    case SMD_UINT64: return "Q";
    case SMD_BOOL: return "?";
    case SMD_COMPLEX64: return "Zf";
    case SMD_COMPLEX128: return "Zd";
    default: return NULL;
  }
}

/* A run has one dimension more than each of its values. */
static int32_t RankOf(const Value *self) { return smd_value_ndim(self->value) + (self->run > 0); }

static Py_ssize_t SizeAt(const Value *self, int32_t dimension) {
  if (self->run > 0 && dimension == 0) return self->run;
  return (Py_ssize_t)smd_value_shape(self->value)[dimension - (self->run > 0)];
}

static int MakeDims(Value *self) {
  int32_t rank = RankOf(self);
  Py_ssize_t stride = (Py_ssize_t)smd_dtype_size(smd_value_dtype(self->value));
  Py_ssize_t *dims;
  if (self->dims != NULL) return 0;
  dims = PyMem_New(Py_ssize_t, 2 * (size_t)rank + 1);
  if (dims == NULL) {
    PyErr_NoMemory();
    return -1;
  }
  for (int32_t i = rank - 1; i >= 0; --i) {
    dims[i] = SizeAt(self, i);
    dims[rank + i] = stride;
    stride *= dims[i];
  }
  self->dims = dims;
  return 0;
}

static int ValueGetBuffer(PyObject *object, Py_buffer *view, int flags) {
  Value *self = (Value *)object;
  smd_dtype dtype = smd_value_dtype(self->value);
  const void *data = smd_value_data(self->value);
  int32_t rank = RankOf(self);
  view->obj = NULL;
  if (FormatOf(dtype) == NULL) {
    PyErr_SetString(PyExc_BufferError, "text has no buffer");
    return -1;
  }
  if ((flags & PyBUF_WRITABLE) == PyBUF_WRITABLE && !self->writable) {
    PyErr_SetString(PyExc_BufferError, "the value is read-only");
    return -1;
  }
  if ((flags & PyBUF_ND) == PyBUF_ND && MakeDims(self) < 0) return -1;
  view->buf = data == NULL ? no_elements : (void *)(uintptr_t)data;
  view->len = (Py_ssize_t)smd_value_nbytes(self->value) * (self->run > 0 ? self->run : 1);
  view->itemsize = (Py_ssize_t)smd_dtype_size(dtype);
  view->readonly = !self->writable;
  view->ndim = rank;
  view->format = (flags & PyBUF_FORMAT) == PyBUF_FORMAT ? (char *)(uintptr_t)FormatOf(dtype) : NULL;
  view->shape = (flags & PyBUF_ND) == PyBUF_ND ? self->dims : NULL;
  view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? self->dims + rank : NULL;
  view->suboffsets = NULL;
  view->internal = NULL;
  view->obj = Py_NewRef(object);
  return 0;
}

/* ---- facts ------------------------------------------------------------------ */

static PyObject *ShapeOf(const Value *self) {
  int32_t rank = RankOf(self);
  PyObject *result = PyTuple_New(rank);
  for (int32_t i = 0; result != NULL && i < rank; ++i) {
    PyObject *size = PyLong_FromSsize_t(SizeAt(self, i));
    /* This takes ownership of `size`, also if it fails. */
    if (size == NULL || PyTuple_SetItem(result, i, size) < 0) Py_CLEAR(result);
  }
  return result;
}

static PyObject *ValueShape(PyObject *self, void *Py_UNUSED(closure)) {
  return ShapeOf((Value *)self);
}

static PyObject *ValueDtype(PyObject *self, void *Py_UNUSED(closure)) {
  return PyUnicode_FromString(smd_dtype_name(smd_value_dtype(((Value *)self)->value)));
}

static PyObject *ValueNbytes(PyObject *self, void *Py_UNUSED(closure)) {
  return PyLong_FromSize_t(smd_value_nbytes(((Value *)self)->value));
}

/* ---- numpy ------------------------------------------------------------------ */

static PyObject *Numpy(void) {
  static PyObject *numpy = NULL;
  if (numpy == NULL) numpy = PyImport_ImportModule("numpy");
  return numpy;
}

static PyObject *Texts(const smd_value *value) {
  smd_strings *strings = NULL;
  smd_error *error = smd_value_strings(value, &strings);
  return error != NULL ? SmdNativeRaise(error) : SmdNativeList(strings);
}

static PyObject *TextArray(const Value *self) {
  PyObject *result = NULL;
  PyObject *flat = NULL;
  PyObject *shape = ShapeOf(self);
  PyObject *texts = shape == NULL ? NULL : Texts(self->value);
  if (texts != NULL && Numpy() != NULL) {
    flat = PyObject_CallMethod(Numpy(), "array", "Os", texts, "U");
  }
  if (flat != NULL) result = PyObject_CallMethod(flat, "reshape", "(O)", shape);
  Py_XDECREF(flat);
  Py_XDECREF(texts);
  Py_XDECREF(shape);
  return result;
}

static PyObject *ArrayOver(Value *self) {
  static PyObject *ndarray = NULL;
  PyObject *dtype;
  PyObject *shape;
  PyObject *array;
  if (smd_value_dtype(self->value) == SMD_STRING) return TextArray(self);
  if (ndarray == NULL) {
    if (Numpy() == NULL) return NULL;
    ndarray = PyObject_GetAttrString(Numpy(), "ndarray");
    if (ndarray == NULL) return NULL;
  }
  dtype = SmdNativeDtype(smd_value_dtype(self->value));
  if (dtype == NULL) return NULL;
  shape = ShapeOf(self);
  if (shape == NULL) return NULL;
  array = PyObject_CallFunctionObjArgs(ndarray, shape, dtype, (PyObject *)self, NULL);
  Py_DECREF(shape);
  return array;
}

PyObject *SmdValueToArray(smd_value *value, Py_ssize_t run) {
  PyObject *array;
  PyObject *self = SmdValueNew(value, 1);
  if (self == NULL) return NULL;
  ((Value *)self)->run = run;
  array = ArrayOver((Value *)self);
  Py_DECREF(self);
  return array;
}

static PyObject *ValueNumpy(PyObject *self, PyObject *Py_UNUSED(ignored)) {
  return ArrayOver((Value *)self);
}

static PyObject *ValueStrings(PyObject *self, PyObject *Py_UNUSED(ignored)) {
  return Texts(((Value *)self)->value);
}

/* ---- DLPack ------------------------------------------------------------------ */

static PyObject *ValueDlpack(PyObject *self, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"stream", "max_version", "dl_device", "copy", NULL};
  PyObject *stream = Py_None;
  PyObject *version = Py_None;
  PyObject *device = Py_None;
  PyObject *copy = Py_None;
  long major = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO:__dlpack__", names, &stream, &version,
                                   &device, &copy)) {
    return NULL;
  }
  if (copy == Py_True) {
    PyErr_SetString(PyExc_BufferError,
                    "__dlpack__ shares the memory of the value; copy=True is not supported");
    return NULL;
  }
  if (version != Py_None) {
    PyObject *first = PySequence_GetItem(version, 0);
    if (first == NULL) return NULL;
    major = PyLong_AsLong(first);
    Py_DECREF(first);
    if (major == -1 && PyErr_Occurred()) return NULL;
  }
  return SmdDlpackExport(((Value *)self)->value, major);
}

static PyObject *ValueDlpackDevice(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(ignored)) {
  return Py_BuildValue("(ii)", 1, 0);
}

static PyMethodDef value_methods[] = {
    {"numpy", ValueNumpy, METH_NOARGS, "The elements as a numpy array, without a copy."},
    {"strings", ValueStrings, METH_NOARGS, "The elements of a text tensor, in row-major order."},
    {"__dlpack__", (PyCFunction)(void (*)(void))ValueDlpack, METH_VARARGS | METH_KEYWORDS,
     "The elements as a DLPack capsule, without a copy."},
    {"__dlpack_device__", ValueDlpackDevice, METH_NOARGS, "Host memory: (1, 0)."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef value_facts[] = {
    {"dtype", ValueDtype, NULL, "Name of the element type, as \"bfloat16\".", NULL},
    {"shape", ValueShape, NULL, "Size of each dimension.", NULL},
    {"nbytes", ValueNbytes, NULL, "Bytes of all elements.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot value_slots[] = {
    {Py_tp_doc, (void *)"One tensor's elements; read-only, in host memory."},
    {Py_tp_dealloc, (void *)ValueDealloc},
    {Py_tp_methods, value_methods},
    {Py_tp_getset, value_facts},
    {Py_bf_getbuffer, (void *)ValueGetBuffer},
    {0, NULL},
};

static PyType_Spec value_spec = {
    .name = "smdebug._raw.Value",
    .basicsize = sizeof(Value),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = value_slots,
};

int SmdValueInit(PyObject *module) {
  value_type = (PyTypeObject *)PyType_FromSpec(&value_spec);
  if (value_type == NULL) return -1;
  return PyModule_AddObjectRef(module, "Value", (PyObject *)value_type);
}
