/* View: a borrowed buffer as a Python object.  Its `this` is the raw handle of a tensor view, so
 * raw functions accept it in place of a view. */
#include "native.h"

typedef struct {
  PyObject_HEAD
  PyObject *handle;   /* the raw handle of loan.view */
  PyObject *owner;    /* another owner of the memory, or NULL */
  const char **texts; /* elements of a text tensor, or NULL */
  int64_t *dims;      /* of a DLPack tensor, or NULL */
  SmdLoan loan;
} View;

static PyTypeObject *view_type;

static void ViewDealloc(PyObject *self) {
  View *view = (View *)self;
  PyTypeObject *type = Py_TYPE(self);
  SmdLoanEnd(&view->loan);
  PyMem_Free((void *)view->texts);
  PyMem_Free(view->dims);
  Py_XDECREF(view->handle);
  Py_XDECREF(view->owner);
  PyObject_Free(self);
  Py_DECREF(type);
}

static View *ViewAlloc(void) {
  const smd_tensor_view empty = SMD_TENSOR_VIEW_INIT;
  View *view = PyObject_New(View, view_type);
  if (view == NULL) return NULL;
  view->handle = view->owner = NULL;
  view->texts = NULL;
  view->dims = NULL;
  view->loan.buffer.obj = NULL;
  view->loan.view = empty;
  view->handle = SmdNativeWrap(&view->loan.view, SMD_NATIVE_VIEW);
  if (view->handle == NULL) Py_CLEAR(view);
  return view;
}

/* lend(value, dtype=0) -> View, or None if the value is neither a buffer nor a number */
PyObject *SmdLend(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
  long dtype = SMD_DTYPE_INVALID;
  View *view;
  int lent;
  if (count < 1 || count > 2) {
    return PyErr_Format(PyExc_TypeError, "lend() takes 1 or 2 arguments, got %zd", count);
  }
  if (count == 2) {
    dtype = PyLong_AsLong(args[1]);
    if (dtype == -1 && PyErr_Occurred()) return NULL;
  }
  view = ViewAlloc();
  if (view == NULL) return NULL;
  lent = SmdLoanBegin(&view->loan, args[0], (smd_dtype)dtype);
  if (lent > 0) return (PyObject *)view;
  Py_DECREF(view);
  if (lent < 0) return NULL;
  Py_RETURN_NONE;
}

static int SetShape(View *view, PyObject *shape, Py_ssize_t elements) {
  Py_ssize_t rank = PyTuple_Size(shape);
  int64_t product = 1;
  if (rank > SMD_MAX_RANK) {
    PyErr_Format(SmdNativeValueError(), "a tensor of %zd dimensions cannot be saved, at most %d",
                 rank, SMD_MAX_RANK);
    return -1;
  }
  for (Py_ssize_t i = 0; i < rank; ++i) {
    view->loan.shape[i] = PyLong_AsLongLong(PyTuple_GetItem(shape, i));
    if (view->loan.shape[i] == -1 && PyErr_Occurred()) return -1;
    product *= view->loan.shape[i];
  }
  if (product != elements) {
    PyErr_Format(SmdNativeValueError(), "%zd texts do not fill the given shape", elements);
    return -1;
  }
  view->loan.view.shape = view->loan.shape;
  view->loan.view.ndim = (int32_t)rank;
  return 0;
}

/* lend_text(texts: list[str], shape: tuple[int, ...]) -> View */
PyObject *SmdLendText(PyObject *Py_UNUSED(module), PyObject *args) {
  PyObject *texts;
  PyObject *shape;
  Py_ssize_t count;
  View *view;
  if (!PyArg_ParseTuple(args, "O!O!:lend_text", &PyList_Type, &texts, &PyTuple_Type, &shape)) {
    return NULL;
  }
  view = ViewAlloc();
  if (view == NULL) return NULL;
  view->owner = PyList_AsTuple(texts);
  if (view->owner == NULL) goto fail;
  count = PyTuple_Size(view->owner);
  if (SetShape(view, shape, count) < 0) goto fail;
  view->texts = PyMem_New(const char *, count > 0 ? count : 1);
  if (view->texts == NULL) {
    PyErr_NoMemory();
    goto fail;
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    view->texts[i] = SmdNativeName(PyTuple_GetItem(view->owner, i));
    if (view->texts[i] == NULL) goto fail;
  }
  view->loan.view.data = view->texts;
  view->loan.view.dtype = SMD_STRING;
  return (PyObject *)view;
fail:
  Py_DECREF(view);
  return NULL;
}

/* lend_dlpack(capsule) -> View */
PyObject *SmdLendDlpack(PyObject *Py_UNUSED(module), PyObject *capsule) {
  View *view = ViewAlloc();
  if (view == NULL) return NULL;
  view->dims = PyMem_New(int64_t, 2 * SMD_MAX_RANK);
  if (view->dims == NULL) {
    Py_DECREF(view);
    return PyErr_NoMemory();
  }
  if (SmdDlpackView(capsule, &view->loan.view, view->dims) < 0) {
    Py_DECREF(view);
    return NULL;
  }
  view->owner = Py_NewRef(capsule);
  return (PyObject *)view;
}

static PyMemberDef view_members[] = {
    {"this", T_OBJECT_EX, offsetof(View, handle), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot view_slots[] = {
    {Py_tp_doc, (void *)"Memory of a Python object, lent as a tensor."},
    {Py_tp_dealloc, (void *)ViewDealloc},
    {Py_tp_members, view_members},
    {0, NULL},
};

static PyType_Spec view_spec = {
    .name = "smdebug._raw.View",
    .basicsize = sizeof(View),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = view_slots,
};

int SmdViewInit(PyObject *module) {
  view_type = (PyTypeObject *)PyType_FromSpec(&view_spec);
  if (view_type == NULL) return -1;
  return PyModule_AddObjectRef(module, "View", (PyObject *)view_type);
}
