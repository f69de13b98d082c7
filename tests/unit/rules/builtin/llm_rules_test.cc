#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <string>

#include "rules/evaluating.h"
#include "rules/named_sets.h"

namespace smdebug::rules::llm_rules_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Evaluated Calibrated(std::string_view rule, FakeSource &source,
                     const Parameters::Given &given = {}) {
  return Evaluate(rule, given, source, Profile::kCalibrated);
}

// A batch of four samples, unlike that of any other seed.
std::vector<double> Batch(int64_t seed) {
  std::vector<double> numbers;
  for (int64_t i = 0; i < 16; ++i) {
    numbers.push_back(static_cast<double>((seed + 1) * (i + 3) % 997));
  }
  return numbers;
}

FakeSource Batches(const std::vector<int64_t> &seeds) {
  FakeSource source;
  int64_t step = 0;
  for (const int64_t seed : seeds) source.Step(step++).Save("Net_input_0", Batch(seed), {4, 4});
  return source;
}

TEST(NamedSets, AreOfRulesWithParametersThatTheyHave) {
  EXPECT_THAT(RulesOfSet("calibrated"), IsEmpty());
  for (const NamedSetRule &each : RulesOfSet("llm")) {
    const auto given = Parameters::FromJson(each.parameters);
    ASSERT_TRUE(given.IsOk()) << each.rule;
    EXPECT_TRUE(BuiltinRule(each.rule, *given, Profile::kCalibrated).IsOk()) << each.rule;
  }
}

TEST(RepeatedBatch, NamesTheStepThatHadTheBatch) {
  FakeSource source = Batches({1, 2, 3, 4, 3, 5});
  const Evaluated evaluated = Calibrated("RepeatedBatch", source);
  EXPECT_THAT(evaluated.Steps(), ElementsAre(4));
  EXPECT_THAT(evaluated.findings[0].message, HasSubstr("at step 2"));
}

TEST(RepeatedBatch, AllowsFurtherEpochs) {
  FakeSource source = Batches({1, 2, 3, 1, 2, 3, 1, 2, 3});
  EXPECT_THAT(Calibrated("RepeatedBatch", source).findings, IsEmpty());
  FakeSource stuck = Batches({1, 2, 3, 3, 3});
  EXPECT_THAT(Calibrated("RepeatedBatch", stuck).Steps(), ElementsAre(3, 4));
}

TEST(RepeatedBatch, SkipsConstantsAndSingleSamples) {
  FakeSource source;
  for (int64_t step = 0; step < 3; ++step) {
    source.Step(step).Save("Net_input_0", std::vector<double>(16, 1), {4, 4});
    source.Save("Other_input_0", Batch(1), {1, 16});
  }
  EXPECT_THAT(Calibrated("RepeatedBatch", source).findings, IsEmpty());
}

FakeSource Shards(bool is_shared) {
  FakeSource source;
  for (int64_t step = 0; step < 3; ++step) {
    source.Step(step).By("worker_0").Save("Net_input_0", Batch(step), {4, 4});
    source.By("worker_1").Save("Net_input_0", Batch(is_shared ? step : step + 9), {4, 4});
  }
  return source;
}

TEST(SharedShard, FindsWorkersWithTheSameBatches) {
  FakeSource shared = Shards(true);
  EXPECT_THAT(Calibrated("SharedShard", shared).Steps(), ElementsAre(1, 2));
  FakeSource apart = Shards(false);
  EXPECT_EQ(Calibrated("SharedShard", apart).result.status, RuleStatus::kPassed);
}

TEST(SharedShard, AllowsWorkersOfAGroup) {
  FakeSource shared = Shards(true);
  EXPECT_THAT(Calibrated("SharedShard", shared, {{"group", "2"}}).findings, IsEmpty());
}

TEST(TiedWeightsBroken, FindsWeightsThatWereEqual) {
  FakeSource source;
  source.Step(0)
      .Save("Net_embed.weight", Batch(1), {4, 4})
      .Save("Net_head.weight", Batch(1), {4, 4});
  source.Step(1)
      .Save("Net_embed.weight", Batch(2), {4, 4})
      .Save("Net_head.weight", Batch(1), {4, 4});
  EXPECT_THAT(Calibrated("TiedWeightsBroken", source).Steps(), ElementsAre(1));
}

