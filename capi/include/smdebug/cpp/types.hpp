// Modes, element types, and the element type of each C++ type.
#ifndef SMDEBUG_CPP_TYPES_HPP
#define SMDEBUG_CPP_TYPES_HPP

#include <complex>
#include <type_traits>

#include "smdebug/types.h"

namespace smdebug {

// The purpose of a step.  kGlobal counts all steps of a job in one sequence.
enum class Mode : smd_mode {
  kAny = SMD_MODE_ANY,
  kTrain = SMD_MODE_TRAIN,
  kEval = SMD_MODE_EVAL,
  kPredict = SMD_MODE_PREDICT,
  kGlobal = SMD_MODE_GLOBAL
};

// Element types.
enum class DType : smd_dtype {
  kInvalid = SMD_DTYPE_INVALID,
  kFloat16 = SMD_FLOAT16,
  kFloat32 = SMD_FLOAT32,
  kFloat64 = SMD_FLOAT64,
  kBFloat16 = SMD_BFLOAT16,
  kFloat8E5M2 = SMD_FLOAT8_E5M2,
  kFloat8E4M3FN = SMD_FLOAT8_E4M3FN,
  kInt8 = SMD_INT8,
  kInt16 = SMD_INT16,
  kInt32 = SMD_INT32,
  kInt64 = SMD_INT64,
  kUInt8 = SMD_UINT8,
  kUInt16 = SMD_UINT16,
  kUInt32 = SMD_UINT32,
  kUInt64 = SMD_UINT64,
  kBool = SMD_BOOL,
  kComplex64 = SMD_COMPLEX64,
  kComplex128 = SMD_COMPLEX128,
  kString = SMD_STRING
};

enum class StepState : smd_step_state {
  kUnavailable = SMD_STEP_IS_UNAVAILABLE,
  kAvailable = SMD_STEP_IS_AVAILABLE,
  kNotYet = SMD_STEP_IS_NOT_YET
};

// "TRAIN", "EVAL", ...; "" for anything else.  smd_mode_name().
inline const char *ModeName(Mode mode) noexcept {
  return smd_mode_name(static_cast<smd_mode>(mode));
}

// "float32", "bfloat16", ...; "" for anything else.  smd_dtype_name().
inline const char *DTypeName(DType dtype) noexcept {
  return smd_dtype_name(static_cast<smd_dtype>(dtype));
}

// Bytes of one element; 0 for strings.  smd_dtype_size().
inline size_t DTypeSize(DType dtype) noexcept {
  return smd_dtype_size(static_cast<smd_dtype>(dtype));
}

namespace detail {

template <class T>
constexpr bool kIsCharacter = std::is_same_v<T, char> || std::is_same_v<T, wchar_t> ||
                              std::is_same_v<T, char16_t> || std::is_same_v<T, char32_t>
#if defined(__cpp_char8_t)
                              || std::is_same_v<T, char8_t>
#endif
    ;

template <class T>
constexpr DType DTypeOf() {
  if constexpr (std::is_same_v<T, float>) return DType::kFloat32;
  if constexpr (std::is_same_v<T, double>) return DType::kFloat64;
  if constexpr (std::is_same_v<T, std::complex<float>>) return DType::kComplex64;
  if constexpr (std::is_same_v<T, std::complex<double>>) return DType::kComplex128;
  if constexpr (std::is_same_v<T, bool>) return DType::kBool;
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool> && !kIsCharacter<T>) {
    constexpr bool is_signed = std::is_signed_v<T>;
    switch (sizeof(T)) {
      case 1: return is_signed ? DType::kInt8 : DType::kUInt8;
      case 2: return is_signed ? DType::kInt16 : DType::kUInt16;
      case 4: return is_signed ? DType::kInt32 : DType::kUInt32;
      case 8: return is_signed ? DType::kInt64 : DType::kUInt64;
      default: break;
    }
  }
  return DType::kInvalid;
}

}  // namespace detail

// The element type of a C++ type.  Specialize it for a half type of your own:
//   template <> struct smdebug::ElementType<Half>
//       : std::integral_constant<smdebug::DType, smdebug::DType::kFloat16> {};
template <class T>
struct ElementType : std::integral_constant<DType, detail::DTypeOf<T>()> {};

// True if tensors can hold T.
template <class T>
constexpr bool kIsElement = ElementType<std::remove_cv_t<T>>::value != DType::kInvalid;

}  // namespace smdebug

#endif  // SMDEBUG_CPP_TYPES_HPP
