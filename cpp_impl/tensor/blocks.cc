#include "tensor/blocks.h"

#include <array>
#include <cmath>
#include <complex>

#include "tensor/small_float.h"

namespace smdebug::tensor {
namespace {

// Decoding all 256 codes once is faster than decoding each element.
template <SmallFloat format>
const std::array<float, 256> &TableOf() {
  static const std::array<float, 256> kTable = [] {
    std::array<float, 256> numbers{};
    for (uint32_t bits = 0; bits < 256; ++bits) {
      numbers[bits] = static_cast<float>(DecodeSmallFloat(format, bits));
    }
    return numbers;
  }();
  return kTable;
}

template <SmallFloat format>
void WidenFloat8(const std::byte *from, size_t count, float *to) {
  const std::array<float, 256> &table = TableOf<format>();
  for (size_t i = 0; i < count; ++i) to[i] = table[std::to_integer<size_t>(from[i])];
}

template <class T, Part part>
void WidenComplex(const std::byte *from, size_t count, T *to) {
  const auto *numbers = reinterpret_cast<const T *>(from);
  for (size_t i = 0; i < count; ++i) {
    const T real = numbers[2 * i];
    const T imaginary = numbers[2 * i + 1];
    if constexpr (part == Part::kReal) {
      to[i] = real;
    } else if constexpr (part == Part::kImaginary) {
      to[i] = imaginary;
    } else {
      to[i] = std::hypot(real, imaginary);
    }
  }
}

template <class T>
ElementKernels<T> KernelsOfComplex(Part part) {
  switch (part) {
    case Part::kReal: return {nullptr, WidenComplex<T, Part::kReal>};
    case Part::kImaginary: return {nullptr, WidenComplex<T, Part::kImaginary>};
    default: return {nullptr, WidenComplex<T, Part::kMagnitude>};
  }
}

ElementAccess AsFloat(ElementKernels<float> kernels) { return {false, kernels, {}}; }
ElementAccess AsDouble(ElementKernels<double> kernels) { return {true, {}, kernels}; }

}  // namespace

ElementAccess AccessTo(DType dtype, Part part) {
  const Kernels &kernels = GetKernels();
  switch (dtype) {
    case DType::kFloat16: return AsFloat(kernels.of_float16);
    case DType::kFloat32: return AsFloat(kernels.of_float32);
    case DType::kFloat64: return AsDouble(kernels.of_float64);
    case DType::kBFloat16: return AsFloat(kernels.of_bfloat16);
    case DType::kFloat8E5M2: return AsFloat({nullptr, WidenFloat8<kFloat8E5M2Format>});
    case DType::kFloat8E4M3FN: return AsFloat({nullptr, WidenFloat8<kFloat8E4M3FNFormat>});
    case DType::kInt8: return AsFloat(kernels.of_int8);
    case DType::kInt16: return AsFloat(kernels.of_int16);
    case DType::kInt32: return AsDouble(kernels.of_int32);
    case DType::kInt64: return AsDouble(kernels.of_int64);
    case DType::kUInt8: return AsFloat(kernels.of_uint8);
    case DType::kUInt16: return AsFloat(kernels.of_uint16);
    case DType::kUInt32: return AsDouble(kernels.of_uint32);
    case DType::kUInt64: return AsDouble(kernels.of_uint64);
    case DType::kBool: return AsFloat(kernels.of_bool);
    case DType::kComplex64: return AsFloat(KernelsOfComplex<float>(part));
    case DType::kComplex128: return AsDouble(KernelsOfComplex<double>(part));
    case DType::kString:
    case DType::kInvalid: break;
  }
  return {};
}

}  // namespace smdebug::tensor
