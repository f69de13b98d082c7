#include "record/kept_tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "record/tensors.h"

namespace smdebug::record::kept_tensor_test {
namespace {

using testing::ElementsAre;

TEST(KeptTensor, KeepsTheElementsAsTheyWere) {
  std::vector<float> numbers = {1, 2, 3};
  const std::array<int64_t, 1> shape = {3};
  const auto kept = KeptTensor::Of({numbers.data(), shape, {}, tensor::DType::kFloat32});
  ASSERT_TRUE(kept.IsOk());
  numbers = {0, 0, 0};
  EXPECT_THAT(kept->AsView().shape, ElementsAre(3));
  const auto *data = static_cast<const std::byte *>(kept->AsView().data);
  EXPECT_THAT(FloatsOf({data, 12}), ElementsAre(1, 2, 3));
}

TEST(KeptTensor, MakesStridedElementsCompact) {
  const std::array<float, 6> numbers = {1, 2, 3, 4, 5, 6};
  const std::array<int64_t, 2> shape = {3, 2};
  const std::array<int64_t, 2> strides = {1, 3};
  const auto kept = KeptTensor::Of({numbers.data(), shape, strides, tensor::DType::kFloat32});
  ASSERT_TRUE(kept.IsOk());
  EXPECT_TRUE(kept->AsView().IsCompact());
  const auto *data = static_cast<const std::byte *>(kept->AsView().data);
  EXPECT_THAT(FloatsOf({data, 24}), ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(KeptTensor, StaysValidWhenItIsMoved) {
  const std::array<const char *, 2> texts = {"a", "b"};
  const std::array<int64_t, 1> shape = {2};
  auto kept = KeptTensor::Of({texts.data(), shape, {}, tensor::DType::kString});
  ASSERT_TRUE(kept.IsOk());
  const tensor::View before = kept->AsView();
  std::vector<KeptTensor> elsewhere;
  elsewhere.push_back(*std::move(kept));
  EXPECT_EQ(elsewhere[0].AsView().data, before.data);
  EXPECT_EQ(elsewhere[0].AsView().shape.data(), before.shape.data());
}

TEST(KeptTensor, KeepsTextsAlsoWhereTheyAreStrided) {
  const std::array<const char *, 4> texts = {"a", nullptr, "b", nullptr};
  const std::array<int64_t, 1> shape = {2};
  const std::array<int64_t, 1> strides = {2};
  const auto kept = KeptTensor::Of({texts.data(), shape, strides, tensor::DType::kString});
  ASSERT_TRUE(kept.IsOk());
  const auto *data = static_cast<const char *const *>(kept->AsView().data);
  EXPECT_STREQ(data[0], "a");
  EXPECT_STREQ(data[1], "b");
}

TEST(KeptTensor, RefusesATextThatIsNull) {
  const std::array<const char *, 2> texts = {"a", nullptr};
  const std::array<int64_t, 1> shape = {2};
  const auto kept = KeptTensor::Of({texts.data(), shape, {}, tensor::DType::kString});
  EXPECT_EQ(kept.GetStatus().GetCode(), Code::kInvalidArgument);
  EXPECT_THAT(kept.GetStatus().Message(), testing::HasSubstr("text 1"));
}

TEST(KeptTensor, MayBeEmpty) {
  const std::array<int64_t, 2> shape = {0, 3};
  const auto kept = KeptTensor::Of({nullptr, shape, {}, tensor::DType::kFloat64});
  ASSERT_TRUE(kept.IsOk());
  EXPECT_THAT(kept->AsView().shape, ElementsAre(0, 3));
  const auto no_texts = KeptTensor::Of({nullptr, shape, {}, tensor::DType::kString});
  ASSERT_TRUE(no_texts.IsOk());
  EXPECT_EQ(no_texts->AsView().ElementCount(), 0);
}

}  // namespace
}  // namespace smdebug::record::kept_tensor_test
