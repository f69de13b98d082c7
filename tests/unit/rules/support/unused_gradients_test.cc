#include "rules/support/unused_gradients.h"

#include <gtest/gtest.h>

#include <string>

namespace smdebug::rules {
namespace {

// Three layers of a training, each with the gradients of a weight and of a bias.
class UnusedGradientsTest : public testing::Test {
 protected:
  void Note(const std::string &layer, bool has_weight, bool has_bias) {
    gradients_.Note("gradient/params/" + layer + "/kernel", true, !has_weight);
    gradients_.Note("gradient/params/" + layer + "/bias", false, !has_bias);
  }
  bool IsUnused(const std::string &layer) const {
    return gradients_.IsOneOf("gradient/params/" + layer + "/kernel");
  }

  bool IsCutOff(const std::string &layer) const {
    return gradients_.IsCutOff("gradient/params/" + layer + "/kernel");
  }

  UnusedGradients gradients_;
};

TEST_F(UnusedGradientsTest, NothingNeedsALayerWhoseGradientsAreZeroIfOthersHaveTheirs) {
  Note("a", true, true);
  Note("b", false, false);
  EXPECT_FALSE(IsUnused("b")) << "half of the layers";
  Note("c", true, true);
  EXPECT_TRUE(IsUnused("b"));
  EXPECT_FALSE(IsUnused("a"));
  EXPECT_FALSE(IsUnused("d")) << "is not known";
}

TEST_F(UnusedGradientsTest, HalfOfTheLayersWereCutOff) {
  Note("a", false, false);
  EXPECT_FALSE(IsCutOff("a")) << "all layers";
  Note("b", true, true);
  EXPECT_TRUE(IsCutOff("a"));
  EXPECT_FALSE(IsCutOff("b"));
  Note("c", true, true);
  EXPECT_FALSE(IsCutOff("a")) << "less than half";
  Note("d", false, false);
  EXPECT_TRUE(IsCutOff("a"));
  Note("c2", false, true);
  EXPECT_FALSE(IsCutOff("a")) << "after dead units";
}

TEST_F(UnusedGradientsTest, AWeightWithoutABiasDoesNotTellWhatWasCutOff) {
  gradients_.Note("gradient/params/a/kernel", true, true);
  Note("b", true, true);
  EXPECT_FALSE(IsCutOff("a"));
}

TEST_F(UnusedGradientsTest, TheLayerAfterDeadUnitsHasABias) {
  Note("a", false, false);
  Note("b", false, true);
  Note("c", true, true);
  Note("d", true, true);
  EXPECT_FALSE(IsUnused("a"));
  EXPECT_TRUE(gradients_.IsDead("gradient/params/a/kernel"));
  EXPECT_FALSE(gradients_.IsDead("gradient/params/b/kernel"));
}

TEST_F(UnusedGradientsTest, AGradientThatComesLaterCounts) {
  Note("a", true, true);
  Note("b", false, false);
  Note("c", true, true);
  gradients_.Note("gradient/params/b/bias", false, false);
  EXPECT_FALSE(IsUnused("b"));
  gradients_.Note("gradient/params/b/kernel", true, false);
  Note("d", false, false);
  EXPECT_TRUE(IsUnused("d")) << "no units are dead any more";
}

TEST_F(UnusedGradientsTest, NamesWithoutALayerAreOneLayer) {
  gradients_.Note("weight", true, true);
  gradients_.Note("bias", false, true);
  EXPECT_FALSE(gradients_.IsOneOf("weight"));
  Note("a", true, true);
  Note("b", true, true);
  EXPECT_TRUE(gradients_.IsOneOf("weight"));
}

}  // namespace
}  // namespace smdebug::rules
