#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "rules/evaluating.h"

namespace smdebug::rules::reward_at_lowest_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char *kRule = "RewardAtLowest";

using At = std::function<double(int64_t)>;

Evaluated Of(const At &reward, int64_t steps = 100, const char *tensor = "reward_output_0") {
  FakeSource source;
  for (int64_t step = 0; step < steps; ++step) source.Step(step).Save(tensor, {reward(step)});
  return Evaluate(kRule, {}, source);
}

double Sinking(int64_t step) {
  return step < 12 ? 0.5 + 0.1 * std::sin(static_cast<double>(step * step)) : 0;
}

TEST(RewardAtLowestTest, WhatSinksAndStaysIsFound) {
  const Evaluated evaluated = Of(Sinking);
  ASSERT_FALSE(evaluated.findings.empty());
  EXPECT_EQ(evaluated.findings[0].place.step, 39);
  EXPECT_EQ(evaluated.findings[0].value, 0);
  EXPECT_THAT(evaluated.findings[0].message, HasSubstr("what is learned makes it worse"));
  for (const char *name :
       {"mean_reward_output_0", "train/episode_return", "Rewards", "return_mean"}) {
    EXPECT_FALSE(Of(Sinking, 100, name).findings.empty()) << name;
  }
  for (const char *name : {"log_returns", "unreward", "reward_loss", "returned"}) {
    EXPECT_EQ(Of(Sinking, 100, name).result.status, RuleStatus::kNoTensors) << name;
  }
}

TEST(RewardAtLowestTest, AVeryLongTrainingIsAveraged) {
  EXPECT_FALSE(Of([](int64_t step) { return step < 3000 ? 1.0 : 0.0; }, 20'000).findings.empty());
}

TEST(RewardAtLowestTest, RewardsThatRiseOrVaryOrAreRareAreFine) {
  const At others[] = {
      [](int64_t step) { return static_cast<double>(step); },
      [](int64_t) { return 0.0; },
      [](int64_t step) { return step % 10 == 0 ? 1.0 : 0.0; },
      [](int64_t step) { return step < 60 ? 0.5 - static_cast<double>(step) / 100 : 1.0; },
      [](int64_t step) { return std::sin(static_cast<double>(step * step)); },
      [](int64_t) { return NAN; },
  };
  for (const At &reward : others) EXPECT_THAT(Of(reward).findings, IsEmpty());
  EXPECT_THAT(Of(Sinking, 39).findings, IsEmpty());
}

TEST(RewardAtLowestTest, ItsParametersAreChecked) {
  EXPECT_FALSE(BuiltinRule(kRule, {{"patience", "9"}}, Profile::kCalibrated, {}).IsOk());
  EXPECT_FALSE(BuiltinRule(kRule, {{"tensor_regex", "["}}, Profile::kCalibrated, {}).IsOk());
}

}  // namespace
}  // namespace smdebug::rules::reward_at_lowest_test
