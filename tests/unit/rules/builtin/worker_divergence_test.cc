#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "rules/evaluating.h"

namespace smdebug::rules::worker_divergence_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char *kRule = "WorkerDivergence";

// The same weight of workers a, b, ...
FakeSource Of(const std::vector<std::vector<double>> &replicas) {
  FakeSource source;
  source.Step(7);
  char worker = 'a';
  for (const std::vector<double> &replica : replicas) {
    source.By(std::string(1, worker++)).Save("w.weight", replica);
  }
  return source;
}

std::vector<std::string> WorkersOf(const Evaluated &evaluated) {
  std::vector<std::string> workers;
  for (const Finding &finding : evaluated.findings) workers.push_back(finding.worker);
  return workers;
}

TEST(WorkerDivergenceTest, TheWorkerThatDiffersFromTheMostIsNamed) {
  FakeSource source = Of({{5, 5}, {3, 4}, {3, 4}});
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  ASSERT_THAT(evaluated.Steps(), ElementsAre(7));
  EXPECT_EQ(evaluated.findings[0].worker, "a");
  EXPECT_EQ(evaluated.findings[0].tensor, "w.weight");
  EXPECT_NEAR(evaluated.findings[0].value, 3. / 7, 1e-12) << "the sum of absolute values is 10";
  EXPECT_THAT(evaluated.findings[0].message, HasSubstr("that of b 5 and 4"));
}

TEST(WorkerDivergenceTest, OfTwoTheSecondIsNamed) {
  FakeSource source = Of({{3, 4}, {5, 5}});
  EXPECT_THAT(WorkersOf(Evaluate(kRule, {}, source)), ElementsAre("b"));
}

TEST(WorkerDivergenceTest, EachThatDiffersIsNamed) {
  FakeSource source = Of({{3, 4}, {1, 1}, {3, 4}, {2, 2}});
  EXPECT_THAT(WorkersOf(Evaluate(kRule, {}, source)), ElementsAre("b", "d"));
}

TEST(WorkerDivergenceTest, AWorkerThatComesLaterIsComparedFromItsSecondStepOn) {
  FakeSource source;
  source.Step(0).By("a").Save("w.weight", {1, 2});
  for (const int step : {1, 2}) {
    source.Step(step).By("a").Save("w.weight", {1, 2});
    source.By("b").Save("w.weight", {1, 3});
  }
  source.Step(3).By("a").Save("w.weight", {1, 2});
  source.Step(4).By("a").Save("w.weight", {1, 2});
  source.By("b").Save("w.weight", {1, 4});
  EXPECT_THAT(Evaluate(kRule, {}, source).Steps(), ElementsAre(2, 4));
  EXPECT_THAT(Evaluate(kRule, {{"bitwise", "true"}}, source).Steps(), ElementsAre(2, 4));
}

TEST(WorkerDivergenceTest, ATensorThatAWorkerSavesTwiceInAStepIsNoReplica) {
  FakeSource source;
  source.Step(0).By("a").Save("w.weight", {1, 2}).Save("w.weight", {1, 3});
  EXPECT_THAT(Evaluate(kRule, {}, source).findings, IsEmpty());
  source.Step(1).By("a").Save("w.weight", {1, 2}).Save("w.weight", {1, 3});
  source.By("b").Save("w.weight", {1, 2});
  EXPECT_THAT(Evaluate(kRule, {}, source).findings, IsEmpty());
}

config::Placement HalfFrom(int64_t offset) { return {{4}, {offset}, {2}, false, {}, {}}; }

TEST(WorkerDivergenceTest, PartsOfATensorMayDiffer) {
  FakeSource source;
  source.Step(0).By("a").Holding(HalfFrom(0)).Save("w.weight", {1, 2});
  source.By("b").Holding(HalfFrom(2)).Save("w.weight", {3, 4});
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  EXPECT_THAT(evaluated.findings, IsEmpty());
}

TEST(WorkerDivergenceTest, ReplicasOfAPartAreCompared) {
  FakeSource source;
  source.Step(0).By("a").Holding(HalfFrom(0)).Save("w.weight", {1, 2});
  source.By("b").Holding(HalfFrom(2)).Save("w.weight", {3, 4});
  source.By("c").Holding(HalfFrom(0)).Save("w.weight", {1, 2});
  source.By("d").Holding(HalfFrom(2)).Save("w.weight", {3, 5});
  EXPECT_THAT(WorkersOf(Evaluate(kRule, {}, source)), ElementsAre("d"));
  EXPECT_THAT(WorkersOf(Evaluate(kRule, {{"sample", "1"}}, source)), ElementsAre("d"));
}

