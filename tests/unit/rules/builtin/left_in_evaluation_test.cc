#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "rules/evaluating.h"

namespace smdebug::rules::left_in_evaluation_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char *kRule = "LeftInEvaluation";

FakeSource Modes(const std::vector<double> &modes) {
  FakeSource source;
  int64_t step = 0;
  for (const double mode : modes) source.Step(step++).Save("evaluation_mode/Net", {mode});
  return source;
}

TEST(LeftInEvaluationTest, AModelThatIsNotPutBackIsFound) {
  FakeSource source = Modes({0, 0, 1, 1, 1, 1, 1, 1});
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  ASSERT_THAT(evaluated.Steps(), ElementsAre(6, 7));
  EXPECT_EQ(evaluated.findings[0].tensor, "evaluation_mode/Net");
  EXPECT_EQ(evaluated.findings[0].message,
            "the model 'Net' is trained in evaluation mode since step 2: its dropout and "
            "normalisation do not work as in training");
  EXPECT_THAT(Evaluate(kRule, {{"patience", "6"}}, source).Steps(), ElementsAre(7));
}

TEST(LeftInEvaluationTest, StatisticsThatWereNeverUpdatedAreNoChoice) {
  FakeSource source = Modes({2, 2, 2, 2, 2, 2});
  EXPECT_THAT(Evaluate(kRule, {}, source).Steps(), ElementsAre(4, 5));
}

TEST(LeftInEvaluationTest, AChoiceIsNone) {
  FakeSource from_the_start = Modes({1, 1, 1, 1, 1, 1, 1, 1});
  EXPECT_THAT(Evaluate(kRule, {}, from_the_start).findings, IsEmpty());
  FakeSource in_turns = Modes({0, 1, 0, 1, 1, 1, 1, 0, 1});
  EXPECT_THAT(Evaluate(kRule, {}, in_turns).findings, IsEmpty());
  FakeSource other;
  other.Step(0).Save("w", {1});
  EXPECT_EQ(Evaluate(kRule, {}, other).result.status, RuleStatus::kNoTensors);
}

}  // namespace
}  // namespace smdebug::rules::left_in_evaluation_test
