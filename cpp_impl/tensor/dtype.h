// Element types: one table of the numbers in the C interface, in the files, and in
// DLPack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace smdebug::tensor {

// The numbers are those of smd_dtype.
enum class DType : int32_t {
  kInvalid = 0,
  kFloat16 = 1,
  kFloat32 = 2,
  kFloat64 = 3,
  kBFloat16 = 4,
  kFloat8E5M2 = 5,
  kFloat8E4M3FN = 6,
  kInt8 = 10,
  kInt16 = 11,
  kInt32 = 12,
  kInt64 = 13,
  kUInt8 = 20,
  kUInt16 = 21,
  kUInt32 = 22,
  kUInt64 = 23,
  kBool = 30,
  kComplex64 = 40,
  kComplex128 = 41,
  kString = 50,
};

// Of such a number, or nothing (also for 0).
std::optional<DType> DTypeFromNumber(int64_t number);

// "float32", "bfloat16", "string", ...; "" for kInvalid.
std::string_view DTypeName(DType dtype);

// Bytes of one element; 0 for kString and kInvalid.
size_t DTypeSize(DType dtype);

// The number the files use (TensorFlow's DataType); 0 for kString, as the original
// writes text.
int32_t DTypeToFile(DType dtype);

// Of a file's number, or nothing.  Quantised integers (11-13, 15, 16) are read as
// the integers they are; 0 and 7 are text.
std::optional<DType> DTypeFromFile(int64_t number);

bool IsFloat(DType dtype);  // any width, not complex
bool IsComplex(DType dtype);
bool IsSigned(DType dtype);    // signed integers
bool IsUnsigned(DType dtype);  // unsigned integers, not bool

}  // namespace smdebug::tensor
