#include "tensor/median.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tensor/tensors.h"

namespace smdebug::tensor::median_test {
namespace {

double SlowMedian(std::vector<double> numbers) {
  std::sort(numbers.begin(), numbers.end());
  const size_t middle = numbers.size() / 2;
  return numbers.size() % 2 != 0 ? numbers[middle] : (numbers[middle - 1] + numbers[middle]) / 2;
}

double Median(const Value &tensor, bool absolute = false) {
  return MedianOf(tensor.AsView(), Part::kWhole, absolute);
}

double Median(const std::vector<double> &numbers) {
  return Median(TensorOf(DType::kFloat64, numbers));
}

TEST(Median, AgreesWithSorting) {
  for (const DType dtype : kRealTypes) {
    for (const size_t count : {1U, 2U, 3U, 4U, 999U, 5000U}) {
      const Value tensor = TensorOfNumbers(dtype, SomeNumbers(dtype, count));
      std::vector<double> numbers = NumbersOf(tensor.AsView());
      EXPECT_EQ(Median(tensor), SlowMedian(numbers)) << DTypeName(dtype) << " " << count;
      for (double &number : numbers) number = std::fabs(number);
      EXPECT_EQ(Median(tensor, true), SlowMedian(numbers)) << DTypeName(dtype) << " " << count;
    }
  }
}

TEST(Median, IsTheMeanOfTheMiddleTwo) {
  EXPECT_EQ(Median({1, 2}), 1.5);
  EXPECT_EQ(Median({5, 5, 5, 5}), 5);
  EXPECT_EQ(Median({-1, -1, 1, 1}), 0);
  EXPECT_EQ(Median({1, 2, 2, 3}), 2);
}

TEST(Median, DistinguishesAdjacentNumbers) {
  const double next = std::nextafter(1.0, 2.0);
  EXPECT_EQ(Median({next, 1, next}), next);
  EXPECT_EQ(Median({-next, -1, -1}), -1);
}

TEST(Median, TheMiddleDoesNotOverflow) {
  constexpr double kMost = std::numeric_limits<double>::max();
  EXPECT_EQ(Median({kMost, kMost}), kMost);
  EXPECT_EQ(Median({-kMost, kMost}), 0);
}

TEST(Median, InfinitiesAreNumbers) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(Median({kInfinity, 1, -kInfinity}), 1);
  EXPECT_EQ(Median({1, kInfinity, kInfinity}), kInfinity);
  EXPECT_TRUE(std::isnan(Median({-kInfinity, kInfinity})));
}

}  // namespace
}  // namespace smdebug::tensor::median_test
