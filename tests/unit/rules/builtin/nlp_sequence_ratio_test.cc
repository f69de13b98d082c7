#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "rules/evaluating.h"

namespace smdebug::rules::nlp_sequence_ratio_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char *kRule = "NLPSequenceRatio";
constexpr const char *kTokens = "embedding0_input_0";

TEST(NlpSequenceRatioTest, SequencesOfMostlyPaddingAreFound) {
  FakeSource source;
  source.Step(0).Save(kTokens, {0, 0, 5, 7});
  source.Step(1).Save(kTokens, {0, 0, 0, 7});
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  ASSERT_THAT(evaluated.Steps(), ElementsAre(1)) << "half is still fine";
  EXPECT_EQ(evaluated.findings[0].tensor, kTokens);
  EXPECT_EQ(evaluated.findings[0].value, 75);
  EXPECT_EQ(evaluated.findings[0].limit, 50);
  EXPECT_THAT(evaluated.Checks(), ElementsAre("token 0"));
  EXPECT_EQ(evaluated.findings[0].message,
            "75 % of 'embedding0_input_0' are the token 0; the limit is 50 %");
}

TEST(NlpSequenceRatioTest, ModelsMayIgnoreSomePadding) {
  FakeSource source;
  source.Step(0).Save(kTokens, {0, 0, 0, 7}).Save("embed2_input_0", {0, 0, 5, 7});
  const Evaluated evaluated = Evaluate(kRule, {}, source, Profile::kCalibrated);
  ASSERT_THAT(evaluated.Tensors(), ElementsAre(kTokens));
  EXPECT_EQ(evaluated.findings[0].level, Level::kWorthALook);
  EXPECT_EQ(
      Evaluate(kRule, {{"sure_percent", "70"}}, source, Profile::kCalibrated).findings[0].level,
      Level::kFinding);
}

TEST(NlpSequenceRatioTest, EachTokenHasItsThreshold) {
  FakeSource source;
  source.Step(0).Save(kTokens, {0, 3, 3, -1}).Save("embed2_input_0", {3, 3, 3, 3});
  const Evaluated evaluated = Evaluate(
      kRule, {{"token_values", "0, 3,-1"}, {"token_thresholds_percent", "50,20, 25"}}, source);
  EXPECT_THAT(evaluated.Checks(), ElementsAre("token 3"));
  EXPECT_THAT(evaluated.Tensors(), ElementsAre("embed2_input_0"));
}

TEST(NlpSequenceRatioTest, TokensAreOfAnyType) {
  for (const tensor::DType dtype : tensor::kRealTypes) {
    FakeSource source;
    source.Step(0).Save(kTokens, tensor::TensorOfNumbers(dtype, {1, 1, 0}));
    EXPECT_THAT(Evaluate(kRule, {{"token_values", "1"}}, source).Steps(), ElementsAre(0))
        << DTypeName(dtype);
  }
}

TEST(NlpSequenceRatioTest, FrameworksNamesAreKnown) {
  for (const char *name : {"embedding0_input_0", "Embedding_input_0", "encoder.embedding_input_0",
                           "embedding/inputs", "embedding_1/inputs", "transformer.wte_input_0",
                           "bert.word_embeddings_input_0", "embed_tokens_input_0"}) {
    FakeSource source;
    source.Step(0).Save(name, {0, 0});
    EXPECT_THAT(Evaluate(kRule, {}, source).Tensors(), ElementsAre(name));
  }
  for (const char *name : {"embeddings.dropout_input_0", "bert.token_type_embeddings_input_0",
                           "embedding_output_0", "embedding/outputs", "input_0"}) {
    FakeSource source;
    source.Step(0).Save(name, {0, 0});
    EXPECT_EQ(Evaluate(kRule, {}, source).result.status, RuleStatus::kNoTensors) << name;
  }
  FakeSource source;
  source.Include("input_sequence", "^tokens");
  source.Step(0).Save("tokens", {0, 0});
  EXPECT_THAT(Evaluate(kRule, {}, source).Steps(), ElementsAre(0));
  EXPECT_EQ(Evaluate(kRule, {{"tensor_regex", "other"}}, source).result.status,
            RuleStatus::kNoTensors);
}

TEST(NlpSequenceRatioTest, WorkersAreJudgedByThemselves) {
  FakeSource source;
  source.Step(0, Mode::kTrain, 0).By("a").Save(kTokens, {1, 2}).By("b").Save(kTokens, {0, 0});
  source.Step(1, Mode::kEval, 0)
      .By("a")
      .Save(kTokens, {0, 0})
      .By("b")
      .Save(kTokens, {std::nan("")});
  const Evaluated evaluated = Evaluate(kRule, {}, source);
  ASSERT_THAT(evaluated.Steps(), ElementsAre(0, 1));
  EXPECT_EQ(evaluated.findings[0].worker, "b");
  EXPECT_EQ(evaluated.findings[1].worker, "a");
}

TEST(NlpSequenceRatioTest, NothingIsNotEnough) {
  FakeSource source;
  source.Step(0).Save(kTokens, std::vector<double>());
  EXPECT_EQ(Evaluate(kRule, {}, source).result.status, RuleStatus::kNotEnoughData);
}

TEST(NlpSequenceRatioTest, RefusesListsThatDoNotFit) {
  EXPECT_THAT(Refusal(kRule, {{"token_values", "0,1"}}), HasSubstr("token_values has 2 values"));
  EXPECT_THAT(Refusal(kRule, {{"token_values", ""}}), HasSubstr("at least one"));
  EXPECT_THAT(Refusal(kRule, {{"token_values", "x"}}), HasSubstr("token_values"));
  EXPECT_THAT(Refusal(kRule, {{"token_thresholds_percent", "101"}}),
              HasSubstr("token_thresholds_percent"));
  EXPECT_THAT(Refusal(kRule, {{"tensor_regex", "("}}), HasSubstr("tensor_regex"));
}

}  // namespace
}  // namespace smdebug::rules::nlp_sequence_ratio_test
