#include "rules/sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tensor/tensors.h"

namespace smdebug::rules {
namespace {

using tensor::ReductionKind;
using testing::ElementsAre;
using testing::IsEmpty;

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

}  // namespace
}  // namespace smdebug::rules
