#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/evaluating.h"

namespace smdebug::rules::tree_depth_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char *kRule = "TreeDepth";

FakeSource With(std::vector<std::string> ids) {
  FakeSource source;
  source.Step(0).SaveTexts("trees/ID", std::move(ids));
  return source;
}

TEST(TreeDepthTest, TheLargestNodeTellsTheDepth) {
  FakeSource source = With({"0-0", "0-1", "0-2", "1-0", "1-31", "1-62"});
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  ASSERT_THAT(evaluated.Steps(), ElementsAre(0));
  EXPECT_EQ(evaluated.findings[0].value, 5);
  EXPECT_EQ(evaluated.findings[0].limit, 4);
  EXPECT_EQ(evaluated.findings[0].check, "too_deep");
  EXPECT_EQ(evaluated.findings[0].tensor, "trees/ID");
  EXPECT_THAT(evaluated.findings[0].message, HasSubstr("tree 1 of"));
}

TEST(TreeDepthTest, LeftmostNodesAreAsDeepAsTheirNeighbours) {
  FakeSource at_the_limit = With({"0-15", "0-30"});
  EXPECT_THAT(Evaluate(kRule, {}, at_the_limit).findings, IsEmpty());
  FakeSource leftmost = With({"0-31"});
  EXPECT_THAT(Evaluate(kRule, {}, leftmost).Steps(), ElementsAre(0));
  FakeSource root = With({"0-0"});
  EXPECT_THAT(Evaluate(kRule, {{"depth", "0"}}, root).findings, IsEmpty());
}

TEST(TreeDepthTest, ChildrenTellItWhereNumbersDoNot) {
  FakeSource source = With({"0-0", "0-1", "0-2", "0-3", "0-4", "0-5", "0-6"});
  source.SaveTexts("trees/Yes", {"0-1", "0-3", "", "0-5", "nan", "None", ""});
  source.SaveTexts("trees/No", {"0-2", "0-4", "", "0-6", "nan", "None", ""});
  const Evaluated evaluated = Evaluate(kRule, {{"depth", "2"}}, source);
  ASSERT_THAT(evaluated.Steps(), ElementsAre(0));
  EXPECT_EQ(evaluated.findings[0].value, 3);
}

TEST(TreeDepthTest, TheNewestTreeMayBeStunted) {
  FakeSource source = With({"0-0", "0-1", "0-2", "1-0"});
  EXPECT_THAT(Evaluate(kRule, {}, source).findings, IsEmpty());
  const Evaluated evaluated = Evaluate(kRule, {{"min_depth", "1"}}, source);
  ASSERT_THAT(evaluated.Checks(), ElementsAre("stunted"));
  EXPECT_EQ(evaluated.findings[0].value, 0);
}

TEST(TreeDepthTest, TheLimitMayHaveAFraction) {
  FakeSource source = With({"0-31"});
  EXPECT_THAT(Evaluate(kRule, {{"depth", "4.5"}}, source).Steps(), ElementsAre(0));
  EXPECT_THAT(Evaluate(kRule, {{"depth", "5.5"}}, source).findings, IsEmpty());
}

TEST(TreeDepthTest, WorkersHaveTheirOwn) {
  FakeSource source;
  source.Step(0).By("a").SaveTexts("trees/ID", {"0-1"}).By("b").SaveTexts("trees/ID", {"0-99"});
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  ASSERT_THAT(evaluated.Steps(), ElementsAre(0));
  EXPECT_EQ(evaluated.findings[0].worker, "b");
}

TEST(TreeDepthTest, WhatNamesNoNodeIsNotEnough) {
  FakeSource source = With({"", "root", "0-", "-5", "0-x", "0--1", "0-99999999999999999999"});
  EXPECT_EQ(Evaluate(kRule, {}, source).result.status, RuleStatus::kNotEnoughData);
  FakeSource numbers;
  numbers.Step(0).Save("trees/ID", {99});
  EXPECT_EQ(Evaluate(kRule, {}, numbers).result.status, RuleStatus::kNotEnoughData);
  FakeSource without;
  without.Step(0).SaveTexts("trees/Feature", {"f0"});
  EXPECT_EQ(Evaluate(kRule, {}, without).result.status, RuleStatus::kNoTensors);
}

TEST(TreeDepthTest, ItsParametersAreChecked) {
  EXPECT_THAT(Refusal(kRule, {{"depth", "-1"}}), HasSubstr("depth"));
  EXPECT_THAT(Refusal(kRule, {{"min_depth", "x"}}), HasSubstr("min_depth"));
}

}  // namespace
}  // namespace smdebug::rules::tree_depth_test
