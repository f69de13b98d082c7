/* Saver: saves PyTorch tensors directly from the addresses that they report.  It runs between
 * the operations of a training, which leave little in the cache, so each look-up is slow. */
#include <string.h>

#include "native.h"

/* Longer numbered names take the slow path. */
enum { kMostName = 256, kMostDigits = 20 };

typedef struct {
  PyObject_HEAD
  smd_hook *hook;
  PyObject *owner;             /* the owner of the hook */
  PyObject *types;             /* tuple of the tensor types that may be saved from memory */
  PyObject *dtypes;            /* dict: element type numbers by torch.dtype */
  PyObject *counts;            /* dict: number of names used with each prefix in the step */
  const SmdExchange *exchange; /* of the types; may be NULL */
} Saver;

static PyTypeObject *saver_type;

/* The names of attributes and methods of tensors and modules. */
enum {
  kIsCpu,
  kIsNeg,
  kDtype,
  kDataPtr,
  kShape,
  kStride,
  kGradient,
  kParameters,
  kModules,
  kAttributes
};
static PyObject *attribute_names[kAttributes];

static PyObject *Get(PyObject *tensor, int attribute) {
  return PyObject_GetAttr(tensor, attribute_names[attribute]);
}

static PyObject *Call(PyObject *tensor, int method) {
  return PyObject_CallMethodObjArgs(tensor, attribute_names[method], NULL);
}

/* Returns 1 if `object` is `expected`, and takes ownership of `object`.  Returns -1 for NULL. */
static int Is(PyObject *object, PyObject *expected) {
  const int is = object == NULL ? -1 : object == expected;
  Py_XDECREF(object);
  return is;
}

/* Reads the integers in a tuple, and takes ownership of the tuple.  Returns their number, or -1
 * with an exception set. */
static int32_t TakeNumbers(PyObject *tuple, int64_t *numbers) {
  Py_ssize_t count = tuple == NULL ? -1 : PyTuple_Size(tuple);
  if (count > SMD_MAX_RANK) {
    PyErr_Format(SmdNativeValueError(), "a tensor of %zd dimensions cannot be saved, at most %d",
                 count, SMD_MAX_RANK);
    count = -1;
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    numbers[i] = PyLong_AsLongLong(PyTuple_GetItem(tuple, i));
    if (numbers[i] == -1 && PyErr_Occurred()) count = -1;
  }
  Py_XDECREF(tuple);
  return (int32_t)count;
}

static int IsOfTypes(const Saver *saver, PyObject *object) {
  const Py_ssize_t count = PyTuple_Size(saver->types);
  for (Py_ssize_t i = 0; i < count; ++i) {
    if ((PyObject *)Py_TYPE(object) == PyTuple_GetItem(saver->types, i)) return 1;
  }
  return 0;
}

/* Reads the element type if memory holds the elements themselves.  Returns 1; 0 if it does not
 * or the type is unknown; -1 with an exception set.  Conjugate tensors need no check: they are
 * complex, and complex types are unknown.  Sparse tensors have no address. */
static int PlainDtype(const Saver *saver, PyObject *tensor, smd_dtype *dtype) {
  PyObject *type;
  PyObject *number;
  int is = Is(Get(tensor, kIsCpu), Py_True);
  if (is > 0) is = Is(Call(tensor, kIsNeg), Py_False);
  if (is <= 0) return is;
  type = Get(tensor, kDtype);
  if (type == NULL) return -1;
  number = PyDict_GetItemWithError(saver->dtypes, type); /* borrowed */
  Py_DECREF(type);
  if (number == NULL) return PyErr_Occurred() == NULL ? 0 : -1;
  *dtype = (smd_dtype)PyLong_AsLong(number);
  return 1;
}

/* Reads the address of a tensor.  Returns 1; 0 if its memory does not hold its elements; -1 with
 * an exception set. */
