#include "analyze/trial_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "analyze/trial_fixture.h"
#include "base/strings.h"

namespace smdebug::analyze::trial_source_test {
namespace {

using testing::ElementsAre;

class TrialSourceTest : public TrialFixture {
 protected:
  TrialSourceTest() {
    PutCollections(*store_);
    StepFiles(0, Mode::kTrain, 0).Add("gradient/w", {-1, 3}).Add("w", {1}).Put(*store_);
    StepFiles(5, Mode::kTrain, 5).Add("w", {1}).Put(*store_);
  }
  TrialSource source_{Shared()};
};

TEST_F(TrialSourceTest, ShowsWhatARuleWants) {
  Expect(source_.WaitForStep(5));
  std::vector<std::string> shown;
  const auto all = [](std::string_view) { return true; };
  Expect(source_.VisitStep(0, all, [&](const rules::Sample &sample) {
    shown.push_back(StrCat(sample.Worker(), " ", sample.Tensor()));
    EXPECT_EQ(sample.Place().mode, Mode::kTrain);
    EXPECT_EQ(sample.Numbers().empty(), false);
  }));
  EXPECT_THAT(shown, ElementsAre("worker_0 gradient/w", "worker_0 w"));
  shown.clear();
  Expect(source_.VisitStep(
      0, [](std::string_view tensor) { return tensor == "w"; },
      [&](const rules::Sample &sample) { shown.push_back(std::string(sample.Tensor())); }));
  EXPECT_THAT(shown, ElementsAre("w"));
}

TEST_F(TrialSourceTest, ShowsTexts) {
  const char *texts[] = {"0-0", "0-1"};
  const int64_t shape[] = {2};
  StepFiles(6, Mode::kTrain, 6)
      .AddView("trees/ID", {&texts[0], shape, {}, tensor::DType::kString})
      .Put(*store_);
  Expect(source_.WaitForStep(6));
  std::vector<std::string> shown;
  Expect(source_.VisitStep(
      6, [](std::string_view) { return true; },
      [&](const rules::Sample &sample) {
        shown.assign(sample.Texts().begin(), sample.Texts().end());
      }));
  EXPECT_THAT(shown, ElementsAre("0-0", "0-1"));
}

// Their numbers differ from those in the event file here, to tell them apart.
TEST_F(TrialSourceTest, TakesNumbersFromTheIndex) {
  using tensor::DType;
  constexpr int64_t kTime = 2'500'000;
  StepFiles files(6, Mode::kTrain, 6);
  const auto add = [&](const std::string &name, float recorded, DType dtype, double number) {
    files.Add(name, {recorded});
    files.Index().tensors.back().number = {number, dtype, 1, kTime};
  };
  add("smdebug/reductions/max/w", 1, DType::kFloat32, 0.5);
  add("smdebug/reductions/min/w", 2, DType::kFloat64, 0.1);
  add("smdebug/reductions/mean/w", 3, DType::kFloat32, std::nan(""));
  add("smdebug/reductions/std/w", 4, DType::kFloat32, 0.1);  // no float: only the record says it
  add("loss", 5, DType::kFloat32, 0.25);
  files.Add("n", {6});
  files.Put(*store_);
  Expect(source_.WaitForStep(6));
  std::vector<std::string> shown;
  const rules::Source::Visit visit = [&](const rules::Sample &sample) {
    shown.emplace_back(sample.Tensor());
    if (sample.Tensor() != "w") {
      EXPECT_EQ(sample.Numbers().front(), sample.Tensor() == "loss" ? 0.25 : 6);
      return;
    }
    EXPECT_EQ(sample.Reduce({tensor::ReductionKind::kMax, false}), 0.5);
    EXPECT_EQ(sample.Reduce({tensor::ReductionKind::kMin, false}), 0.1);
    EXPECT_TRUE(std::isnan(*sample.Reduce({tensor::ReductionKind::kMean, false})));
    EXPECT_EQ(sample.Reduce({tensor::ReductionKind::kStd, false}), 4);
  };
  Expect(source_.VisitStep(
      6, [](std::string_view) { return true; }, visit));
  EXPECT_THAT(shown, ElementsAre("w", "loss", "n"));
  EXPECT_EQ(source_.WallSecondsOf(6), 1.5) << "of the last record that was read";

  shown.clear();
  Expect(store_->Remove(files.EventName()));
  Expect(source_.VisitStep(
      6, [](std::string_view tensor) { return tensor == "loss"; }, visit));
  EXPECT_THAT(shown, ElementsAre("loss"));
  EXPECT_EQ(source_.WallSecondsOf(6), 2.5);
}

TEST_F(TrialSourceTest, SkipsATensorThatIsDamaged) {
  StepFiles files(6, Mode::kTrain, 6);
  files.Add("a", {1}).Add("b", {2}).Add("c", {3});
  files.Events()[files.Index().tensors[1].start + 20] ^= 1;
  files.Put(*store_);
  Expect(source_.WaitForStep(6));
  for (int time = 0; time < 2; ++time) {
    std::vector<std::string> shown;
    Expect(source_.VisitStep(
        6, [](std::string_view) { return true; },
        [&](const rules::Sample &sample) { shown.emplace_back(sample.Tensor()); }));
    EXPECT_THAT(shown, ElementsAre("a", "c"));
  }
  ASSERT_EQ(log_.size(), 1U) << "once, however many look";
  EXPECT_TRUE(log_[0].ends_with("; skipped")) << log_[0];
}

TEST_F(TrialSourceTest, KnowsWhenAStepWasRecorded) {
  Expect(source_.WaitForStep(5));
  EXPECT_EQ(source_.WallSecondsOf(5), 1.5);
  EXPECT_TRUE(std::isnan(source_.WallSecondsOf(4)));
}

TEST_F(TrialSourceTest, WaitsNoLongerThanToTheDeadline) {
  Expect(source_.WaitForStep(5));
  const Deadline deadline = Deadline::After(clock_, std::chrono::seconds(1));
  EXPECT_EQ(source_.WaitForStepUntil(9, deadline).GetCode(), Code::kTimeout);
}

TEST_F(TrialSourceTest, KnowsCollections) {
  Expect(source_.WaitForStep(5));
  EXPECT_TRUE(source_.Collections().IsIn("gradients", "gradient/w"));
  EXPECT_FALSE(source_.Collections().IsIn("gradients", "w"));
  EXPECT_FALSE(source_.Collections().IsIn("none", "w"));
}

TEST_F(TrialSourceTest, FindsTheNextStep) {
  EXPECT_EQ(*source_.NextStep(0), 0);
  EXPECT_EQ(*source_.NextStep(1), 5);
  EXPECT_FALSE(*source_.NextStep(6));
}

TEST_F(TrialSourceTest, HoldsTheTrialStillForAsLongAsAnyRuleJudges) {
  TrialSource other(Shared());
  Expect(source_.WaitForStep(5));
  source_.Hold();
  other.Hold();
  source_.Release();
  PutStep(9);
  EXPECT_THAT(Steps(), ElementsAre(0, 5));
  other.Release();
  EXPECT_THAT(Steps(), ElementsAre(0, 5, 9));
}

}  // namespace
}  // namespace smdebug::analyze::trial_source_test