TEST(TiedWeightsBroken, SparesWeightsThatNeverWere) {
  FakeSource source;
  for (int64_t step = 0; step < 3; ++step) {
    source.Step(step).Save("Net_embed.weight", Batch(step), {4, 4});
    source.Save("Net_head.weight", Batch(step + 9), {4, 4});
  }
  EXPECT_EQ(Calibrated("TiedWeightsBroken", source).result.status, RuleStatus::kPassed);
}

FakeSource Rounded(bool is_stochastic) {
  FakeSource source;
  std::vector<double> weights(256, 1);
  for (int64_t step = 0; step < 40; ++step) {
    source.Step(step).Save("gradient/w.weight", std::vector<double>(256, 1));
    for (size_t i = 0; i < weights.size(); ++i) {
      const bool moves =
          is_stochastic ? (i * 7 + static_cast<size_t>(step) * 13) % 41 == 0 : i < 64;
      if (moves) weights[i] = weights[i] == 1 ? 1.5 : 1;
    }
    source.Save("w.weight", tensor::TensorOfNumbers(tensor::DType::kBFloat16, weights));
  }
  return source;
}

TEST(LowPrecisionUpdateLost, TellsRoundingAwayFromStochasticRounding) {
  FakeSource lost = Rounded(false);
  const Evaluated evaluated = Calibrated("LowPrecisionUpdateLost", lost);
  ASSERT_FALSE(evaluated.findings.empty());
  EXPECT_EQ(evaluated.findings[0].value, 0.75);
  FakeSource stochastic = Rounded(true);
  EXPECT_EQ(Calibrated("LowPrecisionUpdateLost", stochastic).result.status, RuleStatus::kPassed);
}

TEST(DeadExpert, FindsExpertsWithoutTokensOrGradient) {
  FakeSource source;
  for (int64_t step = 0; step < 25; ++step) {
    source.Step(step).Save("router_load_output_0", {5, 0, 3});
    source.Save("gradient/Net_experts.0.weight", {1});
    source.Save("gradient/Net_experts.1.weight", {0});
  }
  const Evaluated evaluated = Calibrated("DeadExpert", source);
  EXPECT_THAT(evaluated.Checks(), ElementsAre("load", "gradient"));
  EXPECT_THAT(evaluated.Steps(), ElementsAre(24, 24));
  EXPECT_EQ(evaluated.findings[1].tensor, "gradient/Net_experts.1.weight");
}

TEST(DeadExpert, TakesTheNumberAfterTheListOfExperts) {
  for (const std::string rest : {".expert_gate.weight", ".w1.expert", "_expert_2.weight"}) {
    FakeSource source;
    for (int64_t step = 0; step < 25; ++step) {
      source.Step(step).Save("gradient/moe_experts.0" + rest, {1});
      source.Save("gradient/moe_experts.10" + rest, {0});
    }
    const Evaluated evaluated = Calibrated("DeadExpert", source);
    ASSERT_THAT(evaluated.Steps(), ElementsAre(24)) << rest;
    EXPECT_EQ(evaluated.findings[0].tensor, "gradient/moe_experts.10" + rest);
  }
}

TEST(RouterImbalance, NeedsTimeAndALargeShare) {
  FakeSource source;
  for (int64_t step = 0; step < 30; ++step) {
    source.Step(step).Save("router_load_output_0", {29, 1, 1, 1});
  }
  EXPECT_THAT(Calibrated("RouterImbalance", source).Steps(), ElementsAre(29));
  FakeSource even;
  for (int64_t step = 0; step < 30; ++step) {
    even.Step(step).Save("router_load_output_0", {9, 7, 9, 7});
  }
  EXPECT_THAT(Calibrated("RouterImbalance", even).findings, IsEmpty());
}

