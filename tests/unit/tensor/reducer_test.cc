// Reducer, which is declared in statistics.h.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>

#include "tensor/statistics.h"
#include "tensor/tensors.h"

namespace smdebug::tensor::reducer_test {
namespace {

using enum ReductionKind;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Value Reduce(const Value &tensor, Reduction reduction) {
  Reducer reducer(tensor.AsView());
  auto result = reducer.Compute(reduction);
  EXPECT_TRUE(result.IsOk()) << result.GetStatus().Message();
  return result.IsOk() ? *result : Value();
}

double Number(const Value &tensor, Reduction reduction) {
  return *ToDouble(Reduce(tensor, reduction));
}

template <class T>
T As(const Value &value) {
  EXPECT_EQ(value.size, sizeof(T));
  T element;
  std::memcpy(&element, value.data.get(), sizeof element);
  return element;
}

Code CodeOf(const Value &tensor, Reduction reduction) {
  Reducer reducer(tensor.AsView());
  return reducer.Compute(reduction).GetStatus().GetCode();
}

TEST(Reducer, ResultHasNoDimensions) {
  const Value tensor = TensorOf<float>(DType::kFloat32, {1, 2, 3, 4}, {2, 2});
  for (size_t i = 0; i < kReductions; ++i) {
    EXPECT_TRUE(Reduce(tensor, Reduction::FromIndex(i)).shape.empty());
  }
}

TEST(Reducer, EveryReduction) {
  const Value tensor = TensorOf<double>(DType::kFloat64, {-3, 1, -2, 8}, {2, 2});
  EXPECT_EQ(Number(tensor, {kMin}), -3);
  EXPECT_EQ(Number(tensor, {kMax}), 8);
  EXPECT_EQ(Number(tensor, {kMedian}), -0.5);
  EXPECT_EQ(Number(tensor, {kMean}), 1);
  EXPECT_EQ(Number(tensor, {kVariance}), 18.5);
  EXPECT_EQ(Number(tensor, {kStd}), std::sqrt(18.5));
  EXPECT_EQ(Number(tensor, {kSum}), 4);
  EXPECT_EQ(Number(tensor, {kProd}), 48);
  EXPECT_EQ(Number(tensor, {kL1}), 14);
  EXPECT_EQ(Number(tensor, {kL2}), std::sqrt(78));
  EXPECT_EQ(Number(tensor, {kMin, true}), 1);
  EXPECT_EQ(Number(tensor, {kMax, true}), 8);
  EXPECT_EQ(Number(tensor, {kMedian, true}), 2.5);
  EXPECT_EQ(Number(tensor, {kMean, true}), 3.5);
  EXPECT_EQ(Number(tensor, {kVariance, true}), 7.25);
  EXPECT_EQ(Number(tensor, {kStd, true}), std::sqrt(7.25));
  EXPECT_EQ(Number(tensor, {kSum, true}), 14);
  EXPECT_EQ(Number(tensor, {kProd, true}), 48);
  EXPECT_EQ(Number(tensor, {kL1, true}), 14);
  EXPECT_EQ(Number(tensor, {kL2, true}), std::sqrt(78));
}

struct Types {
  DType input, order, total, rest;  // of min and max; of sum and prod; of the others
};

// The types are NumPy's, if NumPy supports the input type.
TEST(Reducer, ResultTypes) {
  const Types table[] = {
      {DType::kFloat16, DType::kFloat32, DType::kFloat32, DType::kFloat32},
      {DType::kFloat32, DType::kFloat32, DType::kFloat32, DType::kFloat32},
      {DType::kFloat64, DType::kFloat64, DType::kFloat64, DType::kFloat64},
      {DType::kBFloat16, DType::kFloat32, DType::kFloat32, DType::kFloat32},
      {DType::kFloat8E5M2, DType::kFloat32, DType::kFloat32, DType::kFloat32},
      {DType::kFloat8E4M3FN, DType::kFloat32, DType::kFloat32, DType::kFloat32},
      {DType::kInt8, DType::kInt8, DType::kInt64, DType::kFloat64},
      {DType::kInt16, DType::kInt16, DType::kInt64, DType::kFloat64},
      {DType::kInt32, DType::kInt32, DType::kInt64, DType::kFloat64},
      {DType::kInt64, DType::kInt64, DType::kInt64, DType::kFloat64},
      {DType::kUInt8, DType::kUInt8, DType::kUInt64, DType::kFloat64},
      {DType::kUInt16, DType::kUInt16, DType::kUInt64, DType::kFloat64},
      {DType::kUInt32, DType::kUInt32, DType::kUInt64, DType::kFloat64},
      {DType::kUInt64, DType::kUInt64, DType::kUInt64, DType::kFloat64},
      {DType::kBool, DType::kBool, DType::kInt64, DType::kFloat64},
  };
  ASSERT_EQ(std::size(table), std::size(kRealTypes));
  for (const Types &row : table) {
    const Value tensor = TensorOfNumbers(row.input, {1, 0, 1});
    for (size_t i = 0; i < kReductions; ++i) {
      const Reduction reduction = Reduction::FromIndex(i);
      SCOPED_TRACE(std::string(DTypeName(row.input)) + " " + ReductionName(reduction));
      const bool is_order = reduction.kind == kMin || reduction.kind == kMax;
      const bool is_total = reduction.kind == kSum || reduction.kind == kProd;
      const Value result = Reduce(tensor, reduction);
      EXPECT_EQ(result.dtype, is_order ? row.order : (is_total ? row.total : row.rest));
      EXPECT_EQ(result.size, DTypeSize(result.dtype));
    }
  }
}

TEST(Reducer, IntegerSumsAreExactAndWrapAround) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const auto sum = [](const std::vector<int64_t> &x) {
    return As<int64_t>(Reduce(TensorOf(DType::kInt64, x), {kSum}));
  };
  EXPECT_EQ(sum({kMost, -1, -kMost, 3}), 2);
  EXPECT_EQ(sum({kMost, 1}), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(sum({(int64_t{1} << 53) + 1, 1}), (int64_t{1} << 53) + 2);
  EXPECT_EQ(sum({-5, 3}), -2);
  const Value unsigned_tensor = TensorOf<uint64_t>(DType::kUInt64, {~uint64_t{0}, 3});
  EXPECT_EQ(As<uint64_t>(Reduce(unsigned_tensor, {kSum})), 2U);
  EXPECT_EQ(As<int64_t>(Reduce(TensorOf<uint8_t>(DType::kBool, {1, 7, 0}), {kSum})), 2);
}

TEST(Reducer, IntegerProductsAreExactAndWrapAround) {
  const Value large = TensorOf<int64_t>(DType::kInt64, {3, 3037000507, -3037000507});
  EXPECT_EQ(As<int64_t>(Reduce(large, {kProd})),
            static_cast<int64_t>(uint64_t{0} - 3U * uint64_t{3037000507} * uint64_t{3037000507}));
  const Value small = TensorOf<uint8_t>(DType::kUInt8, std::vector<uint8_t>(64, 2));
  EXPECT_EQ(As<uint64_t>(Reduce(small, {kProd})), 0U);
  const Value odd = TensorOf<int8_t>(DType::kInt8, std::vector<int8_t>(101, -3));
  uint64_t power = 1;
  for (int i = 0; i < 101; ++i) power *= 3;
  EXPECT_EQ(As<int64_t>(Reduce(odd, {kProd})), static_cast<int64_t>(uint64_t{0} - power));
  EXPECT_EQ(As<int64_t>(Reduce(odd, {kProd, true})), static_cast<int64_t>(power));
}

// These adjacent integers are equal in double.
TEST(Reducer, ExtremesOf64BitsAreExact) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const Value integers =
      TensorOf<int64_t>(DType::kInt64, {kMost - 1, -kMost, kMost - 2, 1 - kMost});
  EXPECT_EQ(As<int64_t>(Reduce(integers, {kMax})), kMost - 1);
  EXPECT_EQ(As<int64_t>(Reduce(integers, {kMin})), -kMost);
  EXPECT_EQ(As<int64_t>(Reduce(integers, {kMax, true})), kMost);
  EXPECT_EQ(As<int64_t>(Reduce(integers, {kMin, true})), kMost - 2);
  const Value naturals = TensorOf<uint64_t>(DType::kUInt64, {~uint64_t{0}, ~uint64_t{1}});
  EXPECT_EQ(As<uint64_t>(Reduce(naturals, {kMin})), ~uint64_t{1});
  EXPECT_EQ(As<uint64_t>(Reduce(naturals, {kMax, true})), ~uint64_t{0});
}

// np.absolute(np.int8(-128)) is -128.
TEST(Reducer, AbsoluteValueOfTheLeastIntegerIsItself) {
  const Value tensor = TensorOf<int8_t>(DType::kInt8, {-128, -3, 5});
  EXPECT_EQ(Number(tensor, {kMin, true}), -128);
  EXPECT_EQ(Number(tensor, {kMax, true}), 5);
  EXPECT_EQ(Number(tensor, {kSum, true}), -120);
  EXPECT_EQ(Number(tensor, {kMean, true}), -40);
  EXPECT_EQ(Number(tensor, {kMedian, true}), 3);
  EXPECT_EQ(Number(tensor, {kProd, true}), -1920);
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  const Value wide = TensorOf<int64_t>(DType::kInt64, {kLeast, 1});
  EXPECT_EQ(As<int64_t>(Reduce(wide, {kMin, true})), kLeast);
}

// np.linalg.norm converts integers to float64 first.
TEST(Reducer, NormsOfIntegersAreFloats) {
  const Value tensor = TensorOf<int8_t>(DType::kInt8, {-128, -3, 5});
  EXPECT_EQ(Number(tensor, {kL1}), 136);
  EXPECT_EQ(Number(tensor, {kL1, true}), 136);
  EXPECT_DOUBLE_EQ(Number(tensor, {kL2}), std::sqrt(16418));
}

// In float16 alone, the sums would stop at 2048 and overflow.
TEST(Reducer, SmallFloatsHaveFloat32sReductions) {
  EXPECT_EQ(Number(TensorOfNumbers(DType::kFloat16, std::vector<double>(5000, 1)), {kSum}), 5000);
  EXPECT_EQ(Number(TensorOfNumbers(DType::kFloat16, {60000, 60000}), {kMean}), 60000);
  EXPECT_EQ(Number(TensorOfNumbers(DType::kFloat16, {60000, 60000}), {kSum}), 120000);
  EXPECT_EQ(Number(TensorOfNumbers(DType::kFloat16, {2048, 1}), {kSum}), 2049);
  EXPECT_EQ(Number(TensorOfNumbers(DType::kFloat16, {3, 4}), {kL2}), 5);
  // 1036.8 is not a bfloat16, whose neighbours there are 1032 and 1040.
  EXPECT_NEAR(Number(TensorOfNumbers(DType::kBFloat16, std::vector<double>(16796, 8)), {kL2}),
              8 * std::sqrt(16796), 1e-3);
  EXPECT_EQ(Number(TensorOfNumbers(DType::kFloat8E4M3FN, std::vector<double>(100, 448)), {kSum}),
            44800);
}

TEST(Reducer, HalvesAsNumpyHasThem) {
  const auto reduced = [](const std::vector<double> &numbers, ReductionKind kind) {
    const Value tensor = TensorOfNumbers(DType::kFloat16, numbers);
    auto result = Reducer(tensor.AsView(), Reducer::Halves::kAsNumpy).Compute({kind});
    EXPECT_TRUE(result.IsOk());
    return *std::move(result);
  };
  // 2049 is between 2048 and 2050, 2051 between 2050 and 2052: ties go to even.
  EXPECT_EQ(*ToDouble(reduced({2048, 1}, kSum)), 2048);
  EXPECT_EQ(*ToDouble(reduced({2050, 1}, kSum)), 2052);
  EXPECT_EQ(reduced({2048, 1}, kSum).dtype, DType::kFloat16);
  EXPECT_EQ(*ToDouble(reduced({60000, 60000}, kSum)), 120000);
  EXPECT_EQ(reduced({60000, 60000}, kSum).dtype, DType::kFloat32);
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(*ToDouble(reduced({infinity, 1}, kSum)), infinity);
  EXPECT_EQ(reduced({infinity, 1}, kSum).dtype, DType::kFloat16);
}

TEST(Reducer, WithoutElements) {
  for (const DType dtype : {DType::kFloat32, DType::kInt32, DType::kBool, DType::kComplex64}) {
    SCOPED_TRACE(DTypeName(dtype));
    const Value nothing = Value::CopyOf(dtype, {}, {0, 3});
    EXPECT_EQ(CodeOf(nothing, {kMin, true}), Code::kInvalidArgument);
    EXPECT_EQ(CodeOf(nothing, {kMax, true}), Code::kInvalidArgument);
    EXPECT_EQ(CodeOf(nothing, {kMedian, true}), Code::kInvalidArgument);
    EXPECT_TRUE(std::isnan(Number(nothing, {kMean})));
    EXPECT_TRUE(std::isnan(Number(nothing, {kStd})));
    EXPECT_TRUE(std::isnan(Number(nothing, {kVariance})));
    EXPECT_EQ(Number(nothing, {kSum}), 0);
    EXPECT_EQ(Number(nothing, {kProd}), 1);
    EXPECT_EQ(Number(nothing, {kL1}), 0);
    EXPECT_EQ(Number(nothing, {kL2}), 0);
  }
  const Value nothing = Value::CopyOf(DType::kFloat32, {}, {0});
  EXPECT_EQ(CodeOf(nothing, {kMin}), Code::kInvalidArgument);
}

TEST(Reducer, NanPropagates) {
  const Value tensor = TensorOf<float>(DType::kFloat32, {1, static_cast<float>(kNan), 3});
  for (size_t i = 0; i < kReductions; ++i) {
    EXPECT_TRUE(std::isnan(Number(tensor, Reduction::FromIndex(i)))) << i;
  }
}

TEST(Reducer, ComplexNumbers) {
  using C = std::complex<float>;
  const Value tensor = TensorOf<C>(DType::kComplex64, {{3, 4}, {0, 1}, {-6, 8}});
  const auto complex = [&](ReductionKind kind) {
    const Value result = Reduce(tensor, {kind});
    EXPECT_EQ(result.dtype, DType::kComplex64);
    return As<C>(result);
  };
  EXPECT_EQ(complex(kSum), C(-3, 13));
  EXPECT_EQ(complex(kMean), C(-1, 13.0F / 3));
  EXPECT_EQ(complex(kProd), C(3, 4) * C(0, 1) * C(-6, 8));
  EXPECT_EQ(Reduce(tensor, {kStd}).dtype, DType::kFloat32);
  // The variance is 14 for the real parts and 74/9 for the imaginary parts.
  EXPECT_FLOAT_EQ(As<float>(Reduce(tensor, {kVariance})), 14 + 74.0F / 9);
  EXPECT_FLOAT_EQ(As<float>(Reduce(tensor, {kStd})), std::sqrt(14 + 74.0F / 9));
  EXPECT_EQ(As<float>(Reduce(tensor, {kL1})), 16);
  EXPECT_FLOAT_EQ(As<float>(Reduce(tensor, {kL2})), std::sqrt(126.0F));
  EXPECT_EQ(As<float>(Reduce(tensor, {kMin, true})), 1);
  EXPECT_EQ(As<float>(Reduce(tensor, {kMedian, true})), 5);
  EXPECT_EQ(As<float>(Reduce(tensor, {kProd, true})), 50);
  const Value wide = TensorOf<std::complex<double>>(DType::kComplex128, {{3, 4}});
  EXPECT_EQ(Reduce(wide, {kMean}).dtype, DType::kComplex128);
  EXPECT_EQ(As<double>(Reduce(wide, {kMax, true})), 5);
}

TEST(Reducer, ComplexNumbersAreOrderedByRealThenImaginaryPart) {
  using C = std::complex<float>;
  const Value tensor = TensorOf<C>(DType::kComplex64, {{2, 4}, {2, -1}, {-6, 8}, {-6, 9}, {2, 7}});
  EXPECT_EQ(As<C>(Reduce(tensor, {kMin})), C(-6, 8));
  EXPECT_EQ(As<C>(Reduce(tensor, {kMax})), C(2, 7));
  const Value with_nan =
      TensorOf<C>(DType::kComplex64, {{9, 9}, {0, static_cast<float>(kNan)}, {10, 10}});
  EXPECT_TRUE(std::isnan(As<C>(Reduce(with_nan, {kMax})).imag()));
  EXPECT_TRUE(std::isnan(As<C>(Reduce(with_nan, {kMin})).imag()));
}

TEST(Reducer, ComplexNumbersHaveNoMedian) {
  const Value tensor = TensorOf<double>(DType::kComplex128, {3, 4}, {1});
  EXPECT_EQ(CodeOf(tensor, {kMedian}), Code::kUnsupported);
}

TEST(Reducer, TextIsRefused) {
  const char *texts[] = {"a"};
  const int64_t shape[] = {1};
  Reducer reducer({texts, shape, {}, DType::kString});
  EXPECT_EQ(reducer.Compute({kSum}).GetStatus().GetCode(), Code::kUnsupported);
}

TEST(Reducer, WorksOnStridedViews) {
  const Value tensor = TensorOf<int64_t>(DType::kInt64, {1, 2, 3, 4, 5, 6, 7, 8});
  const int64_t shape[] = {2, 2};
  const int64_t strides[] = {4, 2};
  Reducer reducer({tensor.data.get(), shape, strides, DType::kInt64});
  EXPECT_EQ(*ToDouble(*reducer.Compute({kSum})), 1 + 3 + 5 + 7);
  EXPECT_EQ(*ToDouble(*reducer.Compute({kProd})), 1 * 3 * 5 * 7);
  EXPECT_EQ(*ToDouble(*reducer.Compute({kMedian})), 4);
}

}  // namespace
}  // namespace smdebug::tensor::reducer_test
