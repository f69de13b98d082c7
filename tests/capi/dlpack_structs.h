/* The structs of DLPack tensors. */
#ifndef DLPACK_STRUCTS_H
#define DLPACK_STRUCTS_H

#include <stdint.h>

/* As dlpack.h 1.x has them. */
typedef struct {
  void *data;
  struct {
    int32_t type, id;
  } device;
  int32_t ndim;
  struct {
    uint8_t code, bits;
    uint16_t lanes;
  } dtype;
  int64_t *shape;
  int64_t *strides;
  uint64_t byte_offset;
} dl_tensor;

struct DLManagedTensorVersioned {
  struct {
    uint32_t major, minor;
  } version;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned *);
  uint64_t flags;
  dl_tensor tensor;
};

enum { CPU = 1, CUDA = 2, DL_FLOAT = 2 };

#endif /* DLPACK_STRUCTS_H */