TEST(StepRecompute, ComparesWithTheFirst) {
  FakeSource source;
  for (int64_t step = 0; step < 4; ++step) {
    source.Step(step).Save("loss_output_0", {1.0});
    source.Save("recomputed_loss_output_0", {step == 3 ? 1.5 : 1.0});
  }
  const Evaluated evaluated = Calibrated("StepRecompute", source);
  EXPECT_THAT(evaluated.Steps(), ElementsAre(3));
  EXPECT_EQ(evaluated.findings[0].value, 0.5);
}

double Noise(int64_t step) { return 0.1 * std::sin(static_cast<double>(step * step)); }

TEST(Spikes, AreFoundAfterEnoughSteps) {
  FakeSource source;
  for (int64_t step = 0; step < 110; ++step) {
    const double factor = step == 105 ? 20 : 1;
    source.Step(step).Save("loss", {factor * (2 + Noise(step))});
    source.Save("gradient/a.weight", {1 + Noise(step)});
    source.Save("gradient/b.weight", {factor * (1 + Noise(step))});
  }
  EXPECT_THAT(Calibrated("LossSpike", source).Steps(), ElementsAre(105));
  for (const char *rule : {"GradNormSpike", "GradBlowup"}) {
    const Evaluated evaluated = Calibrated(rule, source);
    EXPECT_THAT(evaluated.Steps(), ElementsAre(105)) << rule;
    EXPECT_THAT(evaluated.Tensors(), ElementsAre("gradient/b.weight")) << rule;
  }
}

TEST(UpdateRms, ComparesGradientsWithTheirSecondMoment) {
  FakeSource source;
  double squares = 0;
  for (int64_t step = 0; step < 70; ++step) {
    // A single step is not enough.
    const double g = step == 55 || step == 65 || step == 66 ? 20 : 1 + Noise(step);
    squares = 0.99 * squares + 0.01 * g * g;
    source.Step(step).Save("gradient/w.weight", {g, g, g, g}, {2, 2});
    source.Save("optimizer_state/w.weight/exp_avg_sq", {squares, squares, squares, squares},
                {2, 2});
  }
  const Evaluated evaluated = Calibrated("UpdateRMS", source);
  EXPECT_THAT(evaluated.Steps(), ElementsAre(66));
  EXPECT_THAT(evaluated.Tensors(), ElementsAre("gradient/w.weight"));
}

FakeSource RatesOf(int64_t steps, const std::function<double(double)> &rate) {
  FakeSource source;
  for (int64_t step = 0; step < steps; ++step) {
    source.Step(step).Save("learning_rate/AdamW_0", {rate(static_cast<double>(step))});
  }
  return source;
}

TEST(LearningRateJump, FindsRatesAboveAllBefore) {
  FakeSource jumps = RatesOf(60, [](double step) { return step < 50 ? 1e-3 : 6e-3; });
  const Evaluated evaluated = Calibrated("LearningRateJump", jumps);
  EXPECT_EQ(evaluated.Steps().front(), 50);
  EXPECT_THAT(evaluated.Tensors(), Contains("learning_rate/AdamW_0"));
  EXPECT_EQ(evaluated.findings[0].limit, 5e-3);
  FakeSource grows =
      RatesOf(100, [](double step) { return 1e-3 * std::pow(1.2, std::max(0.0, step - 50)); });
  EXPECT_EQ(Calibrated("LearningRateJump", grows).Steps().front(), 59);
}

TEST(LearningRateJump, SparesSchedules) {
  static constexpr double kPi = 3.141592653589793;
  const std::map<std::string, std::function<double(double)>> schedules{
      {"constant", [](double) { return 1e-3; }},
      {"warm-up from zero", [](double step) { return std::min(1.0, step / 1000); }},
      {"warm-up by squares", [](double step) { return step * step; }},
      {"one cycle", [](double step) { return 1.0 / 25 + 0.48 * (1 - std::cos(kPi * step / 300)); }},
      {"restarts", [](double step) { return 1 + std::cos(kPi * std::fmod(step, 200) / 200); }},
      {"steps", [](double step) { return std::pow(0.1, std::floor(step / 100)); }},
      {"inverse root", [](double step) { return std::min(step / 4000, 1 / std::sqrt(step + 1)); }},
      {"two phases", [](double step) { return step < 400 ? 1e-3 : 4e-3; }},
  };
  for (const auto &[name, rate] : schedules) {
    FakeSource source = RatesOf(1000, rate);
    EXPECT_EQ(Calibrated("LearningRateJump", source).result.status, RuleStatus::kPassed) << name;
  }
}

