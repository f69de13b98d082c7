/* The Python-only part of the extension module: fast recording from buffers, and
 * values as buffers, arrays and DLPack tensors. */
#ifndef SMDEBUG_PYTHON_NATIVE_H
#define SMDEBUG_PYTHON_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include "smdebug.h"

/* ---- bridge to the SWIG part (native.i) ---------------------------------- */

typedef enum {
  SMD_NATIVE_ERROR,
  SMD_NATIVE_HOOK,
  SMD_NATIVE_STEPS,
  SMD_NATIVE_STRINGS,
  SMD_NATIVE_TENSOR,
  SMD_NATIVE_TEXT,
  SMD_NATIVE_VALUE,
  SMD_NATIVE_VIEW
} SmdNativeKind;

/* The C pointer in a raw handle, or in an object whose `this` is one; NULL with
 * TypeError set for anything else.  Borrowed. */
void *SmdNativePointer(PyObject *object, SmdNativeKind kind);

/* A raw handle for a C pointer, which it does not own. */
PyObject *SmdNativeWrap(void *pointer, SmdNativeKind kind);

/* ---- module.c: what the parts share -------------------------------------- */

/* The two middle entries of a PyMethodDef. */
#define SMD_NATIVE_FAST(function) (PyCFunction)(void (*)(void))(function), METH_FASTCALL

/* Adds functions and types to the module.  Returns -1 with an exception set. */
int SmdNativeInit(PyObject *module);

/* The Python exception that stands for `error`, which is freed; NULL with another one set. */
PyObject *SmdNativeException(smd_error *error);

/* Sets the Python exception that stands for `error` and frees it.  Returns NULL. */
PyObject *SmdNativeRaise(smd_error *error);

/* The exception class for values refused by this part.  Borrowed. */
PyObject *SmdNativeValueError(void);

/* Sets TypeError: `expected` is the name of what `object` should have been. */
void SmdNativeRefuse(const char *expected, PyObject *object);

/* The strings as a list of str; frees them. */
PyObject *SmdNativeList(smd_strings *strings);

/* The mode number of a ModeKeys member (None: GLOBAL), or -1 with ValueError set. */
smd_mode SmdNativeMode(PyObject *mode);

/* The numpy dtype of an element type.  Borrowed; NULL with an exception set. */
PyObject *SmdNativeDtype(smd_dtype dtype);

/* UTF-8 of a str without NULs, borrowed from it; NULL with an exception set. */
const char *SmdNativeName(PyObject *text);

/* Whether a call has as many arguments as it takes; if not, TypeError is set. */
int SmdNativeHasCount(const char *function, Py_ssize_t count, Py_ssize_t expected);

/* As smd_hook_save; gives the interpreter lock away while it saves a large tensor. */
smd_error *SmdNativeSave(smd_hook *hook, const char *name, const smd_tensor_view *view);

/* ---- loan.c: Python objects lent to the library as views ------------------ */

typedef struct {
  smd_tensor_view view;
  Py_buffer buffer; /* held if buffer.obj is not NULL */
  union {
    double real;
    double complex_parts[2];
    int64_t integer;
    uint64_t natural;
    unsigned char truth;
  } scalar; /* the element, if the object is a Python number */
  int64_t shape[SMD_MAX_RANK];
  int64_t strides[SMD_MAX_RANK];
} SmdLoan;

/* Lends a buffer or a Python number.  `dtype`, if not SMD_DTYPE_INVALID, is what the
 * elements are taken for; it must have their size.  Returns 1 (end the loan with
 * SmdLoanEnd), 0 for what cannot be lent as it is, -1 with an exception set. */
int SmdLoanBegin(SmdLoan *loan, PyObject *object, smd_dtype dtype);

void SmdLoanEnd(SmdLoan *loan);

/* ---- view.c: loans that live as Python objects ---------------------------- */

int SmdViewInit(PyObject *module);
PyObject *SmdLend(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *SmdLendText(PyObject *module, PyObject *args);
PyObject *SmdLendDlpack(PyObject *module, PyObject *capsule);

/* ---- saver.c: PyTorch tensors in host memory ------------------------------ */

int SmdSaverInit(PyObject *module);
PyObject *SmdSaver(PyObject *module, PyObject *args);
PyObject *SmdTakeNumber(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *SmdModulesHold(PyObject *module, PyObject *const *args, Py_ssize_t count);

/* ---- value.c: read values ------------------------------------------------- */

int SmdValueInit(PyObject *module);

/* A Value object; takes `value` over, also when it fails. */
PyObject *SmdValueNew(smd_value *value, int writable);

/* The value as a numpy array, strings too; takes `value` over.  The array is
 * writable: only for a value nobody else holds. */
PyObject *SmdValueToArray(smd_value *value);

/* ---- dlpack.c -------------------------------------------------------------- */

/* A DLPack capsule of the elements: versioned if `major` >= 1, else of the old form. */
PyObject *SmdDlpackExport(const smd_value *value, long major);

/* Fills a view from the tensor in a DLPack capsule; dims are copied to `dims`, which
 * has room for 2 * SMD_MAX_RANK.  The capsule is not consumed.  Returns -1 with an
 * exception set: BufferError for what is not in host memory or of an unknown type. */
int SmdDlpackView(PyObject *capsule, smd_tensor_view *view, int64_t *dims);

#endif /* SMDEBUG_PYTHON_NATIVE_H */
