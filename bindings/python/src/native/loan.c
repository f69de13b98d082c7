/* Lets the library borrow Python objects: buffers of any stride, and numbers. */
#include <string.h>

#include "native.h"

static smd_dtype SignedOf(Py_ssize_t size) {
  switch (size) {
    case 1: return SMD_INT8;
    case 2: return SMD_INT16;
    case 4: return SMD_INT32;
    case 8: return SMD_INT64;
    default: return SMD_DTYPE_INVALID;
  }
}

static smd_dtype UnsignedOf(Py_ssize_t size) {
  switch (size) {
    case 1: return SMD_UINT8;
    case 2: return SMD_UINT16;
    case 4: return SMD_UINT32;
    case 8: return SMD_UINT64;
    default: return SMD_DTYPE_INVALID;
  }
}

static smd_dtype FloatOf(char code, Py_ssize_t size) {
  if (code == 'e' && size == 2) return SMD_FLOAT16;
  if (code == 'f' && size == 4) return SMD_FLOAT32;
  if (code == 'd' && size == 8) return SMD_FLOAT64;
  return SMD_DTYPE_INVALID;
}

static int IsForeignOrder(char order) {
#if PY_LITTLE_ENDIAN
  return order == '>' || order == '!';
#else
  return order == '<';
#endif
}

/* Returns the element type of a struct-module format, or INVALID for any other element. */
static smd_dtype DtypeOf(const char *format, Py_ssize_t size) {
  if (format == NULL) return SMD_UINT8;
  if (format[0] != '\0' && strchr("@=<>!^", format[0]) != NULL) {
    if (size > 1 && IsForeignOrder(format[0])) return SMD_DTYPE_INVALID;
    ++format;
  }
  if (format[0] == 'Z') {
    if (format[1] == 'f' && size == 8) return SMD_COMPLEX64;
    if (format[1] == 'd' && size == 16) return SMD_COMPLEX128;
    return SMD_DTYPE_INVALID;
  }
  if (format[0] == '\0' || format[1] != '\0') return SMD_DTYPE_INVALID;
  if (strchr("bhilqn", format[0]) != NULL) return SignedOf(size);
  if (strchr("BHILQN", format[0]) != NULL) return UnsignedOf(size);
  if (format[0] == '?' && size == 1) return SMD_BOOL;
  return FloatOf(format[0], size);
}

/* Returns true if a buffer without dimensions is a numpy scalar.  A scalar is recorded with
 * shape (1,), as Python numbers are; an array without dimensions is not. */
static int IsNumpyScalar(PyObject *object) {
  static PyObject *generic = NULL;
  if (generic == NULL) {
    PyObject *name = PyUnicode_FromString("numpy");
    PyObject *numpy = name == NULL ? NULL : PyImport_GetModule(name);
    Py_XDECREF(name);
    if (numpy != NULL) generic = PyObject_GetAttrString(numpy, "generic");
    Py_XDECREF(numpy);
    PyErr_Clear();
    if (generic == NULL) return 0;
  }
  return PyObject_TypeCheck(object, (PyTypeObject *)generic);
}

static void SetScalar(SmdLoan *loan, smd_dtype dtype) {
  loan->view.data = &loan->scalar;
  loan->view.dtype = dtype;
  loan->view.ndim = 1;
  loan->shape[0] = 1;
}

/* Copies the dimensions; returns 0 if the strides are not whole elements. */
static int SetDims(SmdLoan *loan) {
  const Py_buffer *buffer = &loan->buffer;
  int compact = 1;
  int64_t expected = buffer->itemsize;
  for (int i = buffer->ndim - 1; i >= 0; --i) {
    loan->shape[i] = buffer->shape[i];
    if (buffer->strides[i] % buffer->itemsize != 0) return 0;
    loan->strides[i] = buffer->strides[i] / buffer->itemsize;
    if (buffer->strides[i] != expected && buffer->shape[i] != 1) compact = 0;
    expected *= buffer->shape[i];
  }
  if (!compact && buffer->len > 0) loan->view.strides = loan->strides;
  return 1;
}

