/* Imports and exports DLPack capsules.  The structs are those of the DLPack 1.x ABI. */
#include <stdlib.h>
#include <string.h>

#include "dlpack_abi.h"
#include "native.h"

typedef struct DLManagedTensor {
  DLTensor dl_tensor;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;

typedef struct DLManagedTensorVersioned {
  uint32_t major;
  uint32_t minor;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned *self);
  uint64_t flags;
  DLTensor dl_tensor;
} DLManagedTensorVersioned;

enum { kCpu = 1, kCudaHost = 3, kRocmHost = 11 };
enum { kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kComplex = 5, kBool = 6 };
enum { kFloat8E4M3FN = 10, kFloat8E5M2 = 12 };

static const char kOld[] = "dltensor";
static const char kVersioned[] = "dltensor_versioned";

static smd_dtype DtypeOf(DLDataType type) {
  static const struct {
    uint8_t code, bits;
    smd_dtype dtype;
  } table[] = {
      {kInt, 8, SMD_INT8},
      {kInt, 16, SMD_INT16},
      {kInt, 32, SMD_INT32},
      {kInt, 64, SMD_INT64},
      {kUInt, 8, SMD_UINT8},
      {kUInt, 16, SMD_UINT16},
      {kUInt, 32, SMD_UINT32},
      {kUInt, 64, SMD_UINT64},
      {kFloat, 16, SMD_FLOAT16},
      {kFloat, 32, SMD_FLOAT32},
      {kFloat, 64, SMD_FLOAT64},
      {kBfloat, 16, SMD_BFLOAT16},
      {kComplex, 64, SMD_COMPLEX64},
      {kComplex, 128, SMD_COMPLEX128},
      {kBool, 8, SMD_BOOL},
      {kFloat8E4M3FN, 8, SMD_FLOAT8_E4M3FN},
      {kFloat8E5M2, 8, SMD_FLOAT8_E5M2},
  };
  if (type.lanes != 1) return SMD_DTYPE_INVALID;
  for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); ++i) {
    if (table[i].code == type.code && table[i].bits == type.bits) return table[i].dtype;
  }
  return SMD_DTYPE_INVALID;
}

static const DLTensor *TensorIn(PyObject *capsule) {
  if (PyCapsule_IsValid(capsule, kVersioned)) {
    const DLManagedTensorVersioned *managed = PyCapsule_GetPointer(capsule, kVersioned);
    if (managed->major == 1) return &managed->dl_tensor;
    PyErr_Format(PyExc_BufferError, "DLPack version %u is not supported", managed->major);
    return NULL;
  }
  if (PyCapsule_IsValid(capsule, kOld)) {
    return &((const DLManagedTensor *)PyCapsule_GetPointer(capsule, kOld))->dl_tensor;
  }
  PyErr_SetString(PyExc_BufferError, "not an unused DLPack capsule");
  return NULL;
}

int SmdDlpackView(PyObject *capsule, smd_tensor_view *view, int64_t *dims) {
  const DLTensor *tensor = TensorIn(capsule);
  size_t bytes;
  if (tensor == NULL) return -1;
  if (tensor->device.type != kCpu && tensor->device.type != kCudaHost &&
      tensor->device.type != kRocmHost) {
    PyErr_Format(PyExc_BufferError, "the tensor is on device type %d:%d, not in host memory",
                 (int)tensor->device.type, (int)tensor->device.id);
    return -1;
  }
  view->dtype = DtypeOf(tensor->dtype);
  if (view->dtype == SMD_DTYPE_INVALID) {
    PyErr_SetString(PyExc_BufferError, "the tensor's element type is not supported");
    return -1;
  }
  if (tensor->ndim < 0 || tensor->ndim > SMD_MAX_RANK) {
    PyErr_Format(SmdNativeValueError(), "a tensor of %d dimensions cannot be saved, at most %d",
                 tensor->ndim, SMD_MAX_RANK);
    return -1;
  }
  bytes = (size_t)tensor->ndim * sizeof(int64_t);
  view->ndim = tensor->ndim;
  view->data = tensor->data == NULL ? NULL : (const char *)tensor->data + tensor->byte_offset;
  view->shape = tensor->ndim > 0 ? memcpy(dims, tensor->shape, bytes) : NULL;
  view->strides = NULL;
  if (tensor->ndim > 0 && tensor->strides != NULL) {
    view->strides = memcpy(dims + SMD_MAX_RANK, tensor->strides, bytes);
  }
  return 0;
}

/* ---- export ---------------------------------------------------------------- */

static void DeleteOld(DLManagedTensor *self) {
  DLManagedTensorVersioned *managed = self->manager_ctx;
  managed->deleter(managed);
  free(self);
}

static void DropVersioned(PyObject *capsule) {
  DLManagedTensorVersioned *managed;
  if (!PyCapsule_IsValid(capsule, kVersioned)) return;
  managed = PyCapsule_GetPointer(capsule, kVersioned);
  managed->deleter(managed);
}

static void DropOld(PyObject *capsule) {
  DLManagedTensor *managed;
  if (!PyCapsule_IsValid(capsule, kOld)) return;
  managed = PyCapsule_GetPointer(capsule, kOld);
  managed->deleter(managed);
}

static PyObject *ExportOld(DLManagedTensorVersioned *managed) {
  DLManagedTensor *old = malloc(sizeof(*old));
  PyObject *capsule;
  if (old == NULL) {
    managed->deleter(managed);
    return PyErr_NoMemory();
  }
  old->dl_tensor = managed->dl_tensor;
  old->manager_ctx = managed;
  old->deleter = DeleteOld;
  capsule = PyCapsule_New(old, kOld, DropOld);
  if (capsule == NULL) DeleteOld(old);
  return capsule;
}

PyObject *SmdDlpackExport(const smd_value *value, long major) {
  DLManagedTensorVersioned *managed = NULL;
  PyObject *capsule;
  smd_error *error = smd_value_to_dlpack(value, &managed);
  if (error != NULL) return SmdNativeRaise(error);
  if (major < 1) return ExportOld(managed);
  capsule = PyCapsule_New(managed, kVersioned, DropVersioned);
  if (capsule == NULL) managed->deleter(managed);
  return capsule;
}
