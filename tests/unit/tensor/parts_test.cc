#include "tensor/parts.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace smdebug::tensor::parts_test {
namespace {

std::vector<int16_t> Counting(size_t count) {
  std::vector<int16_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), int16_t{0});
  return numbers;
}

std::vector<int16_t> Copied(const View &view) {
  std::vector<int16_t> numbers(static_cast<size_t>(view.ElementCount()));
  CopyCompact(view, reinterpret_cast<std::byte *>(numbers.data()));
  return numbers;
}

struct Split {
  std::vector<std::vector<int64_t>> shapes;
  std::vector<int16_t> elements;  // of all parts in a row
};

Split SplitOf(const View &view, uint64_t most_bytes) {
  Split split;
  Parts parts(view, most_bytes);
  do {
    const View &part = parts.Current();
    split.shapes.emplace_back(part.shape.begin(), part.shape.end());
    const std::vector<int16_t> elements = Copied(part);
    split.elements.insert(split.elements.end(), elements.begin(), elements.end());
  } while (parts.Advance());
  return split;
}

using Shapes = std::vector<std::vector<int64_t>>;

TEST(Parts, AreRowsOfTheFirstDimension) {
  const auto numbers = Counting(10);
  const std::vector<int64_t> shape = {5, 2};
  const Split split = SplitOf({numbers.data(), shape, {}, DType::kInt16}, 9);
  EXPECT_EQ(split.shapes, (Shapes{{2, 2}, {2, 2}, {1, 2}}));
  EXPECT_EQ(split.elements, numbers);
}

TEST(Parts, CutALaterDimensionIfARowIsTooLarge) {
  const auto numbers = Counting(24);
  const std::vector<int64_t> shape = {2, 3, 4};
  const Split split = SplitOf({numbers.data(), shape, {}, DType::kInt16}, 16);
  EXPECT_EQ(split.shapes, (Shapes{{1, 2, 4}, {1, 1, 4}, {1, 2, 4}, {1, 1, 4}}));
  EXPECT_EQ(split.elements, numbers);
}

TEST(Parts, HaveAtLeastOneElement) {
  const auto numbers = Counting(6);
  const std::vector<int64_t> shape = {2, 3};
  const Split split = SplitOf({numbers.data(), shape, {}, DType::kInt16}, 1);
  EXPECT_EQ(split.shapes, Shapes(6, {1, 1}));
  EXPECT_EQ(split.elements, numbers);
  const Split scalar = SplitOf({numbers.data(), {}, {}, DType::kInt16}, 1);
  EXPECT_EQ(scalar.shapes, Shapes{{}});
}

TEST(Parts, KeepRowMajorOrderWhateverTheStrides) {
  const auto numbers = Counting(24);
  const std::vector<int64_t> shape = {4, 3, 2};
  for (const std::vector<int64_t> &strides :
       {std::vector<int64_t>{1, 4, 12}, {-6, 2, 1}, {0, 2, 1}}) {
    const auto *data = numbers.data() + (strides[0] < 0 ? 18 : 0);
    const View view{data, shape, strides, DType::kInt16};
    for (uint64_t most = 1; most < 60; ++most) {
      EXPECT_EQ(SplitOf(view, most).elements, Copied(view)) << most;
    }
  }
}

}  // namespace
}  // namespace smdebug::tensor::parts_test
