// What rounding and noise explain.
#include "run_tolerance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace smdebug::cli::run_tolerance_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kUnit = 1.0 / (1 << 24);

RunTensor Tensor(const std::string &name) { return RunTensorsOf({name}).at(0); }

RunDistance Distance(double difference, double norm) {
  RunDistance distance;
  distance.difference = difference;
  distance.norm = distance.of_b = norm;
  distance.count = 10;
  return distance;
}

TEST(RunToleranceTest, KnowsTheUnitsOfFloatingPointTypes) {
  EXPECT_EQ(RoundingUnit("float64"), std::ldexp(1, -53));
  EXPECT_EQ(RoundingUnit("float32"), kUnit);
  EXPECT_EQ(RoundingUnit("bfloat16"), 1.0 / 256);
  EXPECT_EQ(RoundingUnit("float8_e5m2"), 0.125);
  for (const char *none : {"int32", "", "float", "float32 ", "string"}) {
    EXPECT_EQ(RoundingUnit(none), 0) << none;
  }
}

TEST(RunToleranceTest, AUnitOfZeroExplainsNothing) {
  const RoundingTolerance tolerance(0);
  for (const char *name : {"a.weight", "a_output_0", "loss", "gradient/a.weight"}) {
    EXPECT_EQ(tolerance.Limit(Tensor(name), 1), 0) << name;
  }
}

TEST(RunToleranceTest, TheLimitOfAnActivationGrowsWithDepth) {
  RoundingTolerance tolerance(kUnit);
  const RunTensor first = Tensor("a_output_0");
  EXPECT_EQ(tolerance.Limit(first, 0), 16 * kUnit);
  for (int i = 0; i < 3; ++i) tolerance.Accept(first, Distance(0, 1), 0);
  EXPECT_EQ(tolerance.Limit(first, 0), 32 * kUnit);
  tolerance.BeginStep();
  EXPECT_EQ(tolerance.Limit(first, 0), 16 * kUnit);
}

TEST(RunToleranceTest, AnAcceptedDifferenceExplainsLaterOnesOfTheStep) {
  RoundingTolerance tolerance(kUnit);
  tolerance.Accept(Tensor("a_output_0"), Distance(1e-4, 1), 1e-4);
  EXPECT_DOUBLE_EQ(tolerance.Limit(Tensor("b_output_0"), 0), 16e-4);
  EXPECT_DOUBLE_EQ(tolerance.Limit(Tensor("gradient/b.weight"), 0), 32e-4);
}

TEST(RunToleranceTest, NoRoundingExcusesALargeDifference) {
  RoundingTolerance tolerance(1.0 / 8);
  tolerance.Accept(Tensor("a_output_0"), Distance(0.2, 1), 0.2);
  EXPECT_EQ(tolerance.Limit(Tensor("b_output_0"), 0), 0.25);
  EXPECT_EQ(tolerance.Limit(Tensor("gradient/b.weight"), 0), 0.25);
}

TEST(RunToleranceTest, AParameterMayDifferByWhatItDifferedByBefore) {
  RoundingTolerance tolerance(kUnit);
  const RunTensor weight = Tensor("a.weight");
  EXPECT_DOUBLE_EQ(tolerance.Limit(weight, 0), 16 * kUnit);
  tolerance.Accept(weight, Distance(1e-3, 1), 1e-3);
  tolerance.BeginStep();
  EXPECT_DOUBLE_EQ(tolerance.Limit(weight, 0), 1e-3 + 16 * kUnit);
  EXPECT_DOUBLE_EQ(tolerance.Limit(Tensor("b.weight"), 0), 16 * kUnit);
}

TEST(RunToleranceTest, WithoutNoiseNothingIsTolerated) {
  const NoiseTolerance tolerance;
  EXPECT_EQ(tolerance.Limit(Tensor("a_output_0")), 0);
}

TEST(RunToleranceTest, NoiseIsOfTheTensorOverTheStepsAndOfItsKindAtTheStep) {
  NoiseTolerance tolerance;
  tolerance.Add(Tensor("a_output_0"), 1e-3);
  tolerance.Add(Tensor("b_output_0"), 1e-5);
  tolerance.Add(Tensor("c_output_0"), 1e-5);
  EXPECT_DOUBLE_EQ(tolerance.Limit(Tensor("a_output_0")), 1e-2);
  EXPECT_DOUBLE_EQ(tolerance.Limit(Tensor("other_output_0")), 1e-4);
  EXPECT_EQ(tolerance.Limit(Tensor("gradient/a.weight")), 0);
  tolerance.BeginStep();
  EXPECT_DOUBLE_EQ(tolerance.Limit(Tensor("a_output_0")), 1e-2);
  EXPECT_EQ(tolerance.Limit(Tensor("other_output_0")), 0);
}

TEST(RunToleranceTest, NoiseThatIsNotFiniteExcusesNothing) {
  NoiseTolerance tolerance;
  for (const double odd : {kInfinity, std::numeric_limits<double>::quiet_NaN()}) {
    tolerance.Add(Tensor("a_output_0"), odd);
  }
  EXPECT_EQ(tolerance.Limit(Tensor("a_output_0")), 0);
  tolerance.Add(Tensor("a_output_0"), 1e-3);
  EXPECT_DOUBLE_EQ(tolerance.Limit(Tensor("a_output_0")), 1e-2);
}

}  // namespace
}  // namespace smdebug::cli::run_tolerance_test