TEST(Attention, IsFoundWhenLogitsGrow) {
  FakeSource source;
  source.Step(0).Save("attention_logits_output_0", {-INFINITY, 99});
  source.Step(1).Save("attention_logits_output_0", {-INFINITY, 101});
  EXPECT_THAT(Calibrated("AttentionLogitGrowth", source).Steps(), ElementsAre(1));
}

TEST(Attention, IsFoundWhenItSeesOnePosition) {
  FakeSource source;
  for (int64_t step = 0; step < 12; ++step) {
    source.Step(step).Save("attention_probs_output_0", {1, 0, 0, 0, 0, 1, 0, 0}, {2, 4});
    source.Save("other_attention_probs_output_0", {.25, .25, .25, .25}, {1, 4});
  }
  const Evaluated evaluated = Calibrated("AttentionEntropyCollapse", source);
  EXPECT_THAT(evaluated.Steps(), ElementsAre(9, 10, 11));
  EXPECT_EQ(evaluated.findings[0].tensor, "attention_probs_output_0");
}

TEST(AttentionEntropyCollapse, MayLearnToLookAtOnePosition) {
  const auto steps_of = [](double slope) {
    FakeSource source;
    for (int64_t step = 0; step < 80; ++step) {
      // The loss falls until the attention looks at one position, and then stays.
      const bool is_sharp = step >= 60;
      source.Step(step).Save("loss",
                             {3 - slope * static_cast<double>(std::min<int64_t>(step, 60))});
      source.Save("attention_probs_output_0",
                  is_sharp ? std::vector<double>{1, 0, 0, 0} : std::vector<double>{.5, .5, 0, 0},
                  {1, 4});
    }
    return Calibrated("AttentionEntropyCollapse", source).Steps();
  };
  EXPECT_THAT(steps_of(0.03), testing::IsEmpty());
  ASSERT_FALSE(steps_of(0).empty());
  EXPECT_EQ(steps_of(0).front(), 69);
  EXPECT_FALSE(steps_of(-0.03).empty());
}

// Steps at which rows of tokens that a step lacks keep their gradient, or have none.
FakeSource Rows(bool is_reset) {
  FakeSource source;
  std::vector<double> sums(32);
  for (int64_t step = 0; step < 4; ++step) {
    std::vector<double> gradient(32);
    for (size_t i = 0; i < 32; ++i) {
      const auto row = static_cast<int64_t>(i / 8);
      if (row == 3 || row == step % 3) gradient[i] = Noise(step + 5) + static_cast<double>(i);
      sums[i] += gradient[i];
    }
    source.Step(step).Save("gradient/embed.weight", is_reset ? gradient : sums, {4, 8});
  }
  return source;
}

TEST(GradientNotReset, FindsRowsThatStay) {
  FakeSource sums = Rows(false);
  const Evaluated evaluated = Calibrated("GradientNotReset", sums);
  EXPECT_THAT(evaluated.Steps(), ElementsAre(2, 3));
  EXPECT_THAT(evaluated.Tensors(), ElementsAre("gradient/embed.weight", "gradient/embed.weight"));
  EXPECT_EQ(evaluated.findings[1].value, 2);
  FakeSource reset = Rows(true);
  EXPECT_EQ(Calibrated("GradientNotReset", reset).result.status, RuleStatus::kPassed);
}

TEST(GradientNotReset, SparesTheSameBatchAndVectors) {
  FakeSource source;
  for (int64_t step = 0; step < 4; ++step) {
    source.Step(step).Save("gradient/w.weight", Batch(1), {2, 8});
    source.Save("gradient/norm.weight", Batch(1));
  }
  EXPECT_EQ(Calibrated("GradientNotReset", source).result.status, RuleStatus::kPassed);
}

