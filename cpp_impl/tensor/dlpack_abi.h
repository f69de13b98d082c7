// The structs of DLPack 1.x.  Distributions still ship the header of DLPack 0.6, which lacks
// DLManagedTensorVersioned.
#pragma once

#include <cstdint>

extern "C" {

struct DLPackVersion {
  uint32_t major;
  uint32_t minor;
};

struct DLDevice {
  int32_t device_type;
  int32_t device_id;
};

struct DLDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

struct DLTensor {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides;  // in elements; NULL: row-major, compact
  uint64_t byte_offset;
};

struct DLManagedTensorVersioned {
  DLPackVersion version;
  void *manager_ctx;
  void (*deleter)(DLManagedTensorVersioned *self);
  uint64_t flags;
  DLTensor dl_tensor;
};

}  // extern "C"

namespace smdebug::tensor::dlpack {

inline constexpr uint32_t kMajorVersion = 1;
inline constexpr uint32_t kMinorVersion = 1;  // the first version with 8-bit floats

inline constexpr uint64_t kReadOnly = 1;

inline constexpr int32_t kCpu = 1;
inline constexpr int32_t kCudaHost = 3;
inline constexpr int32_t kRocmHost = 11;

inline constexpr uint8_t kInt = 0;
inline constexpr uint8_t kUInt = 1;
inline constexpr uint8_t kFloat = 2;
inline constexpr uint8_t kBFloat = 4;
inline constexpr uint8_t kComplex = 5;
inline constexpr uint8_t kBool = 6;
inline constexpr uint8_t kFloat8E4M3FN = 10;
inline constexpr uint8_t kFloat8E5M2 = 12;

}  // namespace smdebug::tensor::dlpack
