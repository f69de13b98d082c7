#include "tensor/spread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <vector>

namespace smdebug::tensor::spread_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<float> Counting(int64_t count) {
  std::vector<float> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0.0F);
  return numbers;
}

std::vector<float> FloatsOf(const SpreadElements &elements) {
  const View view = elements.AsView();
  const auto *data = static_cast<const float *>(view.data);
  return {data, data + view.ElementCount()};
}

std::vector<float> Spread(const std::vector<float> &numbers, std::vector<int64_t> shape,
                          std::vector<int64_t> strides, int64_t most) {
  return FloatsOf(SpreadElements({numbers.data(), shape, strides, DType::kFloat32}, most));
}

TEST(SpreadElementsTest, KeepsAllOfFewElements) {
  const std::vector<float> numbers = Counting(100);
  EXPECT_EQ(Spread(numbers, {100}, {}, 100), numbers);
  EXPECT_EQ(Spread(numbers, {20, 5}, {}, 0), numbers);
  EXPECT_THAT(Spread(numbers, {2, 3}, {1, 2}, 6), ElementsAre(0, 2, 4, 1, 3, 5));
  EXPECT_THAT(Spread(numbers, {0}, {}, 8), IsEmpty());
  EXPECT_THAT(FloatsOf(SpreadElements()), IsEmpty());
}

TEST(SpreadElementsTest, RunsAreInOrderAndApart) {
  const std::vector<float> some = Spread(Counting(100'003), {100'003}, {}, 1000);
  ASSERT_EQ(some.size(), 992);
  for (size_t i = 1; i < some.size(); ++i) {
    EXPECT_TRUE(i % kSpreadRun == 0 ? some[i] > some[i - 1] : some[i] == some[i - 1] + 1) << i;
  }
  EXPECT_LT(some.front(), 2000);
  EXPECT_GT(some.back(), 98'000);
}

TEST(SpreadElementsTest, EachShareOfTheLinesHasARun) {
  constexpr int64_t kRuns = 37;
  for (const int64_t count : {int64_t{37 * 16}, int64_t{1009}, int64_t{100'003}}) {
    const int64_t lines = count / kSpreadRun;
    const std::vector<float> places = Spread(Counting(count), {count}, {}, kRuns * kSpreadRun);
    ASSERT_EQ(places.size(), static_cast<size_t>(kRuns * kSpreadRun));
    for (int64_t run = 0; run < kRuns; ++run) {
      const auto begin = static_cast<int64_t>(places[static_cast<size_t>(run * kSpreadRun)]);
      EXPECT_EQ(begin % kSpreadRun, 0);
      EXPECT_GE(begin / kSpreadRun, lines * run / kRuns) << count;
      EXPECT_LT(begin / kSpreadRun, lines * (run + 1) / kRuns) << count;
    }
  }
}

TEST(SpreadElementsTest, AtLeastOneRun) {
  EXPECT_EQ(Spread(Counting(100), {100}, {}, 3).size(), static_cast<size_t>(kSpreadRun));
}

TEST(SpreadElementsTest, IsIndependentOfTheLayout) {
  constexpr int64_t kSize = 70;
  const std::vector<float> columns = Counting(kSize * kSize * kSize);
  std::vector<float> rows;
  for (int64_t i = 0; i < kSize; ++i) {
    for (int64_t j = 0; j < kSize; ++j) {
      for (int64_t k = 0; k < kSize; ++k) {
        rows.push_back(columns[static_cast<size_t>(i + j * kSize + k * kSize * kSize)]);
      }
    }
  }
  EXPECT_EQ(Spread(columns, {kSize, kSize, kSize}, {1, kSize, kSize * kSize}, 4096),
            Spread(rows, {kSize, kSize, kSize}, {}, 4096));
}

// Even if a share is a whole number of rows.
TEST(SpreadElementsTest, SamplesEveryColumn) {
  for (const auto &[rows, columns] : {std::pair{640, 784}, {1024, 1024}, {4096, 64}, {256, 1000}}) {
    const int64_t count = int64_t{rows} * columns;
    std::set<int64_t> met;
    for (const float place : Spread(Counting(count), {count}, {}, 4096)) {
      met.insert(static_cast<int64_t>(place) % columns);
    }
    EXPECT_EQ(met.size(), static_cast<size_t>(columns)) << rows;
  }
}

TEST(SpreadElementsTest, SamplesEveryRowAsLongAsTwoShares) {
  std::set<int64_t> met;
  for (const float place : Spread(Counting(128 * 4000), {128, 4000}, {}, 4096)) {
    met.insert(static_cast<int64_t>(place) / 4000);
  }
  EXPECT_EQ(met.size(), 128);
}

}  // namespace
}  // namespace smdebug::tensor::spread_test
