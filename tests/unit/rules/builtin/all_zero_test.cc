#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "rules/evaluating.h"

namespace smdebug::rules::all_zero_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char *kRule = "AllZero";
const Parameters::Given kAll = {{"tensor_regex", ".*"}};

TEST(AllZeroTest, ATensorOfZerosIsNamed) {
  FakeSource source;
  source.Step(0).Save("a", {0, 1}).Save("b", {0, -0.0, 0}).Save("c", {0});
  source.Step(1).Save("b", {0, 0, 1e-300});
  const Evaluated evaluated = Evaluate(kRule, kAll, source);
  ASSERT_THAT(evaluated.Tensors(), ElementsAre("b"));
  EXPECT_EQ(evaluated.findings[0].value, 100);
  EXPECT_EQ(evaluated.findings[0].limit, 100);
  EXPECT_EQ(evaluated.findings[0].message, "100 % of 'b' are zero; the limit is 100 %");
}

TEST(AllZeroTest, ACounterMayBeZero) {
  FakeSource source;
  for (int step = 0; step < 4; ++step) source.Step(step).Save("count", {0}).Save("w", {0, 0});
  EXPECT_THAT(Evaluate(kRule, kAll, source, Profile::kCalibrated).Tensors(), ElementsAre("w", "w"));
  EXPECT_THAT(Refusal(kRule, {{"tensor_regex", "w"}, {"least", "0"}}), HasSubstr("least"));
}

TEST(AllZeroTest, AWeightThatNothingUsesStaysZero) {
  for (const char *collection : {"frozen", "not_used", "other"}) {
    FakeSource source;
    source.Include(collection, "^w$");
    for (int step = 0; step < 6; ++step) source.Step(step).Save("w", {0, 0});
    const Evaluated evaluated = Evaluate(kRule, kAll, source, Profile::kCalibrated);
    EXPECT_EQ(evaluated.findings.empty(), std::string_view(collection) != "other") << collection;
  }
}

TEST(AllZeroTest, AWeightOfZerosWaitsForItsUpdate) {
  for (const int update : {8, 100}) {
    FakeSource source;
    source.Include("weights", "^w$");
    for (int step = 0; step < 60; ++step) {
      source.Step(step).Save("batches_per_update", {std::min(step + 1.0, 8.0)});
      source.Save("w", {0, step < update ? 0.0 : 1.0});
    }
    const Evaluated evaluated = Evaluate(kRule, kAll, source, Profile::kCalibrated);
    // After three updates of eight batches each.  No update changes what is no weight.
    EXPECT_EQ(evaluated.findings.empty(), update == 8);
    if (update > 8) {
      EXPECT_EQ(evaluated.Steps().front(), 23);
    }
    const Evaluated at_once = Evaluate(kRule, {{"tensor_regex", "w"}}, source, Profile::kAws);
    EXPECT_EQ(at_once.Steps().front(), 0);
  }
}

TEST(AllZeroTest, ThePartThatIsZeroMayBeTheThresholdExactly) {
  FakeSource source;
  source.Step(0).Save("x", {0, 0, 0, 1});
  source.Step(1).Save("x", {0, 0, 2, 1});
  EXPECT_THAT(Evaluate(kRule, {{"tensor_regex", "x"}, {"threshold", "75"}}, source).Steps(),
              ElementsAre(0));
  EXPECT_THAT(Evaluate(kRule, {{"tensor_regex", "x"}, {"threshold", "50"}}, source).Steps(),
              ElementsAre(0, 1));
}

TEST(AllZeroTest, EveryTypeHasZeros) {
  for (const tensor::DType dtype : tensor::kRealTypes) {
    FakeSource source;
    source.Step(0).Save("x", tensor::TensorOfNumbers(dtype, {0, 0}));
    source.Step(1).Save("x", tensor::TensorOfNumbers(dtype, {0, 1}));
    EXPECT_THAT(Evaluate(kRule, kAll, source).Steps(), ElementsAre(0)) << DTypeName(dtype);
  }
}

TEST(AllZeroTest, NotANumberIsNotZeroAndNothingIsNotJudged) {
  FakeSource source;
  source.Step(0).Save("x", {std::nan("")});
  EXPECT_EQ(Evaluate(kRule, kAll, source).result.status, RuleStatus::kPassed);
  FakeSource empty;
  empty.Step(0).Save("x", std::vector<double>());
  EXPECT_EQ(Evaluate(kRule, kAll, empty).result.status, RuleStatus::kNotEnoughData);
}

TEST(AllZeroTest, WorkersAreJudgedByThemselves) {
  FakeSource source;
  source.Step(0, Mode::kEval, 0).By("b").Save("x", {0}).By("a").Save("x", {1}).Save("y", {0});
  const Evaluated evaluated = Evaluate(kRule, kAll, source);
  EXPECT_THAT(evaluated.Tensors(), ElementsAre("y", "x"));
  EXPECT_EQ(evaluated.findings[1].worker, "b");
  EXPECT_EQ(evaluated.findings[1].place.mode, Mode::kEval);
}

TEST(AllZeroTest, SavedReductionsTellIfAllAreZero) {
  using tensor::ReductionKind;
  FakeSource source;
  source.Step(0).SaveReductions("x", {{{ReductionKind::kL1}, 0}});
  source.Step(1).SaveReductions("x", {{{ReductionKind::kMax, true}, 1}});
  EXPECT_THAT(Evaluate(kRule, kAll, source).Steps(), ElementsAre(0));
  FakeSource unknown;
  unknown.Step(0).SaveReductions("x", {{{ReductionKind::kL1}, 1}});
  EXPECT_EQ(Evaluate(kRule, {{"tensor_regex", "x"}, {"threshold", "50"}}, unknown).result.status,
            RuleStatus::kNotEnoughData);
}

TEST(AllZeroTest, CalibratedWaitsForWeightsThatStayZero) {
  FakeSource source;
  source.Include("frozen", "^base/");
  for (int step = 0; step < 4; ++step) {
    source.Step(step)
        .Save("weight", {0, 0})
        .Save("gradient/weight", {0})
        .Save("base/weight", {0, 0})
        .Save("first/weight", {step == 0 ? 0.0 : 1.0});
  }
  const Evaluated evaluated = Evaluate(kRule, {}, source, Profile::kCalibrated);
  EXPECT_THAT(evaluated.Steps(), ElementsAre(2, 3));
  EXPECT_THAT(evaluated.Tensors(), ElementsAre("weight", "weight"));
}

TEST(AllZeroTest, WantsToKnowWhereToLook) {
  EXPECT_THAT(Refusal(kRule, {}), HasSubstr("give collection_names or tensor_regex"));
  EXPECT_THAT(Refusal(kRule, {{"tensor_regex", "None"}}), HasSubstr("collection_names"));
  EXPECT_EQ(Refusal(kRule, {{"collection_names", "weights"}}), "");
  for (const char *bad : {"-1", "101", "x"}) {
    EXPECT_THAT(Refusal(kRule, {{"tensor_regex", "x"}, {"threshold", bad}}), HasSubstr("threshold"))
        << bad;
  }
  FakeSource source;
  source.Step(0).Save("x", {0});
  EXPECT_EQ(Evaluate(kRule, {{"collection_names", "weights"}}, source).result.status,
            RuleStatus::kNoTensors);
}

}  // namespace
}  // namespace smdebug::rules::all_zero_test
