// Element types, and their numbers in the C interface and in the files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace smdebug::tensor {

// Each value equals that of the same type in smd_dtype.
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

// Returns the dtype with this number, or nothing if there is none; 0 is no dtype.
std::optional<DType> DTypeFromNumber(int64_t number);

// Returns the name ("float32", "bfloat16", "string", ...), or "" for kInvalid.
std::string_view DTypeName(DType dtype);

// Returns the size of one element in bytes; 0 for kString and kInvalid.
size_t DTypeSize(DType dtype);

// Returns the number used in files (TensorFlow's DataType).  It is 0 for kString: the
// original writes text that way.
int32_t DTypeToFile(DType dtype);

// Returns the dtype of a number in a file, or nothing if it is unknown.  Quantised integers
// (11-13, 15, 16) are read as plain integers; 0 and 7 are text.
std::optional<DType> DTypeFromFile(int64_t number);

bool IsFloat(DType dtype);  // any width, not complex
bool IsComplex(DType dtype);
bool IsSigned(DType dtype);    // signed integers
bool IsUnsigned(DType dtype);  // unsigned integers, not bool

}  // namespace smdebug::tensor
