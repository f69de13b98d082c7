#include "analyze/trial_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/trial_fixture.h"
#include "base/strings.h"

namespace smdebug::analyze {
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
}  // namespace smdebug::analyze