static int LendBuffer(SmdLoan *loan, PyObject *object, smd_dtype dtype) {
  smd_dtype found;
  if (PyObject_GetBuffer(object, &loan->buffer, PyBUF_RECORDS_RO) < 0) {
    loan->buffer.obj = NULL;
    if (PyErr_ExceptionMatches(PyExc_MemoryError)) return -1;
    PyErr_Clear();
    return 0;
  }
  if (loan->buffer.ndim > SMD_MAX_RANK) {
    PyErr_Format(SmdNativeValueError(), "a tensor of %d dimensions cannot be saved, at most %d",
                 loan->buffer.ndim, SMD_MAX_RANK);
    SmdLoanEnd(loan);
    return -1;
  }
  found = DtypeOf(loan->buffer.format, loan->buffer.itemsize);
  if (dtype != SMD_DTYPE_INVALID && found != SMD_DTYPE_INVALID) {
    found = smd_dtype_size(dtype) == (size_t)loan->buffer.itemsize ? dtype : SMD_DTYPE_INVALID;
  }
  if (found == SMD_DTYPE_INVALID || !SetDims(loan)) {
    SmdLoanEnd(loan);
    return 0;
  }
  loan->view.data = loan->buffer.buf;
  loan->view.dtype = found;
  loan->view.ndim = loan->buffer.ndim;
  if (loan->view.ndim == 0 && IsNumpyScalar(object)) {
    loan->view.ndim = 1;
    loan->shape[0] = 1;
  }
  return 1;
}

static int LendInteger(SmdLoan *loan, PyObject *object) {
  int overflow = 0;
  loan->scalar.integer = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (overflow == 0) {
    if (loan->scalar.integer == -1 && PyErr_Occurred()) return -1;
    SetScalar(loan, SMD_INT64);
    return 1;
  }
  if (overflow < 0) return 0;
  loan->scalar.natural = PyLong_AsUnsignedLongLong(object);
  if (PyErr_Occurred()) {
    PyErr_Clear();
    return 0;
  }
  SetScalar(loan, SMD_UINT64);
  return 1;
}

static int LendNumber(SmdLoan *loan, PyObject *object) {
  if (PyFloat_Check(object)) {
    loan->scalar.real = PyFloat_AsDouble(object);
    SetScalar(loan, SMD_FLOAT64);
    return 1;
  }
  if (PyBool_Check(object)) {
    loan->scalar.truth = object == Py_True;
    SetScalar(loan, SMD_BOOL);
    return 1;
  }
  if (PyLong_Check(object)) return LendInteger(loan, object);
  if (PyComplex_Check(object)) {
    loan->scalar.complex_parts[0] = PyComplex_RealAsDouble(object);
    loan->scalar.complex_parts[1] = PyComplex_ImagAsDouble(object);
    SetScalar(loan, SMD_COMPLEX128);
    return 1;
  }
  return 0;
}

int SmdLoanBegin(SmdLoan *loan, PyObject *object, smd_dtype dtype) {
  loan->buffer.obj = NULL;
  loan->view.struct_size = sizeof(loan->view);
  loan->view.shape = loan->shape;
  loan->view.strides = NULL;
  if (PyObject_CheckBuffer(object) && !PyFloat_Check(object) && !PyComplex_Check(object)) {
    if (PyBytes_Check(object) || PyByteArray_Check(object)) return 0;
    return LendBuffer(loan, object, dtype);
  }
  return dtype == SMD_DTYPE_INVALID ? LendNumber(loan, object) : 0;
}

void SmdLoanEnd(SmdLoan *loan) {
  if (loan->buffer.obj != NULL) PyBuffer_Release(&loan->buffer);
}
