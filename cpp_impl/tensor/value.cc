#include "tensor/value.h"

#include <cstring>
#include <utility>

#include "base/strings.h"
#include "tensor/small_float.h"

namespace smdebug::tensor {
namespace {

template <class T>
T Load(const std::byte *data) {
  T element;
  std::memcpy(&element, data, sizeof element);
  return element;
}

double NumberAt(DType dtype, const std::byte *data) {
  switch (dtype) {
    case DType::kFloat16: return DecodeSmallFloat(kFloat16Format, Load<uint16_t>(data));
    case DType::kBFloat16: return DecodeSmallFloat(kBFloat16Format, Load<uint16_t>(data));
    case DType::kFloat8E5M2: return DecodeSmallFloat(kFloat8E5M2Format, Load<uint8_t>(data));
    case DType::kFloat8E4M3FN: return DecodeSmallFloat(kFloat8E4M3FNFormat, Load<uint8_t>(data));
    case DType::kFloat32:
    case DType::kComplex64: return static_cast<double>(Load<float>(data));
    case DType::kFloat64:
    case DType::kComplex128: return Load<double>(data);
    case DType::kInt8: return Load<int8_t>(data);
    case DType::kInt16: return Load<int16_t>(data);
    case DType::kInt32: return Load<int32_t>(data);
    case DType::kInt64: return static_cast<double>(Load<int64_t>(data));
    case DType::kUInt8: return Load<uint8_t>(data);
    case DType::kUInt16: return Load<uint16_t>(data);
    case DType::kUInt32: return Load<uint32_t>(data);
    case DType::kUInt64: return static_cast<double>(Load<uint64_t>(data));
    case DType::kBool: return Load<uint8_t>(data) != 0 ? 1 : 0;
    case DType::kString:
    case DType::kInvalid: break;
  }
  return 0;
}

}  // namespace

Value Value::CopyOf(DType dtype, ByteSpan bytes, std::vector<int64_t> shape) {
  Value value;
  value.dtype = dtype;
  value.shape = std::move(shape);
  value.size = bytes.size();
  if (bytes.empty()) return value;
  auto buffer = std::make_shared<AlignedBuffer>(bytes.size());
  std::memcpy(buffer->Data(), bytes.data(), bytes.size());
  const std::byte *data = buffer->Data();
  value.data = std::shared_ptr<const std::byte>(std::move(buffer), data);
  return value;
}

Result<double> ToDouble(const Value &value) { return ToDouble(value.dtype, value.Bytes()); }

Result<double> ToDouble(DType dtype, ByteSpan element) {
  const size_t size = DTypeSize(dtype);
  if (size == 0) return Unsupported("text is not a number");
  if (element.size() != size) {
    return InvalidArgument(
        StrCat("a tensor of ", element.size() / size, " elements is not one number"));
  }
  return NumberAt(dtype, element.data());
}

}  // namespace smdebug::tensor
