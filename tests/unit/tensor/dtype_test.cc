#include "tensor/dtype.h"

#include <gtest/gtest.h>

namespace smdebug::tensor::dtype_test {
namespace {

struct Row {
  DType dtype;
  int32_t number;
  int32_t file_number;
  size_t size;
  const char *name;
};

// The C interface and the file format guarantee these numbers.
constexpr Row kRows[] = {
    {DType::kFloat16, 1, 19, 2, "float16"},
    {DType::kFloat32, 2, 1, 4, "float32"},
    {DType::kFloat64, 3, 2, 8, "float64"},
    {DType::kBFloat16, 4, 14, 2, "bfloat16"},
    {DType::kFloat8E5M2, 5, 24, 1, "float8_e5m2"},
    {DType::kFloat8E4M3FN, 6, 25, 1, "float8_e4m3fn"},
    {DType::kInt8, 10, 6, 1, "int8"},
    {DType::kInt16, 11, 5, 2, "int16"},
    {DType::kInt32, 12, 3, 4, "int32"},
    {DType::kInt64, 13, 9, 8, "int64"},
    {DType::kUInt8, 20, 4, 1, "uint8"},
    {DType::kUInt16, 21, 17, 2, "uint16"},
    {DType::kUInt32, 22, 22, 4, "uint32"},
    {DType::kUInt64, 23, 23, 8, "uint64"},
    {DType::kBool, 30, 10, 1, "bool"},
    {DType::kComplex64, 40, 8, 8, "complex64"},
    {DType::kComplex128, 41, 18, 16, "complex128"},
    {DType::kString, 50, 0, 0, "string"},
};

TEST(DType, Table) {
  for (const Row &row : kRows) {
    EXPECT_EQ(static_cast<int32_t>(row.dtype), row.number) << row.name;
    EXPECT_EQ(DTypeFromNumber(row.number), row.dtype) << row.name;
    EXPECT_EQ(DTypeToFile(row.dtype), row.file_number) << row.name;
    EXPECT_EQ(DTypeFromFile(row.file_number), row.dtype) << row.name;
    EXPECT_EQ(DTypeSize(row.dtype), row.size) << row.name;
    EXPECT_EQ(DTypeName(row.dtype), row.name);
  }
}

TEST(DType, RefusesOtherNumbers) {
  size_t known = 0;
  for (int64_t number = -300; number < 300; ++number) known += DTypeFromNumber(number) ? 1U : 0U;
  EXPECT_EQ(known, std::size(kRows));
  EXPECT_FALSE(DTypeFromNumber(0));
  EXPECT_FALSE(DTypeFromNumber((int64_t{1} << 32) + 1));
  EXPECT_FALSE(DTypeFromFile(20));   // resource
  EXPECT_FALSE(DTypeFromFile(101));  // a reference to float
  EXPECT_FALSE(DTypeFromFile(-1));
}

TEST(DType, QuantisedIntegersAreReadAsIntegers) {
  EXPECT_EQ(DTypeFromFile(11), DType::kInt8);
  EXPECT_EQ(DTypeFromFile(12), DType::kUInt8);
  EXPECT_EQ(DTypeFromFile(13), DType::kInt32);
  EXPECT_EQ(DTypeFromFile(15), DType::kInt16);
  EXPECT_EQ(DTypeFromFile(16), DType::kUInt16);
}

TEST(DType, TextHasTwoNumbersInFiles) {
  EXPECT_EQ(DTypeFromFile(0), DType::kString);
  EXPECT_EQ(DTypeFromFile(7), DType::kString);
}

TEST(DType, InvalidHasNothing) {
  EXPECT_EQ(DTypeName(DType::kInvalid), "");
  EXPECT_EQ(DTypeSize(DType::kInvalid), 0U);
  EXPECT_EQ(DTypeToFile(DType::kInvalid), 0);
}

TEST(DType, HasAtMostOneKind) {
  for (const Row &row : kRows) {
    const int kinds = int{IsFloat(row.dtype)} + int{IsComplex(row.dtype)} +
                      int{IsSigned(row.dtype)} + int{IsUnsigned(row.dtype)};
    const bool has_none = row.dtype == DType::kBool || row.dtype == DType::kString;
    EXPECT_EQ(kinds, has_none ? 0 : 1) << row.name;
  }
  EXPECT_TRUE(IsFloat(DType::kFloat8E4M3FN));
  EXPECT_TRUE(IsSigned(DType::kInt64));
  EXPECT_TRUE(IsUnsigned(DType::kUInt8));
  EXPECT_TRUE(IsComplex(DType::kComplex64));
}

}  // namespace
}  // namespace smdebug::tensor::dtype_test
