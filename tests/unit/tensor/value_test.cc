#include "tensor/value.h"

#include <gtest/gtest.h>

#include <complex>

#include "tensor/tensors.h"

namespace smdebug::tensor::value_test {
namespace {

TEST(Value, CopyOfIsAlignedAndIndependent) {
  std::vector<float> elements = {1, 2, 3, 4, 5, 6};
  const Value value = TensorOf(DType::kFloat32, elements, {2, 3});
  elements[0] = 9;
  EXPECT_EQ(reinterpret_cast<uintptr_t>(value.data.get()) % 64, 0U);
  EXPECT_EQ(value.size, 24U);
  EXPECT_EQ(NumbersOf(value.AsView()), (std::vector<double>{1, 2, 3, 4, 5, 6}));
}

TEST(Value, CopiesShareElements) {
  const Value value = TensorOf<float>(DType::kFloat32, {1, 2});
  const Value copy = value;
  EXPECT_EQ(copy.data.get(), value.data.get());
  EXPECT_EQ(value.data.use_count(), 2);
}

TEST(Value, WithoutElementsHasNoData) {
  const Value value = Value::CopyOf(DType::kFloat32, {}, {0, 3});
  EXPECT_EQ(value.data, nullptr);
  EXPECT_EQ(value.size, 0U);
  EXPECT_EQ(value.AsView().ElementCount(), 0);
}

TEST(Value, ScalarHasTheGivenShape) {
  EXPECT_TRUE(Value::Scalar(DType::kFloat64, 2.5).shape.empty());
  const Value value = Value::Scalar(DType::kFloat64, 2.5, {1});
  EXPECT_EQ(value.shape, std::vector<int64_t>{1});
  EXPECT_EQ(*ToDouble(value), 2.5);
}

TEST(ToDouble, ReadsEveryNumericType) {
  for (const DType dtype : kRealTypes) {
    EXPECT_EQ(*ToDouble(TensorOfNumbers(dtype, {1})), 1) << DTypeName(dtype);
  }
  EXPECT_EQ(*ToDouble(Value::Scalar(DType::kInt8, int8_t{-128})), -128);
  EXPECT_EQ(*ToDouble(Value::Scalar(DType::kUInt8, uint8_t{255})), 255);
  EXPECT_EQ(*ToDouble(Value::Scalar(DType::kUInt64, ~uint64_t{0})), 0x1p64);
  EXPECT_EQ(*ToDouble(Value::Scalar(DType::kBool, uint8_t{1})), 1);
  EXPECT_EQ(*ToDouble(Value::Scalar(DType::kComplex64, std::complex<float>(3, 4))), 3);
  EXPECT_EQ(*ToDouble(Value::Scalar(DType::kComplex128, std::complex<double>(3, 4))), 3);
}

TEST(ToDouble, RefusesOtherThanOneNumber) {
  const auto code = [](const Value &value) { return ToDouble(value).GetStatus().GetCode(); };
  EXPECT_EQ(code(TensorOf<float>(DType::kFloat32, {1, 2})), Code::kInvalidArgument);
  EXPECT_EQ(code(Value::CopyOf(DType::kFloat32, {}, {0})), Code::kInvalidArgument);
  Value text;
  text.dtype = DType::kString;
  EXPECT_EQ(code(text), Code::kUnsupported);
}

}  // namespace
}  // namespace smdebug::tensor::value_test
