// What WeightUpdateRatio tells, when a job ends, of weights that have hardly moved.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "rules/evaluating.h"

namespace smdebug::rules::crept_weights_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A training of one weight.
struct Training {
  int64_t updates = 200;
  // How far so many updates have moved an element, relative to it.
  std::function<double(int64_t updates, int64_t element)> moved;
  std::function<double(int64_t updates)> loss = [](int64_t) { return 2.0; };
  int64_t rows = 16;
};

double Straight(int64_t updates, int64_t element) {
  return 1e-5 * static_cast<double>(updates * (element % 3));
}

// There and back again, each element at its own pace.
double Trembling(int64_t updates, int64_t element) {
  return 1e-3 * std::sin(static_cast<double>(updates * (element + 5)));
}

Evaluated Find(const Training &training, const Parameters::Given &parameters = {}) {
  FakeSource source;
  const int64_t elements = 4 * training.rows;
  for (int64_t step = 0; step <= training.updates; ++step) {
    std::vector<double> weight;
    for (int64_t i = 0; i < elements; ++i) {
      weight.push_back((i % 2 == 0 ? 1 : -2) * (1 + training.moved(step, i)));
    }
    source.Step(step, Mode::kTrain, step)
        .Save("fc.weight", weight, {training.rows, 4})
        .Save("gradient/fc.weight", std::vector<double>(weight.size(), 1), {training.rows, 4})
        .Save("loss", {training.loss(step)});
  }
  return Evaluate("WeightUpdateRatio", parameters, source, Profile::kCalibrated);
}

TEST(CreptWeightsTest, WeightsThatCreepAlongALineAreFoundAtTheEnd) {
  const Evaluated evaluated = Find({.moved = Straight});
  ASSERT_THAT(evaluated.Checks(), ElementsAre("crept"));
  EXPECT_EQ(evaluated.findings[0].tensor, "fc.weight");
  EXPECT_EQ(evaluated.findings[0].place.step, 200);
  EXPECT_EQ(evaluated.findings[0].limit, 0.008);
  EXPECT_NEAR(evaluated.findings[0].value, 0.002, 1e-4);
  EXPECT_THAT(evaluated.findings[0].message,
              testing::MatchesRegex("after 200 updates, all weights had moved by 0.[12][0-9]* % of "
                                    "themselves, all the way in one direction, and no loss had "
                                    "fallen by more than 10 %: the learning rate is too low, or "
                                    "the training too short"));
}

TEST(CreptWeightsTest, ALossThatFallsNeedsNoLongerWay) {
  const auto falls = [](int64_t step) { return 2 - 0.002 * static_cast<double>(step); };
  EXPECT_THAT(Find({.moved = Straight, .loss = falls}).findings, IsEmpty());
}

TEST(CreptWeightsTest, ALossThatWasLearnedBeforeIsNotJudged) {
  EXPECT_THAT(Find({.moved = Straight, .loss = [](int64_t) { return 0.1; }}).findings, IsEmpty());
}

TEST(CreptWeightsTest, ALossThatMayBeBelowZeroIsNotJudged) {
  const auto swings = [](int64_t step) { return std::sin(static_cast<double>(step)); };
  EXPECT_THAT(Find({.moved = Straight, .loss = swings}).findings, IsEmpty());
  EXPECT_THAT(Find({.moved = Straight, .loss = [](int64_t) { return NAN; }}).findings, IsEmpty());
}

TEST(CreptWeightsTest, WeightsThatTrembleOrWentFarAreFine) {
  EXPECT_THAT(Find({.moved = Trembling}).findings, IsEmpty());
  EXPECT_THAT(Find({.moved = [](int64_t updates,
                                int64_t element) { return 5 * Straight(updates, element); }})
                  .findings,
              IsEmpty());
}

TEST(CreptWeightsTest, FewUpdatesOrElementsAreNoEvidence) {
  EXPECT_THAT(Find({.moved = Straight, .rows = 7}).findings, IsEmpty());
  EXPECT_THAT(Find({.updates = 59, .moved = Straight}).findings, IsEmpty());
  EXPECT_THAT(Find({.updates = 60, .moved = Straight}).Checks(), ElementsAre("crept"));
}

TEST(CreptWeightsTest, TheLimitIsAParameter) {
  EXPECT_THAT(Find({.moved = Straight}, {{"crept", "0.0015"}}).findings, IsEmpty());
  EXPECT_THAT(Find({.moved = Straight}, {{"crept", "None"}}).findings, IsEmpty());
}

}  // namespace
}  // namespace smdebug::rules::crept_weights_test
