#include "rules/support/sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tensor/spread.h"
#include "tensor/tensors.h"

namespace smdebug::rules::sample_test {
namespace {

using tensor::ReductionKind;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::NanSensitiveDoubleEq;
using testing::Optional;

TEST(SampleTest, ReducesItsElements) {
  const tensor::Value value = tensor::TensorOfNumbers(tensor::DType::kBFloat16, {1, -2, 4});
  Sample sample({}, "w", "t");
  sample.SetElements(value.AsView());
  EXPECT_EQ(sample.Reduce({ReductionKind::kMean, false}), 1);
  EXPECT_EQ(sample.Reduce({ReductionKind::kMax, true}), 4);
  EXPECT_EQ(sample.Reduce({ReductionKind::kMedian, false}), 1);
  EXPECT_EQ(sample.Reduce({ReductionKind::kL1, false}), 7);
  EXPECT_THAT(sample.Numbers(), ElementsAre(1, -2, 4));
  EXPECT_EQ(sample.Scalar(), std::nullopt);
}

TEST(SampleTest, OrGivesOutWhatWasSaved) {
  Sample sample({}, "w", "t");
  sample.AddReduction({ReductionKind::kMean, true}, 3);
  EXPECT_EQ(sample.Reduce({ReductionKind::kMean, true}), 3);
  EXPECT_EQ(sample.Reduce({ReductionKind::kMean, false}), std::nullopt);
  EXPECT_EQ(sample.Elements(), nullptr);
  EXPECT_EQ(sample.GetStatistics(), nullptr);
  EXPECT_THAT(sample.Numbers(), IsEmpty());
}

TEST(SampleTest, QuantilesAreNumPys) {
  const tensor::Value value =
      tensor::TensorOfNumbers(tensor::DType::kFloat64, {4, 1, 3, 2, std::nan("")});
  Sample sample({}, "w", "t");
  sample.SetElements(value.AsView());
  EXPECT_THAT(*sample.Quantiles({0, 0.5, 1, 0.1}), ElementsAre(1, 2.5, 4, 1.3));
}

TEST(SampleTest, NumbersAreInRowMajorOrder) {
  const tensor::Value value = tensor::TensorOfNumbers(tensor::DType::kFloat32, {1, 2, 3, 4, 5, 6});
  constexpr int64_t kShape[] = {3, 2};
  constexpr int64_t kStrides[] = {1, 3};
  Sample sample({}, "w", "t");
  sample.SetElements({value.data.get(), kShape, kStrides, tensor::DType::kFloat32});
  EXPECT_THAT(sample.Numbers(), ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(SampleTest, TextsAreNoNumbers) {
  const std::vector<std::string> texts = {"0-0", "0-1"};
  Sample sample({}, "w", "t");
  EXPECT_THAT(sample.Texts(), IsEmpty());
  sample.SetTexts({texts.begin(), texts.end()});
  EXPECT_THAT(sample.Texts(), ElementsAre("0-0", "0-1"));
  EXPECT_EQ(sample.Elements(), nullptr);
  EXPECT_THAT(sample.Numbers(), IsEmpty());
  EXPECT_EQ(sample.Reduce({ReductionKind::kMean, false}), std::nullopt);
}

TEST(SampleTest, NothingOfNothing) {
  const tensor::Value empty = tensor::TensorOfNumbers(tensor::DType::kFloat32, {});
  Sample sample({}, "w", "t");
  sample.SetElements(empty.AsView());
  EXPECT_EQ(sample.Reduce({ReductionKind::kMean, false}), std::nullopt);
  EXPECT_EQ(sample.Quantiles({0.5}), std::nullopt);
  EXPECT_EQ(sample.Scalar(), std::nullopt);
}

// A large tensor of numbers around 1.
class EstimatedTest : public testing::Test {
 protected:
  EstimatedTest() : numbers_(100'000) {
    for (size_t i = 0; i < numbers_.size(); ++i) {
      numbers_[i] = static_cast<float>(1 + std::sin(static_cast<double>(i)));
    }
    sample_.SetElements({numbers_.data(), shape_, {}, tensor::DType::kFloat32});
  }

  static double Figure(const Sample &sample, ReductionKind kind) { return *sample.Reduce({kind}); }

  // What the sample has exactly in common with its estimate.
  void ExpectExact(const Sample &estimate) const {
    for (size_t i = 0; i < tensor::kReductions; ++i) {
      const auto reduction = tensor::Reduction::FromIndex(i);
      const auto exact = sample_.Reduce(reduction);
      ASSERT_TRUE(exact);
      EXPECT_THAT(estimate.Reduce(reduction), Optional(NanSensitiveDoubleEq(*exact)));
    }
    EXPECT_EQ(estimate.GetStatistics()->zero_count, sample_.GetStatistics()->zero_count);
    EXPECT_EQ(estimate.GetStatistics()->nan_count, sample_.GetStatistics()->nan_count);
    EXPECT_EQ(estimate.Quantiles({0.1, 0.9}), sample_.Quantiles({0.1, 0.9}));
  }

  std::vector<float> numbers_;
  const std::vector<int64_t> shape_ = {100'000};
  Sample sample_{{}, "w", "t"};
};

TEST_F(EstimatedTest, IsNearTheTruth) {
  const Sample estimate = sample_.Estimated(4096);
  for (const ReductionKind kind :
       {ReductionKind::kMean, ReductionKind::kSum, ReductionKind::kStd, ReductionKind::kVariance,
        ReductionKind::kL1, ReductionKind::kL2, ReductionKind::kMax, ReductionKind::kMedian}) {
    const double exact = Figure(sample_, kind);
    EXPECT_NEAR(Figure(estimate, kind), exact, 0.05 * exact) << static_cast<int>(kind);
    EXPECT_NE(Figure(estimate, kind), exact) << static_cast<int>(kind);
  }
  EXPECT_EQ(estimate.GetStatistics()->count, 100'000);
  EXPECT_NEAR((*estimate.Quantiles({0.25}))[0], (*sample_.Quantiles({0.25}))[0], 0.05);
}

TEST_F(EstimatedTest, ZerosAreCountedInProportion) {
  for (size_t i = 0; i < numbers_.size(); i += 4) numbers_[i] = 0;
  EXPECT_EQ(sample_.Estimated(4096).GetStatistics()->zero_count, 25'000);
}

TEST_F(EstimatedTest, ElementsAreAllThere) {
  const Sample estimate = sample_.Estimated(4096);
  EXPECT_EQ(estimate.Elements()->ElementCount(), 100'000);
  EXPECT_EQ(estimate.Numbers().size(), 100'000);
  EXPECT_EQ(estimate.SomeNumbers(4096).size(), 4096);
  EXPECT_EQ(estimate.Tensor(), "t");
}

TEST_F(EstimatedTest, IsExactForFewElements) {
  ExpectExact(sample_.Estimated(100'000));
  ExpectExact(sample_.Estimated(0));
}

TEST_F(EstimatedTest, IsExactForWhatIsNotFinite) {
  // Those at the beginning are in a sample of half of all.
  for (size_t i = 0; i < 64; ++i) numbers_[i] = std::nanf("");
  numbers_[50'000] = INFINITY;
  ExpectExact(sample_.Estimated(50'000));
}

TEST_F(EstimatedTest, IsExactWhereItHoldsOnlyZeros) {
  std::iota(numbers_.begin(), numbers_.end(), 0.0F);
  const tensor::SpreadElements places(*sample_.Elements(), 16);
  const float begin = *static_cast<const float *>(places.AsView().data);
  std::fill(numbers_.begin(), numbers_.end(), 0.0F);
  numbers_[static_cast<size_t>(begin) + 16] = 3;
  ExpectExact(sample_.Estimated(16));
  EXPECT_EQ(Figure(sample_.Estimated(16), ReductionKind::kSum), 3);
}

TEST_F(EstimatedTest, ProductsAreExact) {
  EXPECT_EQ(Figure(sample_.Estimated(4096), ReductionKind::kProd),
            Figure(sample_, ReductionKind::kProd));
}

TEST(SampleTest, SavedReductionsNeedNoEstimate) {
  Sample sample({}, "w", "t");
  sample.AddReduction({ReductionKind::kMean, true}, 3);
  EXPECT_EQ(sample.Estimated(16).Reduce({ReductionKind::kMean, true}), 3);
  EXPECT_EQ(sample.Estimated(16).GetStatistics(), nullptr);
  EXPECT_EQ(sample.Estimated(16).Quantiles({0.5}), std::nullopt);
  EXPECT_THAT(sample.Estimated(16).SomeNumbers(16), IsEmpty());
}

}  // namespace
}  // namespace smdebug::rules::sample_test
