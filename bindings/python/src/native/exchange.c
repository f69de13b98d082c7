/* Views of PyTorch's tensors through the table of C functions that it offers since 2.10: one call
 * in place of six attributes of Python, which a training has mostly displaced from the cache. */
#include "dlpack_abi.h"
#include "native.h"

enum { kMajor = 1, kHost = 1, kInt = 0, kUInt = 1, kFloat = 2, kBFloat = 4 };
enum { kFloat8E4M3FN = 10, kFloat8E5M2 = 12 };

/* DLPackExchangeAPI of DLPack 1.2. */
struct SmdExchange {
  uint32_t major;
  uint32_t minor;
  void *older;
  void (*allocate)(void);
  void (*export_owned)(void);
  void (*import_owned)(void);
  int (*view)(void *object, DLTensor *out); /* -1 with an exception set */
  void (*stream)(void);
};

static const SmdExchange *ExchangeOf(PyObject *type) {
  const SmdExchange *found = NULL;
  PyObject *capsule = PyObject_GetAttrString(type, "__dlpack_c_exchange_api__");
  if (capsule != NULL && PyCapsule_IsValid(capsule, "dlpack_exchange_api")) {
    found = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
  }
  Py_XDECREF(capsule);
  PyErr_Clear();
  return found != NULL && found->major == kMajor && found->view != NULL ? found : NULL;
}

const SmdExchange *SmdExchangeOf(PyObject *types) {
  const Py_ssize_t count = PyTuple_Size(types);
  const SmdExchange *first = count > 0 ? ExchangeOf(PyTuple_GetItem(types, 0)) : NULL;
  for (Py_ssize_t i = 1; i < count && first != NULL; ++i) {
    if (ExchangeOf(PyTuple_GetItem(types, i)) != first) first = NULL;
  }
  return first;
}

static smd_dtype DtypeOf(DLDataType type) {
  static const struct {
    uint8_t code;
    uint8_t bits;
    smd_dtype dtype;
  } kTypes[] = {
      {kFloat, 32, SMD_FLOAT32},
      {kBFloat, 16, SMD_BFLOAT16},
      {kFloat, 16, SMD_FLOAT16},
      {kFloat, 64, SMD_FLOAT64},
      {kInt, 64, SMD_INT64},
      {kInt, 32, SMD_INT32},
      {kInt, 16, SMD_INT16},
      {kInt, 8, SMD_INT8},
      {kUInt, 8, SMD_UINT8},
      {kFloat8E4M3FN, 8, SMD_FLOAT8_E4M3FN},
      {kFloat8E5M2, 8, SMD_FLOAT8_E5M2},
  };
  for (size_t i = 0; i < sizeof(kTypes) / sizeof(*kTypes) && type.lanes == 1; ++i) {
    if (kTypes[i].code == type.code && kTypes[i].bits == type.bits) return kTypes[i].dtype;
  }
  return SMD_DTYPE_INVALID;
}

int SmdExchangeView(const SmdExchange *exchange, PyObject *tensor, smd_tensor_view *view,
                    int64_t *dims) {
  DLTensor seen = {0};
  if (exchange->view(tensor, &seen) != 0) return -1;
  view->dtype = DtypeOf(seen.dtype);
  if (seen.device.type != kHost || view->dtype == SMD_DTYPE_INVALID || seen.data == NULL ||
      seen.ndim < 0 || (seen.ndim > 0 && (seen.shape == NULL || seen.strides == NULL))) {
    return 0;
  }
  if (seen.ndim > SMD_MAX_RANK) {
    PyErr_Format(SmdNativeValueError(), "a tensor of %d dimensions cannot be saved, at most %d",
                 seen.ndim, SMD_MAX_RANK);
    return -1;
  }
  /* Copies: another thread may resize the tensor while the interpreter lock is released. */
  for (int32_t i = 0; i < seen.ndim; ++i) {
    dims[i] = seen.shape[i];
    dims[SMD_MAX_RANK + i] = seen.strides[i];
  }
  view->data = (const char *)seen.data + seen.byte_offset;
  view->ndim = seen.ndim;
  view->shape = seen.ndim > 0 ? dims : NULL;
  view->strides = seen.ndim > 0 ? dims + SMD_MAX_RANK : NULL;
  return 1;
}