FakeSource Scaled(double scale, const std::string &prefix = "e4m3_") {
  FakeSource source;
  for (int64_t step = 0; step < 3; ++step) {
    source.Step(step).Save(prefix + "mlp_scale_output_0", {scale});
    source.Save(prefix + "mlp_output_0", {0, 1, -2, 3, 4, -5, 6, 7}, {2, 4});
  }
  return source;
}

TEST(Fp8Range, FindsBothEndsOfEachType) {
  FakeSource healthy = Scaled(64);  // 7 * 64 is the largest number
  EXPECT_EQ(Calibrated("Fp8Range", healthy).result.status, RuleStatus::kPassed);
  FakeSource large = Scaled(65);
  const Evaluated above = Calibrated("Fp8Range", large);
  EXPECT_THAT(above.Checks(), ElementsAre("overflow", "overflow"));
  EXPECT_THAT(above.Steps(), ElementsAre(1, 2));
  EXPECT_EQ(above.findings[0].value, 0.125);
  FakeSource small = Scaled(std::ldexp(1, -12));
  const Evaluated below = Calibrated("Fp8Range", small);
  EXPECT_THAT(below.Checks(), ElementsAre("underflow", "underflow"));
  EXPECT_EQ(below.findings[0].value, 0.5);
  FakeSource wide = Scaled(std::ldexp(1, -12), "e5m2_");
  EXPECT_EQ(Calibrated("Fp8Range", wide).result.status, RuleStatus::kPassed);
}

TEST(Fp8Range, SkipsScalesThatAreNoScales) {
  for (const double scale : {0.0, -1.0, static_cast<double>(NAN), HUGE_VAL}) {
    FakeSource source = Scaled(scale);
    EXPECT_EQ(Calibrated("Fp8Range", source).result.status, RuleStatus::kNotEnoughData) << scale;
  }
}

FakeSource Squares(double gradient, const std::string &weight = "w.weight") {
  FakeSource source;
  double squares = 0;
  for (int64_t step = 0; step < 8; ++step) {
    squares = 0.999 * squares + 0.001 * gradient * gradient;
    source.Step(step).Save("optimizer_state/" + weight + "/exp_avg_sq",
                           {squares, squares, 0, squares}, {2, 2});
  }
  return source;
}

TEST(AdamEpsDominates, ComparesCorrectedMomentsWithEpsilon) {
  FakeSource small = Squares(0.9e-8);
  const Evaluated evaluated = Calibrated("AdamEpsDominates", small);
  EXPECT_THAT(evaluated.Steps(), ElementsAre(4, 5, 6, 7));
  EXPECT_EQ(evaluated.findings[0].value, 1);
  FakeSource usual = Squares(1.1e-8);
  EXPECT_EQ(Calibrated("AdamEpsDominates", usual).result.status, RuleStatus::kPassed);
  FakeSource rare = Squares(0.9e-8, "embed.weight");
  EXPECT_THAT(Calibrated("AdamEpsDominates", rare).findings, IsEmpty());
}

// Gradients of 1, then of 0.01, which rise by `growth` from step 60.
FakeSource Decline(double growth) {
  FakeSource source;
  double squares = 0;
  double g = 1;
  for (int64_t step = 0; step < 90; ++step) {
    if (step == 10) g = 0.01;
    if (step >= 60) g = std::min(1.0, g * growth);
    squares = 0.99 * squares + 0.01 * g * g;
    source.Step(step).Save("gradient/w.weight", {g, g, g, g}, {2, 2});
    source.Save("optimizer_state/w.weight/exp_avg_sq", {squares, squares, squares, squares},
                {2, 2});
  }
  return source;
}

TEST(SecondMomentStale, FindsGradientsThatRiseWhileMomentsFall) {
  FakeSource rising = Decline(1.3);
  const Evaluated evaluated = Calibrated("SecondMomentStale", rising);
  ASSERT_FALSE(evaluated.findings.empty());
  EXPECT_GT(evaluated.findings[0].place.step, 60);
  EXPECT_LT(evaluated.findings[0].place.step, 70);
  EXPECT_EQ(evaluated.findings[0].tensor, "gradient/w.weight");
  FakeSource flat = Decline(1);
  EXPECT_EQ(Calibrated("SecondMomentStale", flat).result.status, RuleStatus::kPassed);
}