TEST(WorkerDivergenceTest, TheTensorFurthestAwayIsNamed) {
  FakeSource source;
  source.Step(0).By("a").Save("x.weight", {1}).Save("y.weight", {1}).Save("z.bias", {1});
  source.By("b").Save("x.weight", {1.1}).Save("y.weight", {2}).Save("z.bias", {1});
  EXPECT_THAT(Evaluate(kRule, {}, source).Tensors(), ElementsAre("y.weight"));
}

TEST(WorkerDivergenceTest, LittleIsTolerated) {
  FakeSource source = Of({{1, 1}, {1.0000001, 1}});
  EXPECT_EQ(Evaluate(kRule, {}, source).result.status, RuleStatus::kPassed);
  EXPECT_THAT(Evaluate(kRule, {{"rtol", "1e-9"}}, source).Steps(), ElementsAre(7));
  EXPECT_THAT(Evaluate(kRule, {{"bitwise", "True"}}, source).Steps(), ElementsAre(7));
}

TEST(WorkerDivergenceTest, BitsAreComparedInWhateverOrderTheyLie) {
  const tensor::Value rows =
      tensor::TensorOf(tensor::DType::kFloat64, std::vector<double>{1, 2, 3, 4}, {2, 2});
  FakeSource source = Of({{1, 2, 3, 4}});
  source.By("b").Save("w.weight", rows);
  EXPECT_EQ(Evaluate(kRule, {{"bitwise", "True"}}, source).result.status, RuleStatus::kPassed);
  FakeSource same_norms = Of({{3, -3, 1}, {-3, 3, 1}, {3, 3, 1}});
  EXPECT_THAT(WorkersOf(Evaluate(kRule, {{"bitwise", "True"}}, same_norms)), ElementsAre("c"));
}

TEST(WorkerDivergenceTest, SignsCount) {
  FakeSource source = Of({{3, 4}, {3, 4}, {-3, -4}});
  EXPECT_THAT(WorkersOf(Evaluate(kRule, {}, source)), ElementsAre("c"));
}

TEST(WorkerDivergenceTest, NotANumberIsAsItself) {
  FakeSource all = Of({{NAN}, {NAN}});
  EXPECT_THAT(Evaluate(kRule, {}, all).findings, IsEmpty());
  FakeSource one = Of({{1}, {NAN}, {1}});
  EXPECT_THAT(WorkersOf(Evaluate(kRule, {}, one)), ElementsAre("b"));
}

TEST(WorkerDivergenceTest, SavedReductionsAreEnough) {
  FakeSource source;
  source.Step(0);
  for (const char *worker : {"a", "b", "c"}) {
    source.By(worker).SaveReductions(
        "w.weight", {{{tensor::ReductionKind::kL2, false}, *worker == 'b' ? 2. : 1.}});
  }
  EXPECT_THAT(WorkersOf(Evaluate(kRule, {}, source)), ElementsAre("b"));
}

TEST(WorkerDivergenceTest, OneWorkerCannotDiverge) {
  FakeSource source = Of({{1}});
  source.Step(8).By("b").Save("w.weight", {2});
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  EXPECT_EQ(evaluated.result.status, RuleStatus::kNotEnoughData);
  EXPECT_THAT(evaluated.result.message, HasSubstr("two workers at the same step"));
}

TEST(WorkerDivergenceTest, OnlyWeightsAreReplicas) {
  FakeSource source;
  source.Step(0).By("a").Save("out", {1}).By("b").Save("out", {2});
  EXPECT_EQ(Evaluate(kRule, {}, source).result.status, RuleStatus::kNoTensors);
  EXPECT_THAT(Evaluate(kRule, {{"tensor_regex", "out"}}, source).Steps(), ElementsAre(0));
}

TEST(WorkerDivergenceTest, ItsParametersAreChecked) {
  EXPECT_THAT(Refusal(kRule, {{"rtol", "-1"}}), HasSubstr("rtol"));
  EXPECT_THAT(Refusal(kRule, {{"bitwise", "x"}}), HasSubstr("bitwise"));
  EXPECT_THAT(Refusal(kRule, {{"collection_names", ""}}), HasSubstr("tensor_regex"));
}

}  // namespace
}  // namespace smdebug::rules::worker_divergence_test
