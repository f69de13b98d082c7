#include "tensor/product.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tensor/tensors.h"

namespace smdebug::tensor::product_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double ProductOf(const Value &tensor) {
  return tensor::ProductOf(tensor.AsView(), Part::kWhole, *ComputeStatistics(tensor.AsView()));
}

double Of(const std::vector<double> &numbers) {
  return ProductOf(TensorOf(DType::kFloat64, numbers));
}

// The sizes are near those of vectors, of the steps between two exponents, and of blocks.
TEST(Product, SupportsEveryType) {
  for (const DType dtype : kRealTypes) {
    for (const size_t count : {1U, 2U, 7U, 16U, 17U, 127U, 129U, 500U, 2049U, 7777U}) {
      SCOPED_TRACE(std::string(DTypeName(dtype)) + " " + std::to_string(count));
      const Value tensor = TensorOfNumbers(dtype, SomeNumbers(dtype, count));
      long double product = 1;
      for (const double number : NumbersOf(tensor.AsView())) product *= number;
      const auto expected = static_cast<double>(product);
      const double actual = ProductOf(tensor);
      if (std::isinf(expected)) {
        EXPECT_EQ(actual, expected);
      } else {
        EXPECT_NEAR(actual, expected, 1e-13 * std::max(std::fabs(expected), 1e-300));
      }
    }
  }
}

TEST(Product, IsOneWithoutElements) { EXPECT_EQ(Of({}), 1); }

// In any order of factors, only the final product may leave the range.
TEST(Product, MayLeaveTheRangeInBetween) {
  for (const double extreme : {1e30, 1e80, 1e200, 1e300, 4e307}) {
    std::vector<double> numbers(1001, extreme);
    std::fill_n(numbers.begin() + 500, 500, 1 / extreme);
    numbers.back() = -7;
    EXPECT_NEAR(Of(numbers), -7, 1e-11) << extreme;
  }
  EXPECT_EQ(Of({1e-310, 1e300, 1e10, 2}), 1e-310 * 1e300 * 1e10 * 2);
}

TEST(Product, BecomesInfiniteOrZero) {
  EXPECT_EQ(Of(std::vector<double>(9999, -10)), -kInfinity);
  EXPECT_EQ(Of(std::vector<double>(9998, -10)), kInfinity);
  EXPECT_EQ(Of(std::vector<double>(9999, 0.1)), 0);
  EXPECT_TRUE(std::signbit(Of(std::vector<double>(9999, -0.1))));
  EXPECT_FALSE(std::signbit(Of(std::vector<double>(9998, -0.1))));
  EXPECT_EQ(Of({1e300, 1e300, 0}), 0);
}

// Just within the range, where neither bound of the magnitude decides.
TEST(Product, NearTheEndsOfTheRange) {
  EXPECT_EQ(Of(std::vector<double>(1023, 2)), 0x1p1023);
  EXPECT_EQ(Of(std::vector<double>(1024, 2)), kInfinity);
  EXPECT_EQ(Of(std::vector<double>(1074, 0.5)), 0x1p-1074);
  EXPECT_EQ(Of(std::vector<double>(1076, -0.5)), 0);
}

}  // namespace
}  // namespace smdebug::tensor::product_test
