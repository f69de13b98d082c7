#include "analyze/trial_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/trial_fixture.h"

namespace smdebug::analyze {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class TrialSourceTest : public TrialFixture {
 protected:
  TrialSourceTest() {
    PutCollections(*store_);
    StepFiles(0, Mode::kTrain, 0).Add("gradient/w", {-1, 3}).Add("w", {1}).Put(*store_);
    StepFiles(5, Mode::kTrain, 5).Add("w", {1}).Put(*store_);
  }
  TrialSource source_{Shared()};
};

TEST_F(TrialSourceTest, AnswersARulesQuestions) {
  Expect(source_.WaitForStep(5));
  EXPECT_THAT(*source_.TensorNames("gradients", 0), ElementsAre("gradient/w"));
  EXPECT_THAT(*source_.TensorNames("gradients", 5), IsEmpty());
  EXPECT_EQ(*source_.Reduce("gradient/w", 0, {tensor::ReductionKind::kMean, true}), 2);
  EXPECT_EQ(source_.Reduce("gradient/w", 5, {}).GetStatus().GetCode(), Code::kValueUnavailable);
  EXPECT_EQ(source_.Reduce("none", 0, {}).GetStatus().GetCode(), Code::kTensorUnavailable);
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
