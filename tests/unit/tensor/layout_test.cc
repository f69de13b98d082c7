#include "tensor/layout.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace smdebug::tensor::layout_test {
namespace {

using Sizes = std::vector<std::pair<int64_t, int64_t>>;  // size and stride in bytes

constexpr std::byte kMemory[4096] = {};
constexpr const std::byte *kOrigin = kMemory + 2048;

Layout Make(Layout (*make)(const View &), const std::vector<int64_t> &shape,
            const std::vector<int64_t> &strides = {}) {
  return make({kOrigin, shape, strides, DType::kFloat32});
}

Sizes SizesOf(const Layout &layout) {
  Sizes sizes;
  for (size_t i = 0; i < layout.rank; ++i) {
    sizes.emplace_back(layout.dimensions[i].size, layout.dimensions[i].stride);
  }
  return sizes;
}

TEST(Layout, CompactTensorsAreOneRun) {
  EXPECT_EQ(SizesOf(Make(InOrder, {2, 3, 4})), (Sizes{{24, 4}}));
  EXPECT_EQ(SizesOf(Make(InOrder, {})), (Sizes{{1, 4}}));
  EXPECT_EQ(SizesOf(Make(InOrder, {1, 1})), (Sizes{{1, 4}}));
}

TEST(Layout, MergesContiguousDimensions) {
  EXPECT_EQ(SizesOf(Make(InOrder, {2, 3, 4}, {20, 4, 1})), (Sizes{{2, 80}, {12, 4}}));
  EXPECT_EQ(SizesOf(Make(InOrder, {2, 3, 4}, {24, 8, 2})), (Sizes{{24, 8}}));
  EXPECT_EQ(SizesOf(Make(InOrder, {2, 1, 4}, {4, 77, 1})), (Sizes{{8, 4}}));
}

TEST(Layout, KeepsTheOrderOnlyIfRequested) {
  EXPECT_EQ(SizesOf(Make(InOrder, {3, 4}, {1, 3})), (Sizes{{3, 4}, {4, 12}}));
  EXPECT_EQ(SizesOf(Make(InAnyOrder, {3, 4}, {1, 3})), (Sizes{{12, 4}}));
}

TEST(Layout, BackwardsBecomesForwardsInAnyOrder) {
  const Layout layout = Make(InAnyOrder, {3, 4}, {4, -1});
  EXPECT_EQ(SizesOf(layout), (Sizes{{12, 4}}));
  EXPECT_EQ(layout.origin, kOrigin - 12);
}

TEST(Layout, EmptyTensorsHaveOneEmptyDimension) {
  EXPECT_EQ(SizesOf(Make(InOrder, {3, 0, 5})), (Sizes{{0, 4}}));
  EXPECT_EQ(SizesOf(Make(InAnyOrder, {0, 7}, {9, -9})), (Sizes{{0, 4}}));
}

TEST(Odometer, VisitsAllCombinationsInOrder) {
  const Layout layout = Make(InOrder, {2, 3, 2}, {100, 10, 3});
  Odometer odometer(layout, 2);
  std::vector<std::ptrdiff_t> offsets;
  do {
    offsets.push_back((odometer.Address() - kOrigin) / 4);
  } while (odometer.Advance());
  EXPECT_EQ(offsets, (std::vector<std::ptrdiff_t>{0, 10, 20, 100, 110, 120}));
}

TEST(Odometer, WithoutDimensionsHasOneAddress) {
  const Layout layout = Make(InOrder, {5});
  Odometer odometer(layout, 0);
  EXPECT_EQ(odometer.Address(), kOrigin);
  EXPECT_FALSE(odometer.Advance());
}

}  // namespace
}  // namespace smdebug::tensor::layout_test
