#include "rules/support/vain_optimizers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/evaluating.h"

namespace smdebug::rules::vain_optimizers_test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char *kRule = "UpdateNotApplied";

double Falling(int64_t step) { return 1 - 0.1 * static_cast<double>(step); }

// As that of a generator whose samples are detached.
TEST(VainOptimizersTest, AnOptimizerWithoutGradientsBesideAnotherOneIsFound) {
  const auto with = [](int64_t idle_from) {
    FakeSource source;
    for (int64_t step = 0; step < 16; ++step) {
      source.Step(step).Save("d.weight", {Falling(step)}).Save("gradient/d.weight", {1});
      source.Save("learning_rate/Adam_0_0", {0.1});
      for (const char *layer : {"a", "b"})
        source.Save(std::string("g.") + layer + ".weight", {1, 2});
      source.Save(step < idle_from ? "learning_rate/Adam_1_0" : "idle_update/Adam_1", {0});
    }
    return Evaluate(kRule, {}, source, Profile::kCalibrated);
  };
  const Evaluated evaluated = with(0);
  EXPECT_THAT(evaluated.Checks(), Contains("no_gradient"));
  EXPECT_EQ(evaluated.findings[0].tensor, "g.a.weight");
  EXPECT_THAT(evaluated.findings[0].message, HasSubstr("though an optimizer is to update it"));
  EXPECT_THAT(with(1).findings, IsEmpty()) << "which takes turns, or is over";
}

}  // namespace
}  // namespace smdebug::rules::vain_optimizers_test
