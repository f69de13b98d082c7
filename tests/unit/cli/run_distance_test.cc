// The distance of two tensors whose parts come from several workers or micro-batches.
#include "run_distance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace smdebug::cli::run_distance_test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

RunPart Part(std::vector<int64_t> shape, std::vector<double> numbers, size_t worker = 0) {
  RunPart part;
  part.shape = std::move(shape);
  part.numbers = std::move(numbers);
  part.has_numbers = true;
  part.worker = worker;
  return part;
}

RunPart Vector(std::vector<double> numbers, size_t worker = 0) {
  const auto size = static_cast<int64_t>(numbers.size());
  return Part({size}, std::move(numbers), worker);
}

RunPart Reductions(std::map<std::string, double> reductions) {
  RunPart part;
  part.reductions = std::move(reductions);
  return part;
}

std::optional<double> Apart(const RunParts &a, const RunParts &b,
                            RunKind kind = RunKind::kParameter, double limit = 1e-6) {
  Orders orders;
  const std::optional<RunDistance> distance = DistanceOf(kind, a, b, limit, &orders);
  if (!distance) return std::nullopt;
  return distance->Relative(0);
}

TEST(RunDistanceTest, IsRelativeToTheFirstRun) {
  EXPECT_DOUBLE_EQ(*Apart({Vector({3, 4})}, {Vector({3, 4.5})}), 0.1);
  EXPECT_EQ(Apart({Vector({3, 4})}, {Vector({3, 4})}), 0);
  EXPECT_EQ(Apart({Vector({0, 0})}, {Vector({0, 0})}), 0);
  EXPECT_EQ(Apart({Vector({0, 0})}, {Vector({0, 1})}), kInfinity);
}

TEST(RunDistanceTest, AFloorReplacesANormThatIsNearlyZero) {
  Orders orders;
  const auto distance =
      DistanceOf(RunKind::kGradient, {Vector({0, 0})}, {Vector({3, 4})}, 1, &orders);
  ASSERT_TRUE(distance);
  EXPECT_EQ(distance->Relative(10), 0.5);
}

TEST(RunDistanceTest, EqualNumbersThatAreNotFiniteAreNoDifference) {
  EXPECT_EQ(
      Apart({Vector({kNan, kInfinity, -kInfinity, 1})}, {Vector({kNan, kInfinity, -kInfinity, 1})}),
      0);
}

TEST(RunDistanceTest, OtherNumbersThatAreNotFiniteAreInfinitelyApart) {
  const std::vector<double> odd = {kNan, kInfinity, -kInfinity, 1};
  for (const double a : odd) {
    for (const double b : odd) {
      if (a == b || (std::isnan(a) && std::isnan(b))) continue;
      EXPECT_EQ(Apart({Vector({a, 2})}, {Vector({b, 2})}), kInfinity) << a << " " << b;
      EXPECT_EQ(Apart({Vector({a, 2})}, {Vector({b, 2})}, RunKind::kActivation), kInfinity);
      EXPECT_EQ(Apart({Part({}, {a})}, {Part({}, {b})}, RunKind::kLoss), kInfinity);
    }
  }
}

TEST(RunDistanceTest, SquaresNeitherOverflowNorUnderflow) {
  for (const double size : {1e300, 1e-300, std::numeric_limits<double>::min() * 4}) {
    EXPECT_NEAR(*Apart({Vector({size, size})}, {Vector({size, 0.5 * size})}), 0.5 / std::sqrt(2),
                1e-6)
        << size;
  }
}

TEST(RunDistanceTest, TensorsWithoutElementsAreEqualIfTheirShapesAre) {
  EXPECT_EQ(Apart({Part({0, 3}, {})}, {Part({0, 3}, {})}), 0);
  EXPECT_EQ(Apart({Part({0, 3}, {})}, {Part({0, 3}, {})}, RunKind::kActivation), 0);
  EXPECT_FALSE(Apart({Part({0, 3}, {})}, {Part({0, 2}, {})}));
}

TEST(RunDistanceTest, NothingIsNotComparedWithAnything) {
  EXPECT_FALSE(Apart({}, {}));
  EXPECT_FALSE(Apart({Vector({1})}, {}));
  EXPECT_FALSE(Apart({Vector({1})}, {Reductions({{"l2", 1}})}));
  EXPECT_FALSE(Apart({Reductions({{"l1", 1}})}, {Reductions({{"l2", 1}})}));
  EXPECT_FALSE(Apart({Reductions({})}, {Reductions({})}));
}

