#include "rules/support/falling.h"

#include <gtest/gtest.h>

#include <cmath>

namespace smdebug::rules::falling_test {
namespace {

Falling Of(double begin, double slope, double noise, int steps = 200) {
  Falling losses;
  for (int step = 0; step < steps; ++step) {
    losses.Add(begin + slope * step + noise * (step * 7 % 5 - 2));
  }
  return losses;
}

TEST(FallingTest, ATrendAboveTheNoise) {
  EXPECT_TRUE(Of(2, -0.005, 0).Falls());
  EXPECT_TRUE(Of(2, -0.005, 0.1).Falls());
  EXPECT_FALSE(Of(2, 0, 0).Falls());
  EXPECT_FALSE(Of(2, 0, 0.1).Falls());
  EXPECT_FALSE(Of(2, 0.005, 0.1).Falls());
  EXPECT_TRUE(Of(2, 0.005, 0.1).Rises());
  EXPECT_FALSE(Of(2, 0, 0.1).Rises());
  EXPECT_FALSE(Of(2, -0.005, 0.1).Rises());
}

TEST(FallingTest, OnePercentIsNotWorthAWait) {
  EXPECT_FALSE(Of(2, -0.0005, 0).Falls()) << "0.0125 of 1.9";
  EXPECT_TRUE(Of(2, -0.002, 0).Falls()) << "0.05 of 1.6";
}

TEST(FallingTest, OnlyTheLastLossesCount) {
  Falling losses = Of(2, -0.005, 0);
  for (int step = 0; step < 50; ++step) losses.Add(1);
  EXPECT_FALSE(losses.Falls());
}

TEST(FallingTest, NeedsFourFiniteLosses) {
  Falling losses;
  for (const double loss : {4.0, std::nan(""), 3.0, HUGE_VAL, 2.0}) losses.Add(loss);
  EXPECT_FALSE(losses.Falls());
  losses.Add(1);
  EXPECT_TRUE(losses.Falls());
}

}  // namespace
}  // namespace smdebug::rules::falling_test
