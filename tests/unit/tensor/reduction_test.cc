#include "tensor/reduction.h"

#include <gtest/gtest.h>

#include <set>

namespace smdebug::tensor::reduction_test {
namespace {

constexpr Reduction kAbsMean = {ReductionKind::kMean, true};
constexpr Reduction kL2 = {ReductionKind::kL2, false};

TEST(Reduction, IndexesATable) {
  std::set<std::string> names;
  for (size_t i = 0; i < kReductions; ++i) {
    const Reduction reduction = Reduction::FromIndex(i);
    EXPECT_EQ(reduction.Index(), i);
    names.insert(ReductionName(reduction));
  }
  EXPECT_EQ(names.size(), kReductions);
}

TEST(Reduction, NamesRoundTrip) {
  for (size_t i = 0; i < kReductions; ++i) {
    const Reduction reduction = Reduction::FromIndex(i);
    EXPECT_EQ(ReductionFromName(ReductionName(reduction)), reduction);
    EXPECT_EQ(ReductionKindFromName(ReductionKindName(reduction.kind)), reduction.kind);
  }
  EXPECT_EQ(ReductionName(kAbsMean), "abs_mean");
  EXPECT_EQ(ReductionName(kL2), "l2");
  EXPECT_EQ(ReductionKindName(ReductionKind::kVariance), "variance");
}

TEST(Reduction, AcceptsNormSuffixes) {
  EXPECT_EQ(ReductionFromName("l2_norm"), kL2);
  EXPECT_EQ(ReductionFromName("abs_l1_norm"), (Reduction{ReductionKind::kL1, true}));
}

TEST(Reduction, RefusesOtherNames) {
  for (const char *name : {"", "abs_", "mean_norm", "abs_abs_mean", "Mean", "l3", "mean ", "_norm",
                           "abs_l1_norm_norm"}) {
    EXPECT_FALSE(ReductionFromName(name)) << name;
  }
  EXPECT_FALSE(ReductionKindFromName("abs_mean"));
}

TEST(ReductionTensorName, IsTheOriginals) {
  EXPECT_EQ(ReductionTensorName(kL2, "conv/weight"), "smdebug/reductions/l2/conv/weight");
  EXPECT_EQ(ReductionTensorName(kAbsMean, "w"), "smdebug/reductions/abs_mean/w");
}

// Equals re.sub(r":\d+", "", name).
TEST(ReductionTensorName, RemovesAllOutputNumbers) {
  const auto name = [](const char *tensor) {
    return ReductionTensorName(kL2, tensor).substr(std::string("smdebug/reductions/l2/").size());
  };
  EXPECT_EQ(name("w:0"), "w");
  EXPECT_EQ(name("a:12/b:3/c"), "a/b/c");
  EXPECT_EQ(name("a:b"), "a:b");
  EXPECT_EQ(name("a:"), "a:");
  EXPECT_EQ(ReductionTensorName(kL2, "w:0", true), "smdebug/reductions/l2/w:0");
  EXPECT_EQ(name("a::1"), "a:");
  EXPECT_EQ(name("a:1:2x"), "ax");
}

TEST(ParseReductionTensorName, FindsReductionAndTensor) {
  const auto saved = ParseReductionTensorName("smdebug/reductions/abs_mean/conv/weight");
  ASSERT_TRUE(saved);
  EXPECT_EQ(saved->reduction, kAbsMean);
  EXPECT_EQ(saved->tensor, "conv/weight");
}

// The original searches for the folder anywhere in the name.
TEST(ParseReductionTensorName, AcceptsAFolderInFront) {
  const auto saved = ParseReductionTensorName("scope/smdebug/reductions/l2/w");
  ASSERT_TRUE(saved);
  EXPECT_EQ(saved->reduction, kL2);
  EXPECT_EQ(saved->tensor, "w");
}

TEST(ParseReductionTensorName, OtherNamesAreTensors) {
  for (const char *name : {"w", "smdebug/reductions/", "smdebug/reductions/l2",
                           "smdebug/reductions/nothing/w", "reductions/l2/w"}) {
    EXPECT_FALSE(ParseReductionTensorName(name)) << name;
  }
}

}  // namespace
}  // namespace smdebug::tensor::reduction_test
