/* The structs of the DLPack 1.x ABI that describe a tensor. */
#ifndef SMDEBUG_PYTHON_DLPACK_ABI_H
#define SMDEBUG_PYTHON_DLPACK_ABI_H

#include <stdint.h>

typedef struct {
  int32_t type;
  int32_t id;
} DLDevice;

typedef struct {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} DLDataType;

typedef struct {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides;
  uint64_t byte_offset;
} DLTensor;

#endif
