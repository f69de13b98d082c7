#include "tensor/exact.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>
#include <vector>

#include "tensor/blocks.h"

namespace smdebug::tensor {
namespace {

// Calls `work` with a zero of the dtype's C++ type; bool is read as uint8_t.
template <class Work>
auto WithInteger(DType dtype, Work work) {
  switch (dtype) {
    case DType::kInt8: return work(int8_t{});
    case DType::kInt16: return work(int16_t{});
    case DType::kInt32: return work(int32_t{});
    case DType::kInt64: return work(int64_t{});
    case DType::kUInt16: return work(uint16_t{});
    case DType::kUInt32: return work(uint32_t{});
    case DType::kUInt64: return work(uint64_t{});
    default: return work(uint8_t{});
  }
}

template <class T>
T Absolute(T number) {
  using Unsigned = std::make_unsigned_t<T>;
  return number < 0 ? static_cast<T>(Unsigned{0} - static_cast<Unsigned>(number)) : number;
}

template <class T>
uint64_t Extended(T number) {
  using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
  return static_cast<uint64_t>(Wide{number});
}

template <class Combine>
uint64_t Fold(const View &view, bool absolute, uint64_t total, Combine combine) {
  const bool is_bool = view.dtype == DType::kBool;
  return WithInteger(view.dtype, [&](auto zero) {
    using T = decltype(zero);
    ForEachBlock(view, [&](const std::byte *elements, size_t count) {
      const auto *x = reinterpret_cast<const T *>(elements);
      for (size_t i = 0; i < count; ++i) {
        const T number = is_bool ? static_cast<T>(x[i] != 0) : x[i];
        total = combine(total, Extended(absolute ? Absolute(number) : number));
      }
    });
    return total;
  });
}

template <class T>
std::complex<double> ProductOf(const View &view) {
  double real = 1;
  double imaginary = 0;
  ForEachBlock(view, [&](const std::byte *elements, size_t count) {
    const auto *x = reinterpret_cast<const T *>(elements);
    for (size_t i = 0; i < count; ++i) {
      const auto a = static_cast<double>(x[2 * i]);
      const auto b = static_cast<double>(x[2 * i + 1]);
      const double next = real * a - imaginary * b;
      imaginary = real * b + imaginary * a;
      real = next;
    }
  });
  return {real, imaginary};
}

}  // namespace

uint64_t IntegerSum(const View &view, bool absolute) {
  return Fold(view, absolute, 0, [](uint64_t a, uint64_t b) { return a + b; });
}

uint64_t IntegerProduct(const View &view, bool absolute) {
  return Fold(view, absolute, 1, [](uint64_t a, uint64_t b) { return a * b; });
}

IntegerRange RangeOfIntegers(const View &view) {
  return WithInteger(view.dtype, [&](auto zero) {
    using T = decltype(zero);
    T min = std::numeric_limits<T>::max();
    T max = std::numeric_limits<T>::min();
    ForEachBlock(view, [&](const std::byte *elements, size_t count) {
      const auto *x = reinterpret_cast<const T *>(elements);
      for (size_t i = 0; i < count; ++i) {
        min = std::min(min, x[i]);
        max = std::max(max, x[i]);
      }
    });
    return IntegerRange{Extended(min), Extended(max)};
  });
}

Value AbsoluteIntegers(const View &view) {
  std::vector<std::byte> out(view.ByteCount());
  WithInteger(view.dtype, [&](auto zero) {
    using T = decltype(zero);
    size_t filled = 0;
    ForEachBlock(view, [&](const std::byte *elements, size_t count) {
      for (size_t i = 0; i < count; ++i, filled += sizeof(T)) {
        T number;
        std::memcpy(&number, elements + i * sizeof(T), sizeof number);
        number = Absolute(number);
        std::memcpy(out.data() + filled, &number, sizeof number);
      }
    });
  });
  return Value::CopyOf(view.dtype, out, {view.ElementCount()});
}

std::complex<double> ComplexExtreme(const View &view, bool is_max) {
  const auto find = [&]<class Real>(Real) {
    std::optional<std::complex<double>> extreme;
    const auto is_nan = [](std::complex<double> x) {
      return std::isnan(x.real()) || std::isnan(x.imag());
    };
    const auto precedes = [](std::complex<double> a, std::complex<double> b) {
      return a.real() != b.real() ? a.real() < b.real() : a.imag() < b.imag();
    };
    ForEachBlock(view, [&](const std::byte *elements, size_t count) {
      const auto *parts = reinterpret_cast<const Real *>(elements);
      for (size_t i = 0; i < count; ++i, parts += 2) {
        const std::complex<double> x(parts[0], parts[1]);
        if (extreme && is_nan(*extreme)) return;
        const bool is_better =
            !extreme || is_nan(x) || (is_max ? precedes(*extreme, x) : precedes(x, *extreme));
        if (is_better) extreme = x;
      }
    });
    return extreme.value_or(std::complex<double>());
  };
  return view.dtype == DType::kComplex64 ? find(0.0F) : find(0.0);
}

std::complex<double> ComplexProduct(const View &view) {
  return view.dtype == DType::kComplex64 ? ProductOf<float>(view) : ProductOf<double>(view);
}

}  // namespace smdebug::tensor
