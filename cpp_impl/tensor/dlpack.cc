#include "tensor/dlpack.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "tensor/dlpack_abi.h"

namespace smdebug::tensor {
namespace {

struct TypeRow {
  DType dtype;
  uint8_t code;
  uint8_t bits;
};

constexpr TypeRow kTypes[] = {
    {DType::kFloat16, dlpack::kFloat, 16},
    {DType::kFloat32, dlpack::kFloat, 32},
    {DType::kFloat64, dlpack::kFloat, 64},
    {DType::kBFloat16, dlpack::kBFloat, 16},
    {DType::kFloat8E5M2, dlpack::kFloat8E5M2, 8},
    {DType::kFloat8E4M3FN, dlpack::kFloat8E4M3FN, 8},
    {DType::kInt8, dlpack::kInt, 8},
    {DType::kInt16, dlpack::kInt, 16},
    {DType::kInt32, dlpack::kInt, 32},
    {DType::kInt64, dlpack::kInt, 64},
    {DType::kUInt8, dlpack::kUInt, 8},
    {DType::kUInt16, dlpack::kUInt, 16},
    {DType::kUInt32, dlpack::kUInt, 32},
    {DType::kUInt64, dlpack::kUInt, 64},
    {DType::kBool, dlpack::kBool, 8},
    {DType::kComplex64, dlpack::kComplex, 64},
    {DType::kComplex128, dlpack::kComplex, 128},
};

struct DeviceRow {
  int32_t type;
  std::string_view name;
};

// The devices of DLPack 1.1 whose memory the host does not read.
constexpr DeviceRow kDevices[] = {
    {2, "cuda"},    {4, "opencl"},  {7, "vulkan"},   {8, "metal"},
    {9, "vpi"},     {10, "rocm"},   {12, "ext_dev"}, {13, "cuda_managed"},
    {14, "oneapi"}, {15, "webgpu"}, {16, "hexagon"}, {17, "maia"},
};

std::optional<DLDataType> TypeOf(DType dtype) {
  for (const TypeRow &row : kTypes) {
    if (row.dtype == dtype) return DLDataType{row.code, row.bits, 1};
  }
  return {};
}

DType DTypeOf(DLDataType type) {
  for (const TypeRow &row : kTypes) {
    if (row.code == type.code && row.bits == type.bits && type.lanes == 1) return row.dtype;
  }
  return DType::kInvalid;
}

// An exported tensor, with all the memory that it points to.
struct Export {
  DLManagedTensorVersioned managed{};
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  std::shared_ptr<const std::byte> data;
};

void DeleteExport(DLManagedTensorVersioned *managed) {
  if (managed != nullptr) delete static_cast<Export *>(managed->manager_ctx);
}

// DLPack 1.2 requires strides from producers, even for compact tensors.
std::vector<int64_t> CompactStrides(const std::vector<int64_t> &shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    if (shape[i] > 1) stride *= shape[i];
  }
  return strides;
}

// Returns "cuda:0", or "device type 99:0" for a type that is not known.
std::string NameOf(DLDevice device) {
  const auto *known = std::find_if(std::begin(kDevices), std::end(kDevices),
                                   [&](const auto &row) { return row.type == device.device_type; });
  const std::string type = known != std::end(kDevices) ? std::string(known->name)
                                                       : StrCat("device type ", device.device_type);
  return StrCat(type, ":", device.device_id);
}

Status CheckManaged(const DLManagedTensorVersioned &managed) {
  if (managed.version.major != dlpack::kMajorVersion) {
    return Unsupported(StrCat("the DLPack tensor has version ", managed.version.major, '.',
                              managed.version.minor, "; only 1.x is supported"));
  }
  const DLDevice device = managed.dl_tensor.device;
  const int32_t kind = device.device_type;
  if (kind != dlpack::kCpu && kind != dlpack::kCudaHost && kind != dlpack::kRocmHost) {
    const std::string name = NameOf(device);
    return Unsupported(StrCat("the DLPack tensor is on ", name,
                              ", not in host memory; copy it to the host, or save its statistics "
                              "by smd_hook_save_statistics()"))
        .With("device", name);
  }
  const DLDataType type = managed.dl_tensor.dtype;
  if (DTypeOf(type) == DType::kInvalid) {
    return Unsupported(StrCat("the DLPack type with code ", int{type.code}, ", ", int{type.bits},
                              " bits, ", int{type.lanes}, " lanes is not supported"));
  }
  return Status::Ok();
}

void Delete(DLManagedTensorVersioned *managed) {
  if (managed != nullptr && managed->deleter != nullptr) managed->deleter(managed);
}

}  // namespace

Result<DLManagedTensorVersioned *> ToDlpack(const Value &value) {
  const auto type = TypeOf(value.dtype);
  if (!type) return Unsupported("text has no DLPack form");
  auto exported = std::make_unique<Export>();
  exported->shape = value.shape;
  exported->strides = CompactStrides(value.shape);
  exported->data = value.data;
  DLManagedTensorVersioned &managed = exported->managed;
  managed.version = {dlpack::kMajorVersion, dlpack::kMinorVersion};
  managed.manager_ctx = exported.get();
  managed.deleter = DeleteExport;
  managed.flags = dlpack::kReadOnly;
  // DLPack has no const pointers; the kReadOnly flag replaces const.
  managed.dl_tensor.data = const_cast<std::byte *>(exported->data.get());
  managed.dl_tensor.device = {dlpack::kCpu, 0};
  managed.dl_tensor.ndim = static_cast<int32_t>(exported->shape.size());
  managed.dl_tensor.dtype = *type;
  managed.dl_tensor.shape = exported->shape.data();
  managed.dl_tensor.strides = exported->strides.data();
  return &exported.release()->managed;
}

DlpackTensor::DlpackTensor(DLManagedTensorVersioned *tensor) : tensor_(tensor, Delete) {}

Result<View> DlpackTensor::AsView() const {
  if (!tensor_) return InvalidArgument("the DLPack tensor is NULL");
  SMD_RETURN_IF_ERROR(CheckManaged(*tensor_));
  const DLTensor &tensor = tensor_->dl_tensor;
  const auto *data = static_cast<const std::byte *>(tensor.data);
  if (data != nullptr) {
    const auto address = reinterpret_cast<uintptr_t>(data);
    if (address + tensor.byte_offset < address) {
      return InvalidArgument("the DLPack tensor's byte_offset exceeds the address space");
    }
    data += tensor.byte_offset;
  }
  return View::Check(data, tensor.shape, tensor.strides, tensor.ndim, DTypeOf(tensor.dtype));
}

}  // namespace smdebug::tensor
