#include "config/collection_names.h"

#include <gtest/gtest.h>

#include <set>

namespace smdebug::config::collection_names_test {
namespace {

TEST(CollectionNames, KnownNamesAreDistinct) {
  EXPECT_EQ(std::set<std::string_view>(kKnownCollections.begin(), kKnownCollections.end()).size(),
            kKnownCollections.size());
  EXPECT_TRUE(IsKnownCollection("default"));
  EXPECT_TRUE(IsKnownCollection("trees"));
  EXPECT_FALSE(IsKnownCollection("relu"));
  EXPECT_FALSE(IsKnownCollection(""));
}

TEST(CollectionNames, ScalarsAreLossesMetricsAndSimilar) {
  for (const std::string_view name : {"losses", "metrics", "sm_metrics", "feature_importance",
                                      "average_shap", "tensorflow_summaries"}) {
    EXPECT_TRUE(IsScalarCollection(name)) << name;
    EXPECT_TRUE(IsKnownCollection(name)) << name;
  }
  EXPECT_FALSE(IsScalarCollection("weights"));
  EXPECT_FALSE(IsScalarCollection("full_shap"));
}

TEST(CollectionNames, GradientsAreForTrainingOnly) {
  EXPECT_TRUE(IsTrainingCollection("gradients"));
  EXPECT_TRUE(IsTrainingCollection("optimizer_variables"));
  EXPECT_FALSE(IsTrainingCollection("weights"));
}

}  // namespace
}  // namespace smdebug::config::collection_names_test
