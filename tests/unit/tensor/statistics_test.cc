#include "tensor/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "tensor/product.h"
#include "tensor/tensors.h"

namespace smdebug::tensor::statistics_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Computes the figures from their definitions, in two passes and with more digits.
Statistics::Moments SlowMoments(const std::vector<double> &numbers) {
  const auto count = static_cast<long double>(numbers.size());
  long double sum = 0;
  for (const double number : numbers) sum += number;
  long double squares = 0;
  for (const double number : numbers) {
    const long double distance = number - sum / count;
    squares += distance * distance;
  }
  const auto [min, max] = std::minmax_element(numbers.begin(), numbers.end());
  return {*min, *max, static_cast<double>(sum / count), static_cast<double>(squares / count),
          static_cast<double>(sum)};
}

std::vector<double> Absolute(std::vector<double> numbers) {
  for (double &number : numbers) number = std::fabs(number);
  return numbers;
}

// A few units in the last place.
constexpr double kUsual = 1e-13;

// Sums of 16-bit floats lose more, and variances more than sums.
double ToleranceOf(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBFloat16 ? 0x1p-16 : kUsual;
}

// Expects equality within the tolerance, relative to `scale` if terms cancelled.
void ExpectNear(double actual, double expected, double scale, const char *what,
                double tolerance = kUsual) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(actual)) << what;
  } else if (std::isinf(expected)) {
    EXPECT_EQ(actual, expected) << what;
  } else {
    EXPECT_NEAR(actual, expected, tolerance * std::max(std::fabs(expected), scale)) << what;
  }
}

void ExpectMoments(const Statistics::Moments &actual, const std::vector<double> &numbers,
                   double tolerance) {
  const Statistics::Moments expected = SlowMoments(numbers);
  const Statistics::Moments absolute = SlowMoments(Absolute(numbers));
  EXPECT_EQ(actual.min, expected.min);
  EXPECT_EQ(actual.max, expected.max);
  ExpectNear(actual.sum, expected.sum, absolute.sum, "sum", tolerance);
  ExpectNear(actual.mean, expected.mean, absolute.mean, "mean", tolerance);
  ExpectNear(actual.variance, expected.variance, 0, "variance", tolerance);
}

void ExpectStatistics(const View &view) {
  const std::vector<double> numbers = NumbersOf(view);
  const double tolerance = ToleranceOf(view.dtype);
  const auto statistics = ComputeStatistics(view);
  ASSERT_TRUE(statistics.IsOk());
  EXPECT_EQ(statistics->count, static_cast<int64_t>(numbers.size()));
  EXPECT_EQ(statistics->nan_count, 0);
  EXPECT_EQ(statistics->inf_count, 0);
  EXPECT_EQ(statistics->zero_count, std::count(numbers.begin(), numbers.end(), 0));
  ExpectMoments(statistics->plain, numbers, tolerance);
  ExpectMoments(statistics->absolute, Absolute(numbers), tolerance);
  long double squares = 0;
  for (const double number : numbers) squares += static_cast<long double>(number) * number;
  ExpectNear(statistics->l1, SlowMoments(Absolute(numbers)).sum, 0, "l1", tolerance);
  ExpectNear(statistics->l2, static_cast<double>(std::sqrt(squares)), 0, "l2", tolerance);
}

Statistics Of(const std::vector<double> &numbers) {
  return *ComputeStatistics(TensorOf(DType::kFloat64, numbers).AsView());
}

std::vector<double> Generate(size_t count, const std::function<double(double)> &make) {
  std::vector<double> numbers = SomeNumbers(DType::kFloat64, count);
  for (double &number : numbers) number = make(number);
  return numbers;
}

class StatisticsOfType : public testing::TestWithParam<DType> {};

// The sizes are near those of vectors, of the steps between two exponents, and of
// blocks.
TEST_P(StatisticsOfType, AgreeWithTheDefinitions) {
  for (const size_t count :
       {1U, 2U, 7U, 8U, 9U, 15U, 16U, 17U, 127U, 128U, 129U, 1000U, 2047U, 2048U, 2049U, 7777U}) {
    SCOPED_TRACE(count);
    const Value tensor = TensorOfNumbers(GetParam(), SomeNumbers(GetParam(), count));
    ExpectStatistics(tensor.AsView());
  }
}

TEST_P(StatisticsOfType, DoNotDependOnStrides) {
  const Value tensor = TensorOfNumbers(GetParam(), SomeNumbers(GetParam(), 6000));
  const auto with = [&](std::vector<int64_t> shape, std::vector<int64_t> strides, size_t offset) {
    const std::byte *data = tensor.data.get() + offset * DTypeSize(GetParam());
    const auto view = View::Check(data, shape.data(), strides.data(),
                                  static_cast<int32_t>(shape.size()), GetParam());
    ASSERT_TRUE(view.IsOk());
    ExpectStatistics(*view);
  };
  with({60, 100}, {1, 60}, 0);          // transposed: one run of memory after all
  with({50, 70}, {100, 1}, 0);          // short runs
  with({10, 500}, {600, 1}, 0);         // long runs
  with({2500}, {2}, 1);                 // every other
  with({3000}, {-1}, 4000);             // backwards
  with({3, 1000}, {0, 1}, 5);           // repeated
  with({7, 11, 13}, {1, 13, 200}, 20);  // in neither order
}

