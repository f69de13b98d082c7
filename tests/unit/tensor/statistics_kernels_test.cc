#include "tensor/statistics_kernels.h"

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <random>

#include "tensor/statistics.h"
#include "tensor/tensors.h"

namespace smdebug::tensor::statistics_kernels_test {
namespace {

// Runs with each instruction set of this machine.
class EveryInstructionSet : public testing::Test {
 protected:
  template <class Work>
  static void Run(Work work) {
    const int64_t supported = hwy::SupportedTargets();
    for (int64_t rest = supported; rest != 0; rest &= rest - 1) {
      hwy::SetSupportedTargetsForTest(rest & -rest);
      hwy::GetChosenTarget().Update(hwy::SupportedTargets());
      SCOPED_TRACE(hwy::TargetName(rest & -rest));
      work();
    }
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

// Small integers, whose sums are exact in any order.
TEST_F(EveryInstructionSet, ComputesTheSameSums) {
  for (const DType dtype : kRealTypes) {
    for (const size_t count : {3U, 31U, 2048U, 5001U}) {
      const bool is_bool = dtype == DType::kBool;
      std::vector<double> numbers(count);
      for (size_t i = 0; i < count; ++i)
        numbers[i] = static_cast<double>(i % (is_bool ? 2 : 5) + 1);
      const Value tensor = TensorOfNumbers(dtype, numbers);
      const std::vector<double> elements = NumbersOf(tensor.AsView());
      double sum = 0;
      double squares = 0;
      for (const double element : elements) {
        sum += element;
        squares += element * element;
      }
      Run([&] {
        SCOPED_TRACE(std::string(DTypeName(dtype)) + " " + std::to_string(count));
        const Statistics statistics = *ComputeStatistics(tensor.AsView());
        EXPECT_EQ(statistics.plain.sum, sum);
        EXPECT_EQ(statistics.l2, std::sqrt(squares));
        EXPECT_EQ(statistics.plain.min, *std::min_element(elements.begin(), elements.end()));
        EXPECT_EQ(statistics.plain.max, *std::max_element(elements.begin(), elements.end()));
      });
    }
  }
}

// All codes of numbers, with both signs and with each sign alone.
TEST_F(EveryInstructionSet, BoundsHalves) {
  const auto expect = [](const ElementKernels<float> &kernels, SmallFloat format, uint32_t first,
                         uint32_t sign) {
    std::vector<uint16_t> codes;
    for (uint32_t code = first; code <= format.LargestBits(); ++code) {
      codes.push_back(static_cast<uint16_t>(code | (code % 3 != 0 ? sign : 0)));
    }
    double min = DecodeSmallFloat(format, codes[0]), max = min, abs_min = std::fabs(min);
    bool is_odd = false;
    for (const uint16_t code : codes) {
      const double number = DecodeSmallFloat(format, code);
      min = std::min(min, number);
      max = std::max(max, number);
      abs_min = std::min(abs_min, std::fabs(number));
      is_odd ^= std::signbit(number);
    }
    const BlockSums sums =
        kernels.sums(reinterpret_cast<const std::byte *>(codes.data()), codes.size());
    EXPECT_EQ(sums.min, min);
    EXPECT_EQ(sums.max, max);
    EXPECT_EQ(sums.abs_min, abs_min);
    EXPECT_EQ(sums.is_odd, is_odd);
  };
  Run([&] {
    for (const uint32_t first : {0U, 1U, 1000U, 30000U}) {
      for (const uint32_t sign : {0U, 0x8000U}) {
        expect(GetKernels().of_float16, kFloat16Format, first, sign);
        expect(GetKernels().of_bfloat16, kBFloat16Format, first, sign);
      }
    }
  });
}

// Compares the sums in double with those of the kernel.
void ExpectSumsOfHalves(const ElementKernels<float> &kernels, SmallFloat format,
                        const std::vector<double> &numbers, double most_lost) {
  std::vector<uint16_t> codes;
  double sum = 0, abs_sum = 0, squares = 0;
  for (const double number : numbers) {
    codes.push_back(static_cast<uint16_t>(EncodeSmallFloat(format, number)));
    const double element = DecodeSmallFloat(format, codes.back());
    sum += element;
    abs_sum += std::fabs(element);
    squares += element * element;
  }
  const BlockSums sums =
      kernels.sums(reinterpret_cast<const std::byte *>(codes.data()), codes.size());
  EXPECT_NEAR(sums.sum, sum, abs_sum * most_lost);
  EXPECT_NEAR(sums.abs_sum, abs_sum, abs_sum * most_lost);
  EXPECT_NEAR(sums.squares, squares, squares * most_lost);
}

TEST_F(EveryInstructionSet, SumsHalvesNearlyLikeDouble) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  std::vector<double> alike(2048), far_apart(2048);
  for (size_t i = 0; i < alike.size(); ++i) {
    alike[i] = normal(random);
    far_apart[i] = std::ldexp(normal(random), -static_cast<int>(i * 7 % 24));
  }
  Run([&] {
    for (const auto &numbers : {alike, far_apart}) {
      ExpectSumsOfHalves(GetKernels().of_float16, kFloat16Format, numbers, 0x1p-20);
      ExpectSumsOfHalves(GetKernels().of_bfloat16, kBFloat16Format, numbers, 0x1p-20);
    }
  });
}

// Squares of these numbers are out of float's range.
TEST_F(EveryInstructionSet, SumsExtremeHalvesInDouble) {
  std::mt19937 random(4);
  std::normal_distribution<double> normal;
  for (const double scale : {0x1p-120, 0x1p-70, 0x1p61, 0x1p120}) {
    std::vector<double> numbers(2048);
    for (double &number : numbers) number = normal(random) * scale;
    Run([&] { ExpectSumsOfHalves(GetKernels().of_bfloat16, kBFloat16Format, numbers, 0x1p-45); });
  }
}

TEST_F(EveryInstructionSet, WidensEveryFloat16) {
  std::vector<uint16_t> all(1 << 16);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  const auto expect = [&](const ElementKernels<float> &kernels, SmallFloat format) {
    std::vector<float> out(all.size());
    kernels.widen(reinterpret_cast<const std::byte *>(all.data()), all.size(), out.data());
    for (size_t i = 0; i < all.size(); ++i) {
      const double expected = DecodeSmallFloat(format, all[i]);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(out[i])) << i;
      } else {
        ASSERT_EQ(out[i], expected) << i;
      }
    }
  };
  Run([&] {
    expect(GetKernels().of_float16, kFloat16Format);
    expect(GetKernels().of_bfloat16, kBFloat16Format);
  });
}

TEST_F(EveryInstructionSet, MultipliesBeyondTheRangeOfDouble) {
  std::vector<float> x(2047, 1e-30F);
  std::fill_n(x.begin(), 1023, 1e30F);
  x.back() = -2;
  Run([&] {
    const WideProduct product = GetKernels().on_float.product(x.data(), x.size(), 4);
    EXPECT_NEAR(std::ldexp(product.mantissa, static_cast<int>(product.exponent)) / -2,
                std::pow(static_cast<double>(1e30F) * static_cast<double>(1e-30F), 1023), 1e-11);
  });
}

TEST_F(EveryInstructionSet, CountsNonFiniteNumbers) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> x(101, 3);
  x[0] = x[50] = std::numeric_limits<float>::quiet_NaN();
  x[1] = kInfinity;
  x[2] = x[100] = -kInfinity;
  x[3] = -1;
  Run([&] {
    const BlockCounts counts = GetKernels().on_float.counts(x.data(), x.size());
    EXPECT_EQ(counts.nans, 2);
    EXPECT_EQ(counts.positive_infinities, 1);
    EXPECT_EQ(counts.negative_infinities, 2);
    EXPECT_EQ(counts.negatives, 3);
    EXPECT_EQ(counts.min, -kInfinity);
    EXPECT_EQ(counts.max, kInfinity);
    EXPECT_EQ(counts.abs_min, 1);
  });
}

TEST_F(EveryInstructionSet, MeasuresDistances) {
  std::vector<double> x(103);
  for (size_t i = 0; i < x.size(); ++i) x[i] = i % 2 != 0 ? 5 : -7;
  Run([&] {
    const BlockKernels<double> &kernels = GetKernels().on_double;
    const BlockDeviations plain = kernels.deviations(x.data(), x.size(), 1, false);
    EXPECT_EQ(plain.sum, 51 * 4 - 52 * 8);
    EXPECT_EQ(plain.squares, 51 * 16 + 52 * 64);
    const BlockDeviations absolute = kernels.deviations(x.data(), x.size(), 6, true);
    EXPECT_EQ(absolute.sum, 1);
    EXPECT_EQ(absolute.squares, 103);
    x[9] = x[102] = 0;
    EXPECT_EQ(kernels.zeros(x.data(), x.size()), 2);
    x[9] = 5;
    x[102] = -7;
  });
}

}  // namespace
}  // namespace smdebug::tensor::statistics_kernels_test
