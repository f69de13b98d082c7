#include "rules/run_diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/fake_source.h"

namespace smdebug::rules::run_diff_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class RunDiffTest : public testing::Test {
 protected:
  RunDiff Diff(const Tolerance &tolerance = {}, const std::string &only = "") {
    auto diff = DiffRuns(
        a_, b_, [&](std::string_view tensor) { return only.empty() || tensor == only; }, tolerance);
    EXPECT_TRUE(diff.IsOk()) << diff.GetStatus().Message();
    return *diff;
  }
  static std::vector<std::string> Told(const RunDiff &diff) {
    std::vector<std::string> told;
    for (const Verdict &each : diff.differences) told.push_back(each.tensor + " " + each.label);
    return told;
  }

  FakeSource a_;
  FakeSource b_;
};

TEST_F(RunDiffTest, TellsAllThatDiffersAtTheFirstStepAtWhichAnythingDoes) {
  for (FakeSource *run : {&a_, &b_}) {
    run->Step(0).Save("w", {1});
    run->Step(1, Mode::kTrain, 1).Save("w", {run == &a_ ? 1. : 2.}).Save("same", {1});
    run->Save("loss", {run == &a_ ? 1. : 2.});
    run->Step(2).Save("w", {1, 2});
  }
  const RunDiff diff = Diff();
  EXPECT_THAT(Told(diff), ElementsAre("w value", "loss value"));
  const Verdict &first = diff.differences[0];
  EXPECT_EQ(first.place.step, 1);
  EXPECT_EQ(first.place.mode, Mode::kTrain);
  EXPECT_EQ(first.worker, "worker_0");
  EXPECT_EQ(first.value, 1);
  EXPECT_NEAR(first.limit, 2e-5, 1e-7);
  EXPECT_EQ(first.rule, "RunDiff");
  EXPECT_EQ(first.status, VerdictStatus::kFinding);
  EXPECT_THAT(ToVerdicts(diff), testing::SizeIs(2));
}

TEST_F(RunDiffTest, ToleranceAndBits) {
  a_.Step(0).Save("w", {1.000001, NAN, 0.0});
  b_.Step(0).Save("w", {1, NAN, -0.0});
  EXPECT_THAT(Diff().differences, IsEmpty());
  EXPECT_THAT(Told(Diff({false, 0, 0})), ElementsAre("w value"));
  EXPECT_THAT(Told(Diff({true, 0, 0})), ElementsAre("w value"));
}

TEST_F(RunDiffTest, ASignOfZeroIsABit) {
  a_.Step(0).Save("w", {0.0});
  b_.Step(0).Save("w", {-0.0});
  EXPECT_THAT(Diff({false, 0, 0}).differences, IsEmpty());
  EXPECT_THAT(Diff({true, 0, 0}).differences[0].message, HasSubstr("the bytes differ"));
}

TEST_F(RunDiffTest, TypesMatterOnlyBitwise) {
  a_.Step(0).Save("w", tensor::TensorOfNumbers(tensor::DType::kFloat32, {1, 2}));
  b_.Step(0).Save("w", {1, 2});
  EXPECT_THAT(Diff().differences, IsEmpty());
  EXPECT_THAT(Told(Diff({true, 0, 0})), ElementsAre("w dtype"));
}

TEST_F(RunDiffTest, ComplexNumbersAreComparedToo) {
  const auto of = [](float imaginary) {
    return tensor::TensorOf(tensor::DType::kComplex64, std::vector<float>{1, imaginary}, {});
  };
  const auto saved = [&](FakeSource &run, float imaginary) {
    run.Step(0).Save("c",
                     tensor::Value::CopyOf(tensor::DType::kComplex64, of(imaginary).Bytes(), {1}));
  };
  saved(a_, 2);
  saved(b_, 2.5);
  EXPECT_EQ(Diff().differences[0].value, .5);
  EXPECT_THAT(Diff({false, 0, 1}).differences, IsEmpty());
}

TEST_F(RunDiffTest, ATensorThatOnlyOneHas) {
  a_.Step(0).Save("both", {1}).Save("mine", {1});
  b_.Step(0).Save("both", {1}).Save("theirs", {1});
  EXPECT_THAT(Told(Diff()), ElementsAre("mine missing", "theirs missing"));
  EXPECT_THAT(Diff({}, "both").differences, IsEmpty());
}

TEST_F(RunDiffTest, StepsThatOnlyOneHasAreCounted) {
  for (const int64_t step : {0, 1, 2, 3}) a_.Step(step).Save("w", {1});
  for (const int64_t step : {0, 3, 6, 9}) b_.Step(step).Save("w", {1});
  const RunDiff diff = Diff();
  EXPECT_EQ(diff.steps, 2);
  EXPECT_EQ(diff.tensors, 2);
  EXPECT_EQ(diff.steps_of_one, 4);
  const std::vector<Verdict> verdicts = ToVerdicts(diff);
  ASSERT_EQ(verdicts.size(), 1U);
  EXPECT_EQ(verdicts[0].status, VerdictStatus::kNoIssue);
  EXPECT_THAT(verdicts[0].message, HasSubstr("no difference in 2 tensors of 2 steps; 4 steps"));
}

TEST_F(RunDiffTest, NothingInCommonIsNotEnough) {
  a_.Step(0).Save("w", {1});
  b_.Step(1).Save("w", {1});
  EXPECT_EQ(ToVerdicts(Diff())[0].status, VerdictStatus::kNotEnoughData);
}

TEST_F(RunDiffTest, FailsAsReadingDoes) {
  for (FakeSource *run : {&a_, &b_}) run->Step(0).Save("w", {1});
  b_.FailVisitAt(0, {Code::kCorruptData, "flipped"});
  const auto diff = DiffRuns(a_, b_, [](std::string_view) { return true; }, {});
  EXPECT_EQ(diff.GetStatus().GetCode(), Code::kCorruptData);
  EXPECT_EQ(a_.holds + b_.holds, 0);
}

}  // namespace
}  // namespace smdebug::rules::run_diff_test
