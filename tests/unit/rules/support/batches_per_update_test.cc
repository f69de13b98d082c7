// Rules where a framework sums up the gradients of batches, and the hook says of how many.
#include "rules/support/batches_per_update.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "rules/evaluating.h"

namespace smdebug::rules::batches_per_update_test {
namespace {

using testing::IsEmpty;
using testing::Not;

// Returns the findings where every `every`-th of 320 steps changes weights, and every `saved`-th
// is recorded.
std::vector<Finding> Findings(const char *rule, int64_t every, double told, int64_t saved = 1) {
  FakeSource source;
  for (int64_t step = 0; step < 320; step += saved) {
    const auto updates = every > 0 ? static_cast<double>(step / every) : 0;
    source.Step(step).Save("a.weight", {1 + updates, 2, 3, 4});
    source.Save("gradient/a.weight", {step % 2 == 0 ? 1.0 : -0.5, 1, 1, 1});
    if (told != 1) source.Save("batches_per_update", {told});
  }
  return Evaluate(rule, {}, source, Profile::kCalibrated).findings;
}

TEST(BatchesPerUpdateTest, WeightsMayStayUntilTheUpdate) {
  EXPECT_THAT(Findings("UpdateNotApplied", 32, 32), IsEmpty());
  EXPECT_THAT(Findings("UpdateNotApplied", 32, 1), Not(IsEmpty()));
  EXPECT_THAT(Findings("WeightUpdateRatio", 32, 32), IsEmpty());
  EXPECT_THAT(Findings("WeightUpdateRatio", 32, 1), Not(IsEmpty()));
}

TEST(BatchesPerUpdateTest, WeightsThatStayLongerAreFound) {
  for (const char *rule : {"UpdateNotApplied", "WeightUpdateRatio"}) {
    EXPECT_THAT(Findings(rule, 0, 8), Not(IsEmpty()));
    EXPECT_THAT(Findings(rule, 0, 16, 8), Not(IsEmpty())) << "steps count, not records";
  }
}

TEST(BatchesPerUpdateTest, ALossMayStayUntilTheUpdate) {
  const auto with = [](double told) {
    FakeSource source;
    for (int64_t step = 0; step < 160; ++step) {
      source.Step(step).Save("loss", {step % 2 == 0 ? 1.0 : 1.1});
      if (told != 1) source.Save("scalar/batches_per_update", {told});
    }
    return Evaluate("LossNotDecreasing", {}, source, Profile::kCalibrated).findings;
  };
  EXPECT_THAT(with(100), IsEmpty());
  EXPECT_THAT(with(1), Not(IsEmpty()));
}

TEST(BatchesPerUpdateTest, ANumberThatCannotBeIsIgnored) {
  for (const double told : {-3.0, 0.0, 0.5, std::nan("")}) {
    EXPECT_THAT(Findings("UpdateNotApplied", 0, told), Not(IsEmpty())) << told;
  }
  EXPECT_THAT(Findings("UpdateNotApplied", 0, 1e300), IsEmpty());
}

}  // namespace
}  // namespace smdebug::rules::batches_per_update_test
