// Creates tensors from numbers, and reads numbers from tensors.
#pragma once

#include <complex>
#include <cstring>
#include <numeric>
#include <type_traits>
#include <vector>

#include "tensor/small_float.h"
#include "tensor/value.h"
#include "tensor/view.h"

namespace smdebug::tensor {

inline constexpr DType kRealTypes[] = {
    DType::kFloat16,      DType::kFloat32, DType::kFloat64, DType::kBFloat16, DType::kFloat8E5M2,
    DType::kFloat8E4M3FN, DType::kInt8,    DType::kInt16,   DType::kInt32,    DType::kInt64,
    DType::kUInt8,        DType::kUInt16,  DType::kUInt32,  DType::kUInt64,   DType::kBool};

template <class T>
Value TensorOf(DType dtype, const std::vector<T> &elements, std::vector<int64_t> shape) {
  const auto *bytes = reinterpret_cast<const std::byte *>(elements.data());
  return Value::CopyOf(dtype, {bytes, elements.size() * sizeof(T)}, std::move(shape));
}

template <class T>
Value TensorOf(DType dtype, const std::vector<T> &elements) {
  return TensorOf(dtype, elements, {static_cast<int64_t>(elements.size())});
}

// Returns a tensor of the numbers rounded to the dtype; they must be in its range.
inline Value TensorOfNumbers(DType dtype, const std::vector<double> &numbers) {
  const auto as = [&](auto convert) {
    std::vector<std::decay_t<decltype(convert(0.0))>> elements;
    for (const double number : numbers) elements.push_back(convert(number));
    return TensorOf(dtype, elements);
  };
  const auto small = [&](SmallFloat format, auto bits) {
    return as([=](double x) { return static_cast<decltype(bits)>(EncodeSmallFloat(format, x)); });
  };
  switch (dtype) {
    case DType::kFloat16: return small(kFloat16Format, uint16_t{});
    case DType::kBFloat16: return small(kBFloat16Format, uint16_t{});
    case DType::kFloat8E5M2: return small(kFloat8E5M2Format, uint8_t{});
    case DType::kFloat8E4M3FN: return small(kFloat8E4M3FNFormat, uint8_t{});
    case DType::kFloat32: return as([](double x) { return static_cast<float>(x); });
    case DType::kInt8: return as([](double x) { return static_cast<int8_t>(x); });
    case DType::kInt16: return as([](double x) { return static_cast<int16_t>(x); });
    case DType::kInt32: return as([](double x) { return static_cast<int32_t>(x); });
    case DType::kInt64: return as([](double x) { return static_cast<int64_t>(x); });
    case DType::kUInt8: return as([](double x) { return static_cast<uint8_t>(x); });
    case DType::kUInt16: return as([](double x) { return static_cast<uint16_t>(x); });
    case DType::kUInt32: return as([](double x) { return static_cast<uint32_t>(x); });
    case DType::kUInt64: return as([](double x) { return static_cast<uint64_t>(x); });
    case DType::kBool: return as([](double x) { return static_cast<uint8_t>(x != 0); });
    default: return as([](double x) { return x; });
  }
}

// Returns numbers in the range of the dtype, with fractions if it supports them.
inline std::vector<double> SomeNumbers(DType dtype, size_t count) {
  std::vector<double> numbers(count);
  uint32_t state = 12345;
  for (double &number : numbers) {
    state = state * 1664525 + 1013904223;
    number = static_cast<double>(state >> 16) / 4096 - (IsUnsigned(dtype) ? 0 : 8);
    if (dtype == DType::kBool) number = state >> 31;
  }
  return numbers;
}

// Returns the element at these indices, by the definition of strides.
inline const std::byte *ElementAt(const View &view, const std::vector<int64_t> &indices) {
  int64_t offset = 0;
  int64_t compact_stride = 1;
  for (size_t i = indices.size(); i-- > 0;) {
    offset += indices[i] * (view.IsCompact() ? compact_stride : view.strides[i]);
    compact_stride *= view.shape[i];
  }
  const auto size = static_cast<int64_t>(DTypeSize(view.dtype));
  return static_cast<const std::byte *>(view.data) + offset * size;
}

// Returns the bytes of all elements in row-major order.
inline std::vector<std::byte> BytesInOrder(const View &view) {
  std::vector<std::byte> bytes;
  const size_t size = DTypeSize(view.dtype);
  std::vector<int64_t> indices(view.shape.size(), 0);
  for (int64_t n = 0; n < view.ElementCount(); ++n) {
    int64_t rest = n;
    for (size_t i = indices.size(); i-- > 0;) {
      indices[i] = rest % view.shape[i];
      rest /= view.shape[i];
    }
    const std::byte *element = ElementAt(view, indices);
    bytes.insert(bytes.end(), element, element + size);
  }
  return bytes;
}

inline std::vector<double> NumbersOf(const View &view) {
  const std::vector<std::byte> bytes = BytesInOrder(view);
  const size_t size = DTypeSize(view.dtype);
  std::vector<double> numbers;
  for (size_t i = 0; i < bytes.size(); i += size) {
    numbers.push_back(*ToDouble(Value::CopyOf(view.dtype, {bytes.data() + i, size}, {})));
  }
  return numbers;
}

}  // namespace smdebug::tensor
