#include "tensor/blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tensor/tensors.h"

namespace smdebug::tensor::blocks_test {
namespace {

struct Seen {
  std::vector<int32_t> elements;  // sorted
  std::vector<size_t> counts;     // of each block
  bool in_place = true;
};

Seen Visit(const View &view) {
  Seen seen;
  const auto *data = static_cast<const std::byte *>(view.data);
  ForEachBlock(view, [&](const std::byte *elements, size_t count) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(elements) % sizeof(int32_t), 0U);
    seen.in_place &= elements >= data && elements < data + (1 << 20);
    seen.counts.push_back(count);
    const auto *numbers = reinterpret_cast<const int32_t *>(elements);
    seen.elements.insert(seen.elements.end(), numbers, numbers + count);
  });
  std::sort(seen.elements.begin(), seen.elements.end());
  return seen;
}

class ForEachBlockTest : public testing::Test {
 protected:
  ForEachBlockTest() : memory_(1 << 18) { std::iota(memory_.begin(), memory_.end(), 0); }

  Seen Visit(const std::vector<int64_t> &shape, const std::vector<int64_t> &strides) {
    const View view{memory_.data(), shape, strides, DType::kInt32};
    Seen seen = blocks_test::Visit(view);
    std::vector<int32_t> expected;
    for (const double number : NumbersOf(view)) expected.push_back(static_cast<int32_t>(number));
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(seen.elements, expected);
    return seen;
  }

  std::vector<int32_t> memory_;
};

TEST_F(ForEachBlockTest, VisitsCompactElementsInPlace) {
  const Seen seen = Visit({5000}, {});
  EXPECT_TRUE(seen.in_place);
  EXPECT_EQ(seen.counts, (std::vector<size_t>{2048, 2048, 904}));
}

TEST_F(ForEachBlockTest, VisitsTransposedElementsInPlace) {
  EXPECT_TRUE(Visit({50, 100}, {1, 50}).in_place);
}

TEST_F(ForEachBlockTest, VisitsLongRunsInPlace) {
  const Seen seen = Visit({3, 3000}, {4000, 1});
  EXPECT_TRUE(seen.in_place);
  EXPECT_EQ(seen.counts, (std::vector<size_t>{2048, 952, 2048, 952, 2048, 952}));
}

TEST_F(ForEachBlockTest, GathersShortRunsAndScatteredElements) {
  EXPECT_EQ(Visit({500, 5}, {9, 1}).counts, (std::vector<size_t>{2048, 452}));
  EXPECT_EQ(Visit({2500}, {3}).counts, (std::vector<size_t>{2048, 452}));
  EXPECT_EQ(Visit({1000, 3}, {0, 2}).counts, (std::vector<size_t>{2048, 952}));
}

TEST_F(ForEachBlockTest, GathersUnalignedElements) {
  std::vector<std::byte> bytes(5000 * sizeof(int32_t) + 1);
  std::memcpy(bytes.data() + 1, memory_.data(), bytes.size() - 1);
  const int64_t shape[] = {5000};
  const Seen seen = blocks_test::Visit({bytes.data() + 1, shape, {}, DType::kInt32});
  EXPECT_TRUE(std::equal(seen.elements.begin(), seen.elements.end(), memory_.begin()));
  EXPECT_EQ(seen.elements.size(), 5000U);
}

TEST_F(ForEachBlockTest, DoesNotVisitEmptyTensors) {
  EXPECT_TRUE(Visit({0, 4}, {}).counts.empty());
}

TEST(NumberBlocks, HaveTheElements) {
  for (const DType dtype : kRealTypes) {
    const Value tensor = TensorOfNumbers(dtype, SomeNumbers(dtype, 2500));
    std::vector<double> numbers;
    ForEachNumberBlock(tensor.AsView(), Part::kWhole, [&](auto &block) {
      const auto *x = block.Numbers();
      numbers.insert(numbers.end(), x, x + block.Count());
    });
    EXPECT_EQ(numbers, NumbersOf(tensor.AsView())) << DTypeName(dtype);
  }
}

TEST(NumberBlocks, HavePartsOrMagnitudesOfComplexNumbers) {
  const Value tensor = TensorOf<float>(DType::kComplex64, {3, 4, -5, 12}, {2});
  const auto numbers = [&](Part part) {
    std::vector<double> all;
    ForEachNumberBlock(tensor.AsView(), part, [&](auto &block) {
      all.insert(all.end(), block.Numbers(), block.Numbers() + block.Count());
    });
    return all;
  };
  EXPECT_EQ(numbers(Part::kReal), (std::vector<double>{3, -5}));
  EXPECT_EQ(numbers(Part::kImaginary), (std::vector<double>{4, 12}));
  EXPECT_EQ(numbers(Part::kMagnitude), (std::vector<double>{5, 13}));
}

}  // namespace
}  // namespace smdebug::tensor::blocks_test