// Elements of a file or a packed struct may be unaligned.
TEST_P(StatisticsOfType, NeedNoAlignment) {
  const Value tensor = TensorOfNumbers(GetParam(), SomeNumbers(GetParam(), 3000));
  std::vector<std::byte> memory(tensor.size + 1);
  std::copy_n(tensor.data.get(), tensor.size, memory.begin() + 1);
  ExpectStatistics({memory.data() + 1, tensor.shape, {}, GetParam()});
}

INSTANTIATE_TEST_SUITE_P(EveryType, StatisticsOfType, testing::ValuesIn(kRealTypes),
                         [](const auto &test) { return std::string(DTypeName(test.param)); });

TEST(Statistics, BoolIsTrueIfNonzero) {
  const Value tensor = TensorOf<uint8_t>(DType::kBool, {0, 1, 2, 0xFF});
  EXPECT_EQ(ComputeStatistics(tensor.AsView())->plain.sum, 3);
}

TEST(Statistics, LargeIntegersAreRounded) {
  const Value tensor = TensorOf<uint64_t>(DType::kUInt64, {~uint64_t{0}, 1, 0});
  const Statistics statistics = *ComputeStatistics(tensor.AsView());
  EXPECT_EQ(statistics.plain.max, 0x1p64);
  EXPECT_EQ(statistics.zero_count, 1);
}

TEST(Statistics, WithoutElements) {
  const Statistics statistics = Of({});
  EXPECT_EQ(statistics.count, 0);
  EXPECT_TRUE(std::isnan(statistics.plain.min));
  EXPECT_TRUE(std::isnan(statistics.plain.max));
  EXPECT_TRUE(std::isnan(statistics.plain.mean));
  EXPECT_TRUE(std::isnan(statistics.plain.variance));
  EXPECT_EQ(statistics.plain.sum, 0);
  EXPECT_EQ(statistics.absolute.sum, 0);
  EXPECT_EQ(statistics.l1, 0);
  EXPECT_EQ(statistics.l2, 0);
}

TEST(Statistics, ComplexAndTextAreRefused) {
  const Value complex = TensorOf<float>(DType::kComplex64, {1, 2}, {1});
  EXPECT_EQ(ComputeStatistics(complex.AsView()).GetStatus().GetCode(), Code::kUnsupported);
  const char *texts[] = {"a"};
  const int64_t shape[] = {1};
  EXPECT_EQ(ComputeStatistics({texts, shape, {}, DType::kString}).GetStatus().GetCode(),
            Code::kUnsupported);
}

// A plain sum of squares would lose all digits of these variances.
TEST(Statistics, VarianceSurvivesALargeMean) {
  for (const double mean : {1e3, 1e8, -1e8, 1e12}) {
    SCOPED_TRACE(mean);
    ExpectStatistics(
        TensorOf(DType::kFloat64, Generate(9000, [=](double x) { return mean + x; })).AsView());
  }
  const auto numbers = Generate(9000, [](double x) { return 1e8 + 100 * x; });
  ExpectStatistics(TensorOfNumbers(DType::kFloat32, numbers).AsView());
}

TEST(Statistics, VarianceOfAbsoluteValuesSurvivesMixedSigns) {
  const auto numbers = Generate(9000, [](double x) { return x < 0 ? x - 1e8 : x + 1e8; });
  ExpectStatistics(TensorOf(DType::kFloat64, numbers).AsView());
}

TEST(Statistics, VarianceSurvivesAMovingMean) {
  std::vector<double> numbers = SomeNumbers(DType::kFloat64, 9000);
  for (size_t i = 4000; i < numbers.size(); ++i) numbers[i] += 1e9;
  ExpectStatistics(TensorOf(DType::kFloat64, numbers).AsView());
}

TEST(Statistics, ConstantsHaveNoVariance) {
  const Statistics statistics = Of(std::vector<double>(5000, 0.1));
  EXPECT_EQ(statistics.plain.variance, 0);
  EXPECT_EQ(statistics.absolute.variance, 0);
  EXPECT_DOUBLE_EQ(statistics.plain.mean, 0.1);
}

// 1 is lost if added to 1e16 alone.
TEST(Statistics, SumKeepsRoundingErrors) {
  std::vector<double> numbers(size_t{10} * 2048, 0);
  numbers[0] = 1e16;
  numbers.back() = -1e16;
  for (size_t i = 1; i < 9; ++i) numbers[i * 2048] = 1;
  EXPECT_EQ(Of(numbers).plain.sum, 8);
}

