// What UpdateNotApplied tells of a recorded learning rate.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "rules/evaluating.h"

namespace smdebug::rules::rate_without_effect_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

// A training of 20 steps with these rates, of the weight's values.
Evaluated With(const std::vector<double> &rates, const std::function<double(int64_t)> &weight) {
  FakeSource source;
  for (int64_t step = 0; step < 20; ++step) {
    source.Step(step, Mode::kTrain, step).Save("a.weight", {weight(step), 2.3});
    for (size_t i = 0; i < rates.size(); ++i) {
      source.Save("learning_rate/Adam_" + std::to_string(i), {rates[i]});
    }
    source.Save("gradient/a.weight", {step % 2 == 0 ? 1 : -0.9, 1});
  }
  return Evaluate("UpdateNotApplied", {}, source);
}

double Same(int64_t) { return 1.1; }
double Falling(int64_t step) { return 1 - .01 * static_cast<double>(step); }

// With a rate below the last digit of the weights, WeightUpdateRatio says what is wrong.
TEST(RateWithoutEffectTest, ATinyRateExplainsWhyNothingChanges) {
  EXPECT_THAT(With({1e-12, 1e-9}, Same).Checks(), IsEmpty());
  EXPECT_THAT(With({1e-12, 1e-3}, Same).Checks(), Contains("nothing_updated"));
  EXPECT_THAT(With({0, 0}, Same).Checks(), Contains("nothing_updated"));
}

TEST(RateWithoutEffectTest, AScheduleMayEndAtZero) {
  const auto stays = [](int64_t step) { return Falling(std::min<int64_t>(step, 5)); };
  EXPECT_THAT(With({0}, stays).Checks(), IsEmpty());
  EXPECT_THAT(With({0, 1e-3}, stays).Checks(), Contains("nothing_updated"));
}

// Once, whatever the rate; not where weights change, nor with a rate of 0.
TEST(RateWithoutEffectTest, IsAClue) {
  EXPECT_THAT(With({1e-12}, Falling).Clues(), IsEmpty());
  EXPECT_THAT(With({0}, Same).Clues(), IsEmpty());
  for (const double rate : {1e-12, 1e-6}) {
    EXPECT_THAT(With({rate}, Same).Clues(), ElementsAre("rate_without_effect"));
  }
}

}  // namespace
}  // namespace smdebug::rules::rate_without_effect_test
