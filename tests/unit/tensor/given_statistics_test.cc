#include "tensor/given_statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

namespace smdebug::tensor::given_statistics_test {
namespace {

using enum ReductionKind;

constexpr DType kFloats[] = {DType::kFloat16,  DType::kFloat32,    DType::kFloat64,
                             DType::kBFloat16, DType::kFloat8E5M2, DType::kFloat8E4M3FN};
constexpr DType kIntegers[] = {DType::kInt8,   DType::kInt16,  DType::kInt32,
                               DType::kInt64,  DType::kUInt8,  DType::kUInt16,
                               DType::kUInt32, DType::kUInt64, DType::kBool};

// The figures that a caller gives, computed here by the library.
GivenStatistics GivenOf(const View &view) {
  GivenStatistics given;
  given.form = view;
  given.form.data = nullptr;
  const Statistics statistics = *ComputeStatistics(view);
  const auto add = [&](bool absolute, const Statistics::Moments &moments) {
    given.Figure({kMin, absolute}) = moments.min;
    given.Figure({kMax, absolute}) = moments.max;
    given.Figure({kMean, absolute}) = moments.mean;
    given.Figure({kVariance, absolute}) = moments.variance;
    given.Figure({kMedian, absolute}) = *ToDouble(*Reducer(view).Compute({kMedian, absolute}));
  };
  add(false, statistics.plain);
  add(true, statistics.absolute);
  given.Figure({kSum, false}) = statistics.plain.sum;
  given.Figure({kProd, false}) = *ToDouble(*Reducer(view).Compute({kProd, false}));
  given.Figure({kL1, false}) = statistics.l1;
  given.Figure({kL2, false}) = statistics.l2;
  given.counts = {statistics.nan_count, statistics.inf_count, statistics.zero_count};
  given.Derive();
  return given;
}

void ExpectSameReductions(const View &view) {
  const GivenStatistics given = GivenOf(view);
  for (size_t i = 0; i < kReductions; ++i) {
    const Reduction reduction = Reduction::FromIndex(i);
    const Value computed = *Reducer(view).Compute(reduction);
    ASSERT_TRUE(given.Figure(reduction)) << ReductionName(reduction);
    const Value reduced = given.Reduced(reduction);
    const std::string where = std::string(DTypeName(view.dtype)) + ", " + ReductionName(reduction);
    ASSERT_EQ(reduced.dtype, computed.dtype) << where;
    EXPECT_EQ(std::memcmp(reduced.data.get(), computed.data.get(), computed.size), 0) << where;
  }
}

TEST(GivenStatistics, ReduceAsFloatsOfEachTypeDo) {
  // As each of these types, these bytes are finite numbers, some of them negative.
  const std::vector<uint8_t> bytes = {0x3a, 0x3c, 0xb9, 0x01, 0x38, 0x36, 0x3b, 0xba,
                                      0x31, 0x32, 0x3d, 0x35, 0x3a, 0x34, 0x39, 0x3b};
  for (const DType dtype : kFloats) {
    const std::vector<int64_t> shape = {static_cast<int64_t>(bytes.size() / DTypeSize(dtype))};
    ExpectSameReductions({bytes.data(), shape, {}, dtype});
  }
}

TEST(GivenStatistics, ReduceAsIntegersOfEachTypeDo) {
  for (const DType dtype : kIntegers) {
    const int64_t sign = IsSigned(dtype) ? -1 : 1;
    std::vector<int64_t> numbers = {3, sign * 100, 5, sign * 7};
    if (dtype == DType::kBool) numbers = {1, 0, 1, 1};
    std::vector<uint8_t> bytes;
    for (const int64_t number : numbers) {
      const auto *first = reinterpret_cast<const uint8_t *>(&number);
      bytes.insert(bytes.end(), first, first + DTypeSize(dtype));
    }
    const std::vector<int64_t> shape = {4};
    ExpectSameReductions({bytes.data(), shape, {}, dtype});
  }
}

TEST(GivenStatistics, KeepNanAndInfinity) {
  for (const float odd : {NAN, INFINITY, -INFINITY}) {
    const std::vector<float> numbers = {1, odd, -3};
    const std::vector<int64_t> shape = {3};
    ExpectSameReductions({numbers.data(), shape, {}, DType::kFloat32});
  }
}

TEST(GivenStatistics, AreDoublesBeyondTheIntegers) {
  GivenStatistics given;
  given.form.dtype = DType::kInt8;
  given.Figure({kSum, false}) = 0x1p60;
  EXPECT_EQ(given.Reduced({kSum, false}).dtype, DType::kFloat64);
  given.Figure({kMax, false}) = 128;
  EXPECT_EQ(given.Reduced({kMax, false}).dtype, DType::kFloat64);
  given.Figure({kMax, false}) = 127;
  EXPECT_EQ(given.Reduced({kMax, false}).dtype, DType::kInt8);
}

TEST(GivenStatistics, AreThoseOfElementsIfRulesCanUseThem) {
  const std::vector<float> numbers = {1, 0, -3};
  const std::vector<int64_t> shape = {3};
  GivenStatistics given = GivenOf({numbers.data(), shape, {}, DType::kFloat32});
  const auto statistics = given.ToStatistics();
  ASSERT_TRUE(statistics);
  EXPECT_EQ(statistics->count, 3);
  EXPECT_EQ(statistics->zero_count, 1);
  EXPECT_EQ(statistics->absolute.max, 3);
  given.counts.reset();
  EXPECT_FALSE(given.ToStatistics());
}

TEST(GivenStatistics, AreChecked) {
  const std::vector<int64_t> shape = {3};
  GivenStatistics given;
  given.form = {nullptr, shape, {}, DType::kFloat32};
  EXPECT_TRUE(given.Check().IsOk());
  given.counts = {2, 1, 1};
  EXPECT_EQ(given.Check().GetCode(), Code::kInvalidArgument);
  given.counts = {0, 0, -1};
  EXPECT_EQ(given.Check().GetCode(), Code::kInvalidArgument);
  given.counts.reset();
  const std::vector<int64_t> four = {4};
  given.sample = View{shape.data(), four, {}, DType::kFloat32};
  EXPECT_EQ(given.Check().GetCode(), Code::kInvalidArgument);
  given.sample.reset();
  for (const DType dtype : {DType::kComplex64, DType::kComplex128, DType::kString}) {
    given.form.dtype = dtype;
    EXPECT_EQ(given.Check().GetCode(), Code::kUnsupported);
  }
}

}  // namespace
}  // namespace smdebug::tensor::given_statistics_test