static int ViewOf(const Saver *saver, PyObject *tensor, smd_tensor_view *view, int64_t *dims) {
  PyObject *address;
  int32_t steps;
  int is = IsOfTypes(saver, tensor);
  if (is > 0 && saver->exchange != NULL) {
    is = Is(Call(tensor, kIsNeg), Py_False);
    return is > 0 ? SmdExchangeView(saver->exchange, tensor, view, dims) : is;
  }
  if (is > 0) is = PlainDtype(saver, tensor, &view->dtype);
  if (is <= 0) return is;
  address = Call(tensor, kDataPtr);
  if (address == NULL) return -1;
  view->data = PyLong_AsVoidPtr(address);
  Py_DECREF(address);
  view->ndim = TakeNumbers(Get(tensor, kShape), dims);
  steps = view->ndim < 0 ? -1 : TakeNumbers(Call(tensor, kStride), dims + SMD_MAX_RANK);
  if (steps < 0) return -1;
  view->shape = view->ndim > 0 ? dims : NULL;
  view->strides = view->ndim > 0 ? dims + SMD_MAX_RANK : NULL;
  return steps == view->ndim && view->data != NULL;
}

/* Adds a remaining tensor to a list, and creates the list for the first one.  `error` may be
 * NULL. */
static int Leave(PyObject **rest, const char *name, PyObject *tensor, PyObject *error) {
  PyObject *left = Py_BuildValue("sOO", name, tensor, error == NULL ? Py_None : error);
  int result = -1;
  if (*rest == NULL) *rest = PyList_New(0);
  if (left != NULL && *rest != NULL) result = PyList_Append(*rest, left);
  Py_XDECREF(left);
  return result;
}

/* Saves a tensor if it is selected.  Returns -1 with an exception set. */
static int SaveOrLeave(const Saver *saver, const char *name, PyObject *tensor, PyObject **rest) {
  smd_tensor_view view = SMD_TENSOR_VIEW_INIT;
  int64_t dims[2 * SMD_MAX_RANK];
  smd_error *failure;
  PyObject *error = NULL;
  int result;
  if (!smd_hook_wants(saver->hook, name)) return 0;
  result = ViewOf(saver, tensor, &view, dims);
  if (result > 0) {
    failure = SmdNativeSave(saver->hook, name, &view);
    if (failure == NULL) return 0;
    error = SmdNativeException(failure);
    if (error == NULL) return -1;
  } else if (result < 0) {
    /* The tensor has no strides, or stands for another one, as within torch.func. */
    if (!PyErr_ExceptionMatches(PyExc_Exception)) return -1;
    PyErr_Clear();
  }
  result = Leave(rest, name, tensor, error);
  Py_XDECREF(error);
  return result;
}

/* Returns `rest` and takes ownership of it, or returns None if nothing remains. */
static PyObject *Left(int result, PyObject *rest) {
  if (result < 0) {
    Py_CLEAR(rest);
  } else if (rest == NULL) {
    return Py_NewRef(Py_None);
  }
  return rest;
}

/* save(name, tensor) -> the remaining tensors, or None */
static PyObject *Save(PyObject *self, PyObject *const *args, Py_ssize_t count) {
  PyObject *rest = NULL;
  const char *name = SmdNativeHasCount("save", count, 2) ? SmdNativeName(args[0]) : NULL;
  int result;
  if (name == NULL) return NULL;
  result = SaveOrLeave((Saver *)self, name, args[1], &rest);
  return Left(result, rest);
}

/* Saves a tensor, whose name is at a place of a list, unless it is None. */
static int SaveFrom(const Saver *saver, PyObject *names, Py_ssize_t place, PyObject *tensor,
                    PyObject **rest) {
  PyObject *given;
  const char *name;
  int result = -1;
  if (tensor == Py_None) return 0;
  /* Saving can run other code, which must not free the name. */
  given = Py_XNewRef(PyList_GetItem(names, place));
  name = given == NULL ? NULL : SmdNativeName(given);
  if (name != NULL) result = SaveOrLeave(saver, name, tensor, rest);
  Py_XDECREF(given);
  return result;
}

