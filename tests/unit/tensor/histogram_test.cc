#include "tensor/histogram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "tensor/tensors.h"

namespace smdebug::tensor::histogram_test {
namespace {

using testing::ElementsAre;

std::optional<Histogram> Of(const std::vector<double> &numbers, DType dtype = DType::kFloat64) {
  return MakeHistogram(TensorOfNumbers(dtype, numbers).AsView());
}

TEST(HistogramTest, CountsBetweenTheLimitsAroundEachElement) {
  const auto histogram = Of({1.02, 1.02, 1.05});
  ASSERT_TRUE(histogram);
  ASSERT_EQ(histogram->limits.size(), 2U);
  EXPECT_LE(histogram->limits[0], 1.02);
  EXPECT_GT(histogram->limits[1], 1.05);
  EXPECT_NEAR(histogram->limits[1] / histogram->limits[0], 1.1, 1e-9);
  EXPECT_THAT(histogram->counts, ElementsAre(0, 3));
  EXPECT_EQ(histogram->count, 3);
  EXPECT_EQ(histogram->min, 1.02);
  EXPECT_EQ(histogram->max, 1.05);
  EXPECT_DOUBLE_EQ(histogram->sum, 3.09);
  EXPECT_DOUBLE_EQ(histogram->sum_squares, 3.1833);
}

TEST(HistogramTest, ALimitBelongsToTheBucketAboveIt) {
  const auto zero = Of({0});
  EXPECT_THAT(zero->limits, ElementsAre(0, 1e-12));
  const auto least = Of({1e-12});
  EXPECT_THAT(least->limits, ElementsAre(1e-12, 1e-12 * 1.1));
  const auto negative = Of({-1e-12});
  EXPECT_THAT(negative->limits, ElementsAre(-1e-12, 0));
}

TEST(HistogramTest, AgreesWithASearch) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> exponent(-14, 21);
  for (int i = 0; i < 20000; ++i) {
    const double number = (random() % 2 == 0 ? 1 : -1) * std::pow(10, exponent(random));
    const auto histogram = Of({number});
    ASSERT_EQ(histogram->limits.size(), 2U) << number;
    if (std::abs(number) < 0.9e20) {
      EXPECT_LE(histogram->limits[0], number);
      EXPECT_GT(histogram->limits[1], number);
    }
  }
}

TEST(HistogramTest, PutsOutliersInTheOutermostBuckets) {
  const auto histogram = Of({-1e300, 1e300});
  EXPECT_EQ(histogram->counts[1], 1);
  EXPECT_EQ(histogram->counts.back(), 1);
  EXPECT_EQ(std::accumulate(histogram->counts.begin(), histogram->counts.end(), 0.0), 2);
}

TEST(HistogramTest, OnlyFiniteElementsCount) {
  const double infinity = std::numeric_limits<double>::infinity();
  const auto histogram = Of({std::nan(""), 2, infinity, -infinity});
  EXPECT_EQ(histogram->count, 1);
  EXPECT_EQ(histogram->max, 2);
  EXPECT_FALSE(Of({std::nan("")}));
  EXPECT_FALSE(Of({}));
}

TEST(HistogramTest, SupportsEveryNumericTypeButBoolAndComplex) {
  for (const DType dtype : kRealTypes) {
    EXPECT_EQ(Of({1, 0, 1}, dtype).has_value(), dtype != DType::kBool) << DTypeName(dtype);
  }
  const std::vector<std::complex<double>> complex = {{1, 2}};
  EXPECT_FALSE(MakeHistogram(TensorOf(DType::kComplex128, complex).AsView()));
}

}  // namespace
}  // namespace smdebug::tensor::histogram_test
