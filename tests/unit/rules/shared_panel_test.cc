#include "rules/shared_panel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/fake_source.h"
#include "rules/registry.h"

namespace smdebug::rules::shared_panel_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class SharedPanelTest : public testing::Test {
 protected:
  SharedPanelTest() {
    const MutexLock lock(shared_.mutex);
    shared_.panel.Add(*MakeDetector("VanishingGradient", {}, Profile::kAws));
  }
  Status Judge(const RunRange &range, bool waits) {
    return JudgeSteps(shared_, source_, range, waits,
                      [this](const Verdict &verdict) { found_.push_back(verdict.place.step); });
  }

  FakeSource source_;
  SharedPanel shared_;
  std::vector<int64_t> found_;
};

TEST_F(SharedPanelTest, WaitsOnlyIfItIsTo) {
  source_.Step(0).Save("gradient/w", {1});
  EXPECT_TRUE(Judge({}, false).IsOk());
  EXPECT_THAT(source_.waited_for, IsEmpty());
  source_.Step(2).Save("gradient/w", {0});
  EXPECT_TRUE(Judge({}, true).IsOk());
  EXPECT_THAT(source_.waited_for, ElementsAre(3));
  EXPECT_THAT(found_, ElementsAre(2));
}

TEST_F(SharedPanelTest, EndsWithTheRangeAlsoIfNoStepIsInIt) {
  source_.Step(0).Save("gradient/w", {0});
  source_.Step(9).Save("gradient/w", {0});
  EXPECT_TRUE(Judge({0, 5, false}, true).IsOk());
  EXPECT_THAT(found_, ElementsAre(0));
}

// A source whose steps come while somebody waits for them.
class ComingSource : public FakeSource {
 public:
  explicit ComingSource(SharedPanel &shared) : shared_(shared) {}
  Status WaitForStep(int64_t step) override {
    // Would never return if whoever waits had the panel to himself.
    const MutexLock lock(shared_.mutex);
    EXPECT_EQ(shared_.panel.Outcomes().size(), 1U);
    if (step < 3) Step(step).Save("gradient/w", {0});
    return FakeSource::WaitForStep(step);
  }

 private:
  SharedPanel &shared_;
};

TEST_F(SharedPanelTest, OthersCanUseThePanelWhileItWaits) {
  ComingSource source(shared_);
  EXPECT_TRUE(JudgeSteps(shared_, source, {}, true, [this](const Verdict &verdict) {
                found_.push_back(verdict.place.step);
              }).IsOk());
  EXPECT_THAT(found_, ElementsAre(0, 1, 2));
}

TEST_F(SharedPanelTest, AFailureToWaitEndsIt) {
  source_.FailWaitAt(0, {Code::kCancelled, "cancelled"});
  EXPECT_EQ(Judge({}, true).GetCode(), Code::kCancelled);
}

TEST_F(SharedPanelTest, StopsAtAFindingIfItIsTo) {
  source_.Step(0).Save("gradient/w", {0});
  const Status status = Judge({0, {}, true}, true);
  EXPECT_EQ(status.GetCode(), Code::kRuleConditionMet);
  EXPECT_THAT(status.Message(), HasSubstr("VanishingGradient is met at step 0"));
}

}  // namespace
}  // namespace smdebug::rules::shared_panel_test
