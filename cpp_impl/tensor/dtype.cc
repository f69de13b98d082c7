#include "tensor/dtype.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace smdebug::tensor {
namespace {

enum class Kind : uint8_t { kFloat, kSigned, kUnsigned, kBool, kComplex, kText };

struct Row {
  DType dtype;
  Kind kind;
  uint8_t size;
  int32_t file_number;
  std::string_view name;
};

constexpr Row kRows[] = {
    {DType::kFloat16, Kind::kFloat, 2, 19, "float16"},
    {DType::kFloat32, Kind::kFloat, 4, 1, "float32"},
    {DType::kFloat64, Kind::kFloat, 8, 2, "float64"},
    {DType::kBFloat16, Kind::kFloat, 2, 14, "bfloat16"},
    {DType::kFloat8E5M2, Kind::kFloat, 1, 24, "float8_e5m2"},
    {DType::kFloat8E4M3FN, Kind::kFloat, 1, 25, "float8_e4m3fn"},
    {DType::kInt8, Kind::kSigned, 1, 6, "int8"},
    {DType::kInt16, Kind::kSigned, 2, 5, "int16"},
    {DType::kInt32, Kind::kSigned, 4, 3, "int32"},
    {DType::kInt64, Kind::kSigned, 8, 9, "int64"},
    {DType::kUInt8, Kind::kUnsigned, 1, 4, "uint8"},
    {DType::kUInt16, Kind::kUnsigned, 2, 17, "uint16"},
    {DType::kUInt32, Kind::kUnsigned, 4, 22, "uint32"},
    {DType::kUInt64, Kind::kUnsigned, 8, 23, "uint64"},
    {DType::kBool, Kind::kBool, 1, 10, "bool"},
    {DType::kComplex64, Kind::kComplex, 8, 8, "complex64"},
    {DType::kComplex128, Kind::kComplex, 16, 18, "complex128"},
    {DType::kString, Kind::kText, 0, 0, "string"},
};

// Indexed by number: each recorded tensor has its dtype checked, so the check must be fast.
constexpr auto kKnown = [] {
  std::array<bool, static_cast<size_t>(DType::kString) + 1> known{};
  for (const Row &row : kRows) known[static_cast<size_t>(row.dtype)] = true;
  return known;
}();

const Row *Find(DType dtype) {
  const auto *row = std::find_if(std::begin(kRows), std::end(kRows),
                                 [dtype](const Row &r) { return r.dtype == dtype; });
  return row == std::end(kRows) ? nullptr : row;
}

bool IsKind(DType dtype, Kind kind) {
  const Row *row = Find(dtype);
  return row != nullptr && row->kind == kind;
}

}  // namespace

std::optional<DType> DTypeFromNumber(int64_t number) {
  if (number < 0 || number >= static_cast<int64_t>(kKnown.size())) return {};
  if (!kKnown[static_cast<size_t>(number)]) return {};
  return static_cast<DType>(number);
}

std::string_view DTypeName(DType dtype) {
  const Row *row = Find(dtype);
  return row != nullptr ? row->name : "";
}

size_t DTypeSize(DType dtype) {
  const Row *row = Find(dtype);
  return row != nullptr ? row->size : 0;
}

int32_t DTypeToFile(DType dtype) {
  const Row *row = Find(dtype);
  return row != nullptr ? row->file_number : 0;
}

std::optional<DType> DTypeFromFile(int64_t number) {
  switch (number) {
    case 7: return DType::kString;
    case 11: return DType::kInt8;
    case 12: return DType::kUInt8;
    case 13: return DType::kInt32;
    case 15: return DType::kInt16;
    case 16: return DType::kUInt16;
    default: break;
  }
  for (const Row &row : kRows) {
    if (row.file_number == number) return row.dtype;
  }
  return {};
}

bool IsFloat(DType dtype) { return IsKind(dtype, Kind::kFloat); }
bool IsComplex(DType dtype) { return IsKind(dtype, Kind::kComplex); }
bool IsSigned(DType dtype) { return IsKind(dtype, Kind::kSigned); }
bool IsUnsigned(DType dtype) { return IsKind(dtype, Kind::kUnsigned); }

}  // namespace smdebug::tensor