TEST(SecondMomentStale, FindsMomentsThatWereReset) {
  FakeSource source;
  double squares = 0;
  for (int64_t step = 0; step < 9; ++step) {
    if (step == 6) squares = 0;
    squares = 0.9 * squares + 0.1;
    source.Step(step).Save("gradient/w.weight", {1, 1, 1, 1}, {2, 2});
    source.Save("optimizer_state/w.weight/exp_avg_sq", {squares, squares, squares, squares},
                {2, 2});
  }
  const Evaluated evaluated = Calibrated("SecondMomentStale", source);
  EXPECT_THAT(evaluated.Steps(), ElementsAre(6));
  EXPECT_THAT(evaluated.Checks(), ElementsAre("lost"));
}

TEST(OutputLogitDrift, ComparesWithTheFirstSteps) {
  FakeSource source;
  FakeSource large;
  for (int64_t step = 0; step < 40; ++step) {
    const double drift = -4.0 * static_cast<double>(step);
    source.Step(step).Save("lm_head_output_0", {drift, drift, drift - 1, drift}, {1, 4});
    source.Save("head_input_0", {1e9, 0, 0, 0}, {1, 4});
    large.Step(step).Save("lm_head_output_0", {-120, -121, -119, -120}, {1, 4});
  }
  const Evaluated evaluated = Calibrated("OutputLogitDrift", source);
  ASSERT_FALSE(evaluated.findings.empty());
  // The largest of the first 20 steps is about 75.
  EXPECT_EQ(evaluated.findings[0].place.step, 38);
  EXPECT_LT(evaluated.findings[0].value, -147);
  EXPECT_EQ(Calibrated("OutputLogitDrift", large).result.status, RuleStatus::kPassed);
}

TEST(Attention, IsNotJudgedByItsFirstPositions) {
  FakeSource source;
  std::vector<double> causal;
  for (int64_t row = 0; row < 512 * 4; ++row) {
    const int64_t seen = row % 4 + 1;
    for (int64_t i = 0; i < 4; ++i) {
      causal.push_back(i < seen ? 1 / static_cast<double>(seen) : 0);
    }
  }
  for (int64_t step = 0; step < 12; ++step) {
    source.Step(step).Save("attention_probs_output_0", causal, {512, 4, 4});
  }
  EXPECT_EQ(Calibrated("AttentionEntropyCollapse", source).result.status, RuleStatus::kPassed);
}

TEST(LlmRules, CheckTheirParameters) {
  EXPECT_THAT(Refusal("SharedShard", {{"group", "0"}}), HasSubstr("group"));
  EXPECT_THAT(Refusal("LossSpike", {{"window", "3"}}), HasSubstr("window"));
  EXPECT_THAT(Refusal("UpdateRMS", {{"rms", "0"}}), HasSubstr("rms"));
  EXPECT_THAT(Refusal("Fp8Range", {{"overflow", "2"}}), HasSubstr("overflow"));
  EXPECT_THAT(Refusal("GradientNotReset", {{"patience", "0"}}), HasSubstr("patience"));
  EXPECT_THAT(Refusal("AdamEpsDominates", {{"beta2", "1"}}), HasSubstr("beta2"));
  EXPECT_THAT(Refusal("SecondMomentStale", {{"rise", "0"}}), HasSubstr("rise"));
  EXPECT_THAT(Refusal("OutputLogitDrift", {{"factor", "0"}}), HasSubstr("factor"));
  EXPECT_THAT(Refusal("LearningRateJump", {{"least", "0"}}), HasSubstr("least"));
  EXPECT_THAT(Refusal("TiedWeightsBroken", {{"head_regex", "("}}), HasSubstr("head_regex"));
}

}  // namespace
}  // namespace smdebug::rules::llm_rules_test
