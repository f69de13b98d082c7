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