/* save_each(names, tensors) -> the remaining tensors, or None.  Both are lists; where `tensors` has
 * None, nothing is saved. */
static PyObject *SaveEach(PyObject *self, PyObject *const *args, Py_ssize_t count) {
  PyObject *rest = NULL;
  Py_ssize_t size;
  int result = 0;
  if (!SmdNativeHasCount("save_each", count, 2)) return NULL;
  size = PyList_Size(args[0]);
  if (size < 0 || PyList_Size(args[1]) < 0) return NULL;
  if (PyList_Size(args[1]) != size) {
    PyErr_SetString(SmdNativeValueError(), "save_each: a name is needed for each tensor");
    return NULL;
  }
  /* Saving can run other code, which must not shorten the lists below this. */
  for (Py_ssize_t i = 0; i < PyList_Size(args[0]) && i < PyList_Size(args[1]) && result == 0; ++i) {
    PyObject *tensor = Py_NewRef(PyList_GetItem(args[1], i));
    result = SaveFrom((Saver *)self, args[0], i, tensor, &rest);
    Py_DECREF(tensor);
  }
  return Left(result, rest);
}

/* save_parameters(names, parameters) -> the remaining tensors, or None; and how many have no
 * gradient.  Both are lists; names are those of each parameter and of its gradient in turn. */
static PyObject *SaveParameters(PyObject *self, PyObject *const *args, Py_ssize_t count) {
  const Saver *saver = (Saver *)self;
  PyObject *rest = NULL;
  Py_ssize_t missing = 0;
  int result = 0;
  if (!SmdNativeHasCount("save_parameters", count, 2)) return NULL;
  if (PyList_Size(args[0]) < 0 || PyList_Size(args[1]) < 0) return NULL;
  for (Py_ssize_t i = 0; i < PyList_Size(args[1]) && result == 0; ++i) {
    PyObject *parameter = Py_NewRef(PyList_GetItem(args[1], i));
    PyObject *gradient = Get(parameter, kGradient);
    result = gradient == NULL ? -1 : SaveFrom(saver, args[0], 2 * i, parameter, &rest);
    if (result == 0) result = SaveFrom(saver, args[0], 2 * i + 1, gradient, &rest);
    missing += gradient == Py_None;
    Py_DECREF(parameter);
    Py_XDECREF(gradient);
  }
  rest = Left(result, rest);
  return rest == NULL ? NULL : Py_BuildValue("Nn", rest, missing);
}

/* Returns 1 if the open step wants one of the names in the tuple, or there is none; -1 with an
 * exception set. */
static int WantsOne(const Saver *saver, PyObject *names) {
  const Py_ssize_t size = PyTuple_Size(names);
  for (Py_ssize_t i = 0; i < size; ++i) {
    const char *name = SmdNativeName(PyTuple_GetItem(names, i));
    if (name == NULL) return -1;
    if (smd_hook_wants(saver->hook, name)) return 1;
  }
  return size < 0 ? -1 : size == 0;
}

/* wanted(groups) -> bytes, for each tuple of names 1 if the open step wants one of them, or there
 * is none, else 0 */
static PyObject *Wanted(PyObject *self, PyObject *const *args, Py_ssize_t count) {
  PyObject *flags;
  Py_ssize_t size;
  char *to;
  if (!SmdNativeHasCount("wanted", count, 1)) return NULL;
  size = PyTuple_Size(args[0]);
  flags = size < 0 ? NULL : PyBytes_FromStringAndSize(NULL, size);
  if (flags == NULL) return NULL;
  to = PyBytes_AsString(flags);
  for (Py_ssize_t i = 0; i < size; ++i) {
    const int wants = WantsOne((Saver *)self, PyTuple_GetItem(args[0], i));
    if (wants < 0) {
      Py_DECREF(flags);
      return NULL;
    }
    to[i] = (char)wants;
  }
  return flags;
}