TEST(Statistics, SquaresNeitherOverflowNorUnderflow) {
  const Statistics large = Of({3e300, -4e300});
  EXPECT_DOUBLE_EQ(large.l2, 5e300);
  EXPECT_DOUBLE_EQ(large.l1, 7e300);
  EXPECT_DOUBLE_EQ(large.plain.mean, -5e299);
  EXPECT_EQ(large.plain.variance, kInfinity);
  const Statistics small = Of({3e-300, -4e-300});
  EXPECT_DOUBLE_EQ(small.l2, 5e-300);
  EXPECT_EQ(small.plain.min, -4e-300);
  const Statistics denormal = Of({3e-320, 4e-320, 0});
  EXPECT_NEAR(denormal.l2, 5e-320, 1e-323);
  EXPECT_EQ(denormal.zero_count, 1);
}

TEST(Statistics, MeanOfLargeNumbersIsFinite) {
  const Statistics statistics = Of({1.5e308, 1.5e308, 1.5e308});
  EXPECT_DOUBLE_EQ(statistics.plain.mean, 1.5e308);
  EXPECT_EQ(statistics.plain.sum, kInfinity);
  EXPECT_NEAR(statistics.plain.variance, 0, 1e-13);
}

struct NonFinite {
  const char *name;
  std::vector<double> some;
  int64_t nans;
  int64_t infinities;
  // The figures of these elements together with finite numbers.
  double min, max, sum, prod, abs_min, norm;
};

void PrintTo(const NonFinite &test, std::ostream *out) { *out << test.name; }

class StatisticsNonFinite : public testing::TestWithParam<NonFinite> {};

TEST_P(StatisticsNonFinite, MatchNumpy) {
  const NonFinite &test = GetParam();
  for (const size_t position : {0U, 5U, 700U, 4000U}) {
    SCOPED_TRACE(position);
    std::vector<double> numbers(5000, 2);
    std::copy(test.some.begin(), test.some.end(),
              numbers.begin() + static_cast<std::ptrdiff_t>(position));
    for (const DType dtype : {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64,
                              DType::kFloat8E5M2}) {
      SCOPED_TRACE(DTypeName(dtype));
      const Value tensor = TensorOfNumbers(dtype, numbers);
      const Statistics s = *ComputeStatistics(tensor.AsView());
      EXPECT_EQ(s.nan_count, test.nans);
      EXPECT_EQ(s.inf_count, test.infinities);
      EXPECT_EQ(s.zero_count, std::count(numbers.begin(), numbers.end(), 0));
      ExpectNear(s.plain.min, test.min, 0, "min");
      ExpectNear(s.plain.max, test.max, 0, "max");
      ExpectNear(s.plain.sum, test.sum, 0, "sum");
      ExpectNear(s.plain.mean, test.sum, 0, "mean");
      ExpectNear(s.plain.variance, kNan, 0, "variance");
      ExpectNear(ProductOf(tensor.AsView(), Part::kWhole, s), test.prod, 0, "prod");
      ExpectNear(s.absolute.min, test.abs_min, 0, "abs_min");
      ExpectNear(s.absolute.max, test.norm, 0, "abs_max");
      ExpectNear(s.absolute.sum, test.norm, 0, "abs_sum");
      ExpectNear(s.absolute.variance, kNan, 0, "abs_variance");
      ExpectNear(s.l1, test.norm, 0, "l1");
      ExpectNear(s.l2, test.norm, 0, "l2");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, StatisticsNonFinite,
    testing::Values(
        NonFinite{"nan", {kNan}, 1, 0, kNan, kNan, kNan, kNan, kNan, kNan},
        NonFinite{"nan_and_inf", {kNan, kInfinity}, 1, 1, kNan, kNan, kNan, kNan, kNan, kNan},
        NonFinite{"inf", {kInfinity}, 0, 1, 2, kInfinity, kInfinity, kInfinity, 2, kInfinity},
        NonFinite{"minus_inf",
                  {-kInfinity, -1},
                  0,
                  1,
                  -kInfinity,
                  2,
                  -kInfinity,
                  kInfinity,
                  1,
                  kInfinity},
        NonFinite{"both",
                  {-kInfinity, kInfinity},
                  0,
                  2,
                  -kInfinity,
                  kInfinity,
                  kNan,
                  -kInfinity,
                  2,
                  kInfinity},
        NonFinite{
            "inf_and_zero", {kInfinity, 0}, 0, 1, 0, kInfinity, kInfinity, kNan, 0, kInfinity}),
    [](const auto &test) { return test.param.name; });

TEST(Statistics, OnlyInfinities) {
  const Statistics statistics = Of({kInfinity, kInfinity});
  EXPECT_EQ(statistics.plain.min, kInfinity);
  EXPECT_EQ(statistics.absolute.min, kInfinity);
  EXPECT_EQ(Of({-kInfinity}).plain.max, -kInfinity);
}

}  // namespace
}  // namespace smdebug::tensor::statistics_test