TEST(RunDistanceTest, ShardsAreJoinedAlongTheAxisThatFits) {
  const RunParts whole = {Part({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})};
  EXPECT_EQ(Apart(whole, {Part({1, 4}, {1, 2, 3, 4}), Part({1, 4}, {5, 6, 7, 8}, 1)}), 0);
  EXPECT_EQ(Apart(whole, {Part({2, 2}, {1, 2, 5, 6}), Part({2, 2}, {3, 4, 7, 8}, 1)}), 0);
  EXPECT_EQ(Apart(whole, {Part({2, 1}, {1, 5}), Part({2, 3}, {2, 3, 4, 6, 7, 8}, 1)}), 0);
  EXPECT_EQ(Apart({Part({2, 2}, {1, 2, 5, 6}), Part({2, 2}, {3, 4, 7, 8}, 1)}, whole), 0);
  EXPECT_FALSE(Apart(whole, {Part({2, 2}, {1, 2, 5, 6}), Part({2, 1}, {3, 7}, 1)}));
  EXPECT_FALSE(Apart(whole, {Part({8}, {1, 2, 3, 4, 5, 6, 7, 8})}));
}

TEST(RunDistanceTest, ReplicasCountOnce) {
  EXPECT_EQ(Apart({Vector({1, 2})}, {Vector({1, 2}), Vector({1, 2}, 1)}), 0);
  EXPECT_EQ(Apart({Vector({1, 2}), Vector({1, 2}, 1)}, {Vector({1, 2})}), 0);
}

TEST(RunDistanceTest, SamplesMayBeInAnotherOrder) {
  const RunParts a = {Part({3, 2}, {1, 2, 3, 4, 5, 6})};
  const RunParts b = {Part({3, 2}, {5, 6, 1, 2, 3, 4})};
  EXPECT_EQ(Apart(a, b, RunKind::kActivation), 0);
  EXPECT_GT(Apart(a, b, RunKind::kParameter), 0.1);
}

TEST(RunDistanceTest, AnOrderThatWasFoundHoldsForTheWholeStep) {
  Orders orders;
  const RunParts a = {Part({3, 1}, {1, 2, 3})};
  const RunParts b = {Part({3, 1}, {2, 3, 1})};
  EXPECT_EQ(DistanceOf(RunKind::kActivation, a, b, 1e-6, &orders)->difference, 0);
  ASSERT_EQ(orders.count(3), 1U);
  const RunParts other = {Part({3, 1}, {3, 1, 2})};  // a third order is a difference
  EXPECT_GT(DistanceOf(RunKind::kActivation, a, other, 1e-6, &orders)->difference, 0);
}

TEST(RunDistanceTest, SamplesThatAreNotFiniteFindAnOrderToo) {
  const RunParts a = {Part({2, 2}, {kNan, 2, 3, 4})};
  EXPECT_EQ(Apart(a, {Part({2, 2}, {kNan, 2, 3, 4})}, RunKind::kActivation), 0);
  EXPECT_EQ(Apart(a, {Part({2, 2}, {kNan, kNan, kNan, kNan})}, RunKind::kActivation), kInfinity);
}

TEST(RunDistanceTest, LossesAreAveragedOrSummed) {
  const auto loss = [](double value) { return Part({}, {value}); };
  EXPECT_EQ(Apart({loss(3)}, {loss(2), loss(4)}, RunKind::kLoss), 0);
  EXPECT_EQ(Apart({loss(6)}, {loss(2), loss(4)}, RunKind::kLoss), 0);
  EXPECT_EQ(Apart({loss(2), loss(4)}, {loss(3)}, RunKind::kLoss), 0);
  EXPECT_EQ(Apart({loss(4)}, {loss(2)}, RunKind::kLoss), 0.5);
  EXPECT_EQ(Apart({loss(0)}, {loss(0)}, RunKind::kLoss), 0);
}

TEST(RunDistanceTest, ReductionsAreComparedByTheirScale) {
  EXPECT_EQ(Apart({Reductions({{"l2", 4}})}, {Reductions({{"l2", 5}})}), 0.25);
  // A mean of nearly zero is compared with the spread.
  EXPECT_NEAR(*Apart({Reductions({{"mean", 1e-9}, {"std", 2}})},
                     {Reductions({{"mean", 2e-9}, {"std", 2}})}),
              5e-10, 1e-15);
  EXPECT_EQ(Apart({Reductions({{"mean", 0}})}, {Reductions({{"mean", 1}})}), kInfinity);
  EXPECT_EQ(Apart({Reductions({{"mean", kNan}})}, {Reductions({{"mean", kNan}})}), 0);
  EXPECT_EQ(Apart({Reductions({{"mean", kNan}})}, {Reductions({{"mean", 1}})}), kInfinity);
  EXPECT_EQ(Apart({Reductions({{"max", kInfinity}})}, {Reductions({{"max", 1}})}), kInfinity);
}

TEST(RunDistanceTest, WholeNumbersAreKnown) {
  RunPart whole = Vector({1, 2});
  whole.are_whole = true;
  Orders orders;
  EXPECT_TRUE(DistanceOf(RunKind::kActivation, {whole}, {whole}, 0, &orders)->are_whole);
  EXPECT_FALSE(DistanceOf(RunKind::kActivation, {whole}, {Vector({1, 2})}, 0, &orders)->are_whole);
}

}  // namespace
}  // namespace smdebug::cli::run_distance_test