static int64_t TakeNumber(PyObject *counts, PyObject *prefix) {
  PyObject *known = PyDict_GetItemWithError(counts, prefix); /* borrowed */
  const int64_t number = known == NULL ? 0 : PyLong_AsLongLong(known);
  PyObject *next = PyErr_Occurred() == NULL ? PyLong_FromLongLong(number + 1) : NULL;
  const int result = next == NULL ? -1 : PyDict_SetItem(counts, prefix, next);
  Py_XDECREF(next);
  return result < 0 ? -1 : number;
}

/* take_number(counts, prefix) -> the next number of the prefix; no two threads get the same one
 * */
PyObject *SmdTakeNumber(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
  const int64_t number =
      SmdNativeHasCount("take_number", count, 2) ? TakeNumber(args[0], args[1]) : -1;
  return number < 0 ? NULL : PyLong_FromLongLong(number);
}

/* Begins a name with its prefix.  Returns its length, or 0 if the name is too long. */
static size_t BeginName(PyObject *prefix, char *name) {
  const char *text = SmdNativeName(prefix);
  size_t length;
  if (text == NULL) {
    PyErr_Clear();
    return 0;
  }
  length = strlen(text);
  if (length + kMostDigits >= kMostName) return 0;
  memcpy(name, text, length);
  return length;
}

static void EndName(char *end, int64_t number) {
  char digits[kMostDigits];
  int count = 0;
  do {
    digits[count++] = (char)('0' + number % 10);
    number /= 10;
  } while (number > 0);
  while (count > 0) *end++ = digits[--count];
  *end = '\0';
}

/* Returns the number of tensors in a value: 1 for a tensor, the length of a tuple of tensors, or
 * -1 for anything else. */
static Py_ssize_t CountTensors(const Saver *saver, PyObject *value) {
  Py_ssize_t count;
  if (IsOfTypes(saver, value)) return 1;
  count = PyTuple_CheckExact(value) ? PyTuple_Size(value) : -1;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (!IsOfTypes(saver, PyTuple_GetItem(value, i))) return -1;
  }
  return count;
}

/* save_numbered(prefix, value) -> the remaining tensors, or None.  Returns NotImplemented, and
 * uses no number, if the value is neither a known tensor nor a tuple of known tensors. */
static PyObject *SaveNumbered(PyObject *self, PyObject *const *args, Py_ssize_t count) {
  const Saver *saver = (Saver *)self;
  PyObject *rest = NULL;
  char name[kMostName];
  Py_ssize_t tensors;
  size_t length;
  int result = 0;
  if (!SmdNativeHasCount("save_numbered", count, 2)) return NULL;
  tensors = CountTensors(saver, args[1]);
  length = tensors < 0 ? 0 : BeginName(args[0], name);
  if (length == 0) return Py_NewRef(Py_NotImplemented);
  for (Py_ssize_t i = 0; i < tensors && result == 0; ++i) {
    PyObject *tensor = PyTuple_CheckExact(args[1]) ? PyTuple_GetItem(args[1], i) : args[1];
    const int64_t number = TakeNumber(saver->counts, args[0]);
    if (number < 0) {
      result = -1;
    } else {
      EndName(name + length, number);
      result = SaveOrLeave(saver, name, tensor, &rest);
    }
  }
  return Left(result, rest);
}

/* Returns 1 if the items of a dict, members of a module, equal those in a tuple from `*place` on
 * (name and member in turn), and moves `*place` behind them.  Returns -1 with an exception set.
 * */
static int Holds(PyObject *module, int kind, PyObject *members, Py_ssize_t *place) {
  PyObject *held = Get(module, kind);
  PyObject *name;
  PyObject *member;
  Py_ssize_t position = 0;
  int holds;
  if (held == NULL) return -1;
  holds = PyDict_Check(held) && *place + 2 * PyDict_Size(held) <= PyTuple_Size(members);
  while (holds && PyDict_Next(held, &position, &name, &member)) {
    holds =
        name == PyTuple_GetItem(members, *place) && member == PyTuple_GetItem(members, *place + 1);
    *place += 2;
  }
  Py_DECREF(held);
  return holds;
}

/* modules_hold(module, inner, members) -> bool: true if PyTorch's module and the modules in the
 * tuple `inner` hold exactly these parameters and modules, each listed after its name */
PyObject *SmdModulesHold(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
  Py_ssize_t place = 0;
  Py_ssize_t size;
  int holds = 1;
  if (!SmdNativeHasCount("modules_hold", count, 3)) return NULL;
  size = PyTuple_Size(args[1]);
  if (size < 0 || PyTuple_Size(args[2]) < 0) return NULL;
  for (Py_ssize_t i = -1; i < size && holds > 0; ++i) {
    PyObject *module = i < 0 ? args[0] : PyTuple_GetItem(args[1], i);
    holds = Holds(module, kParameters, args[2], &place);
    if (holds > 0) holds = Holds(module, kModules, args[2], &place);
  }
  if (holds < 0) return NULL;
  return PyBool_FromLong(holds && place == PyTuple_Size(args[2]));
}

static void SaverDealloc(PyObject *self) {
  Saver *saver = (Saver *)self;
  PyTypeObject *type = Py_TYPE(self);
  Py_XDECREF(saver->owner);
  Py_XDECREF(saver->types);
  Py_XDECREF(saver->dtypes);
  Py_XDECREF(saver->counts);
  PyObject_Free(self);
  Py_DECREF(type);
}

/* saver(hook, types, dtypes, counts) -> Saver */
PyObject *SmdSaver(PyObject *Py_UNUSED(module), PyObject *args) {
  Saver *saver;
  Saver of = {0};
  if (!PyArg_ParseTuple(args, "OO!O!O!:saver", &of.owner, &PyTuple_Type, &of.types, &PyDict_Type,
                        &of.dtypes, &PyDict_Type, &of.counts)) {
    return NULL;
  }
  of.hook = SmdNativePointer(of.owner, SMD_NATIVE_HOOK);
  saver = of.hook == NULL ? NULL : PyObject_New(Saver, saver_type);
  if (saver == NULL) return NULL;
  saver->hook = of.hook;
  saver->owner = Py_NewRef(of.owner);
  saver->types = Py_NewRef(of.types);
  saver->dtypes = Py_NewRef(of.dtypes);
  saver->counts = Py_NewRef(of.counts);
  saver->exchange = SmdExchangeOf(of.types);
  return (PyObject *)saver;
}

static PyMethodDef saver_methods[] = {
    {"save", SMD_NATIVE_FAST(Save), NULL},
    {"save_numbered", SMD_NATIVE_FAST(SaveNumbered), NULL},
    {"save_each", SMD_NATIVE_FAST(SaveEach), NULL},
    {"save_parameters", SMD_NATIVE_FAST(SaveParameters), NULL},
    {"wanted", SMD_NATIVE_FAST(Wanted), NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot saver_slots[] = {
    {Py_tp_doc, (void *)"Saves PyTorch tensors whose elements are what their memory holds."},
    {Py_tp_dealloc, (void *)SaverDealloc},
    {Py_tp_methods, saver_methods},
    {0, NULL},
};

static PyType_Spec saver_spec = {
    .name = "smdebug._raw.Saver",
    .basicsize = sizeof(Saver),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = saver_slots,
};

int SmdSaverInit(PyObject *module) {
  static const char *const kNames[kAttributes] = {"is_cpu",   "is_neg",      "dtype",
                                                  "data_ptr", "shape",       "stride",
                                                  "grad",     "_parameters", "_modules"};
  for (int i = 0; i < kAttributes; ++i) {
    attribute_names[i] = PyUnicode_InternFromString(kNames[i]);
    if (attribute_names[i] == NULL) return -1;
  }
  saver_type = (PyTypeObject *)PyType_FromSpec(&saver_spec);
  if (saver_type == NULL) return -1;
  return PyModule_AddObjectRef(module, "Saver", (PyObject *)saver_type);
}
