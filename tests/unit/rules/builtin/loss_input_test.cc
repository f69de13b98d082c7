#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "rules/evaluating.h"

namespace smdebug::rules::loss_input_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char *kRule = "LossInput";
constexpr const char *kScores = "CrossEntropyLoss_input_0";

// Scores of eight samples and four classes, at some steps.
Evaluated OfScores(double (*score)(double), bool is_normalised, int64_t steps = 8,
                   const Parameters::Given &given = {}) {
  FakeSource source;
  for (int64_t step = 0; step < steps; ++step) {
    std::vector<double> scores;
    for (int row = 0; row < 8; ++row) {
      double sum = 0;
      for (int i = 0; i < 4; ++i) {
        scores.push_back(score(std::sin(row * 4 + i + static_cast<double>(step))));
        sum += scores.back();
      }
      if (!is_normalised) continue;
      for (size_t i = scores.size() - 4; i < scores.size(); ++i) scores[i] /= sum;
    }
    source.Step(step, Mode::kTrain, step).Save(kScores, scores, {8, 4});
  }
  return Evaluate(kRule, given, source, Profile::kCalibrated);
}

double Exponential(double x) { return std::exp(x); }
double Identity(double x) { return x; }
double Rectified(double x) { return std::max(0.0, x); }

TEST(LossInputTest, ADivergenceTakesLogarithmsOfProbabilities) {
  for (const bool are_logarithms : {false, true}) {
    FakeSource source;
    for (int64_t step = 0; step < 8; ++step) {
      const double p = 0.5 + 0.4 * std::sin(static_cast<double>(step));
      const std::vector<double> inputs = are_logarithms
                                             ? std::vector<double>{std::log(p), std::log(1 - p)}
                                             : std::vector<double>{p, 1 - p};
      source.Step(step, Mode::kTrain, step).Save("KLDivLoss_input_0", inputs, {1, 2});
    }
    const Evaluated evaluated = Evaluate(kRule, {}, source, Profile::kCalibrated);
    if (are_logarithms) {
      EXPECT_THAT(evaluated.findings, IsEmpty());
    } else {
      EXPECT_THAT(evaluated.Checks(), Contains("probabilities"));
      EXPECT_THAT(evaluated.findings[0].message, HasSubstr("give it the log_softmax"));
    }
  }
}

TEST(LossInputTest, ProbabilitiesAreNoScores) {
  const Evaluated evaluated = OfScores(Exponential, true);
  EXPECT_THAT(evaluated.Steps(), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(evaluated.Checks(), Contains("probabilities"));
  EXPECT_EQ(evaluated.findings[0].tensor, kScores);
  EXPECT_THAT(evaluated.findings[0].message, HasSubstr("computes the softmax"));
  EXPECT_EQ(OfScores(Exponential, false).result.status, RuleStatus::kPassed);
  EXPECT_THAT(OfScores(Exponential, true, 8, {{"patience", "9"}}).findings, IsEmpty());
}

// Scores of four samples and four classes, whose softmax was taken over one of the two.
std::vector<double> Softmax(int64_t step, bool is_over_samples) {
  std::vector<double> scores;
  for (int i = 0; i < 16; ++i) {
    scores.push_back(std::exp(std::sin(i * i + 3 * static_cast<double>(step))));
  }
  const auto at = [&](size_t i, size_t k) -> double & {
    return scores[is_over_samples ? 4 * k + i : 4 * i + k];
  };
  for (size_t i = 0; i < 4; ++i) {
    const double sum = at(i, 0) + at(i, 1) + at(i, 2) + at(i, 3);
    for (size_t k = 0; k < 4; ++k) at(i, k) /= sum;
  }
  return scores;
}

Evaluated OfSoftmax(const char *tensor, bool is_over_samples, double (*form)(double)) {
  FakeSource source;
  for (int64_t step = 0; step < 8; ++step) {
    std::vector<double> scores = Softmax(step, is_over_samples);
    std::transform(scores.begin(), scores.end(), scores.begin(), form);
    source.Step(step, Mode::kTrain, step).Save(tensor, scores, {4, 4});
  }
  return Evaluate(kRule, {}, source, Profile::kCalibrated);
}

double Logarithm(double x) { return std::log(x); }

TEST(LossInputTest, ASoftmaxOverSamples) {
  const Evaluated evaluated = OfSoftmax(kScores, true, Identity);
  EXPECT_THAT(evaluated.Checks(), Contains("probabilities"));
  EXPECT_THAT(evaluated.findings[0].message, HasSubstr("over the samples"));
  EXPECT_THAT(OfSoftmax("NLLLoss_input_0", true, Logarithm).Checks(), Contains("probabilities"));
}

TEST(LossInputTest, WhatTakesLogarithmsGetsThem) {
  EXPECT_THAT(OfSoftmax("NLLLoss_input_0", false, Logarithm).findings, IsEmpty());
  const Evaluated evaluated = OfSoftmax("NLLLoss_input_0", false, Identity);
  EXPECT_THAT(evaluated.Checks(), Contains("probabilities"));
  EXPECT_THAT(evaluated.findings[0].message, HasSubstr("takes logarithms"));
}

TEST(LossInputTest, LossesThatAreNamedAlikeTakeOtherNumbers) {
  for (const char *name : {"PoissonNLLLoss_input_0", "loss/GaussianNLLLoss_input_0"}) {
    EXPECT_EQ(OfSoftmax(name, false, Identity).result.status, RuleStatus::kNoTensors) << name;
  }
  EXPECT_THAT(OfSoftmax("loss/NLLLoss_input_0", false, Identity).Checks(),
              Contains("probabilities"));
}

TEST(LossInputTest, EqualScoresMayAddUpToOne) {
  EXPECT_EQ(OfScores([](double) { return 0.25; }, false).result.status, RuleStatus::kPassed);
}

TEST(LossInputTest, ScoresThatAreCutOffAtZero) {
  const Evaluated evaluated = OfScores(Rectified, false);
  EXPECT_THAT(evaluated.Checks(), Contains("cut_off"));
  EXPECT_THAT(evaluated.findings[0].message, HasSubstr("never below 0"));
  EXPECT_EQ(OfScores(Identity, false).result.status, RuleStatus::kPassed);
}

TEST(LossInputTest, ALastLayerMayBeginWithZeros) {
  FakeSource source;
  for (int64_t step = 0; step < 30; ++step) {
    std::vector<double> scores(32);
    for (size_t i = 0; i < scores.size() && step >= 10; ++i) {
      scores[i] = std::sin(static_cast<double>(i) + static_cast<double>(step));
    }
    source.Step(step).Save(kScores, scores, {8, 4});
  }
  EXPECT_EQ(Evaluate(kRule, {}, source, Profile::kCalibrated).result.status, RuleStatus::kPassed);
}

TEST(LossInputTest, OutputsMayBeCutOffWhereTargetsAre) {
  const auto with_targets = [](double least) {
    FakeSource source;
    for (int64_t step = 0; step < 8; ++step) {
      std::vector<double> outputs;
      std::vector<double> targets;
      for (int i = 0; i < 20; ++i) {
        const double target = std::sin(i + static_cast<double>(step));
        targets.push_back(std::max(least, target));
        outputs.push_back(std::max(0.0, target));
      }
      source.Step(step).Save("MSELoss_input_0", outputs).Save("MSELoss_input_1", targets);
    }
    return Evaluate(kRule, {}, source, Profile::kCalibrated);
  };
  EXPECT_THAT(with_targets(-1).Checks(), Contains("cut_off"));
  EXPECT_THAT(with_targets(-1).findings[0].message, HasSubstr("though targets are below 0"));
  EXPECT_EQ(with_targets(0).result.status, RuleStatus::kPassed);
}

// A tanh or a sigmoid before the loss returns nothing beyond 1.
TEST(LossInputTest, OutputsMayEndWhereTargetsDo) {
  const auto checks_of = [](double (*output)(double), double largest) {
    FakeSource source;
    for (int64_t step = 0; step < 8; ++step) {
      std::vector<double> outputs;
      std::vector<double> targets;
      for (int i = 0; i < 40; ++i) {
        targets.push_back(largest * std::sin(i + static_cast<double>(step)));
        outputs.push_back(output(2 * targets.back()));
      }
      source.Step(step).Save("MSELoss_input_0", outputs).Save("MSELoss_input_1", targets);
    }
    return Evaluate(kRule, {}, source, Profile::kCalibrated).Checks();
  };
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-4 * x)); };
  const auto half = [](double x) { return 0.249 * x; };
  EXPECT_THAT(checks_of([](double x) { return std::tanh(x); }, 2), Contains("cut_off"));
  EXPECT_THAT(checks_of(sigmoid, 2), Contains("cut_off"));
  EXPECT_THAT(checks_of([](double x) { return std::tanh(x); }, 1), IsEmpty());
  EXPECT_THAT(checks_of(Identity, 2), IsEmpty());
  EXPECT_THAT(checks_of(half, 2), IsEmpty()) << "what is nearly as small may become larger";
}

TEST(LossInputTest, TargetsOfABinaryCrossEntropyAreProbabilities) {
  const auto checks_of = [](const char *name, double low, double high) {
    FakeSource source;
    for (int64_t step = 0; step < 8; ++step) {
      source.Step(step).Save(name, {low, high, high, low});
    }
    return Evaluate(kRule, {}, source, Profile::kCalibrated).Checks();
  };
  for (const char *name : {"BCEWithLogitsLoss_input_1", "loss/BCELoss_input_1"}) {
    EXPECT_THAT(checks_of(name, -1, 1), Contains("targets"));
    EXPECT_THAT(checks_of(name, 1, 2), Contains("targets"));
    EXPECT_THAT(checks_of(name, 0, 1), IsEmpty());
    EXPECT_THAT(checks_of(name, 0.05, 0.95), IsEmpty());
  }
  EXPECT_THAT(checks_of("MSELoss_input_1", -1, 1), IsEmpty());
}

TEST(LossInputTest, LossesOfSignsLearnNothingOfZeros) {
  const auto with = [](const std::string &tensor, double low) {
    FakeSource source;
    for (int step = 0; step < 8; ++step) source.Step(step).Save(tensor, {low, 1, low, 1});
    return Evaluate("LossInput", {}, source, Profile::kCalibrated);
  };
  for (const char *tensor : {"SoftMarginLoss_input_1", "HingeEmbeddingLoss_input_1",
                             "MarginRankingLoss_input_2", "CosineEmbeddingLoss_input_2"}) {
    EXPECT_THAT(with(tensor, 0).Checks(), Contains("targets")) << tensor;
    EXPECT_THAT(with(tensor, -1).Checks(), IsEmpty()) << tensor;
  }
  EXPECT_THAT(
      with("SoftMarginLoss_input_1", 0).findings[0].message,
      HasSubstr("50 % of 'SoftMarginLoss_input_1' are 0, of which the loss learns nothing"));
  for (const char *tensor : {"MultiLabelSoftMarginLoss_input_1", "MarginRankingLoss_input_1",
                             "MultiMarginLoss_input_1", "TripletMarginLoss_input_2"}) {
    EXPECT_THAT(with(tensor, 0).Checks(), IsEmpty()) << tensor;
  }
}

TEST(LossInputTest, RarePositivesAreNotToCountLess) {
  const auto with = [](int positives, bool counts_less) {
    FakeSource source;
    if (counts_less) source.Include("positives_count_less", "^BCEWithLogitsLoss_input_");
    for (int step = 0; step < 30; ++step) {
      std::vector<double> targets(10, 0);
      std::fill(targets.begin(), targets.begin() + positives, 1);
      source.Step(step).Save("BCEWithLogitsLoss_input_1", targets);
    }
    return Evaluate("LossInput", {}, source, Profile::kCalibrated);
  };
  const Evaluated found = with(2, true);
  ASSERT_THAT(found.Checks(), Contains("weight"));
  EXPECT_EQ(found.findings[0].place.step, 19);  // from 200 targets on
  EXPECT_THAT(found.findings[0].message,
              HasSubstr("of 'BCEWithLogitsLoss_input_1', 20 % are positive"));
  EXPECT_THAT(with(2, false).Checks(), IsEmpty());
  EXPECT_THAT(with(4, true).Checks(), IsEmpty());
}

// Labels of three classes, which are as frequent as 7 to 2 to 1.
Evaluated WithClassWeights(const std::vector<double> &weights) {
  FakeSource source;
  for (int step = 0; step < 30; ++step) {
    source.Step(step);
    if (step == 1) source.Save("loss_weight/CrossEntropyLoss", weights);
    source.Save("CrossEntropyLoss_input_1", {0, 0, 0, 0, 0, 0, 0, 1, 1, 2});
  }
  return Evaluate("LossInput", {}, source, Profile::kCalibrated);
}

TEST(LossInputTest, RareClassesAreNotToCountLess) {
  const Evaluated found = WithClassWeights({0.7, 0.2, 0.1});
  ASSERT_THAT(found.Checks(), Contains("rare_classes"));
  EXPECT_EQ(found.findings[0].place.step, 20);  // from 200 labels on
  EXPECT_EQ(found.findings[0].message,
            "class 0 is 7 times as frequent in 'CrossEntropyLoss_input_1' as class 2, and the "
            "loss's weight lets it count 7 times as much: give rare classes the larger weights");
  const std::vector<std::vector<double>> right = {
      {0.1, 0.2, 0.7},     // the rare one counts most
      {1, 1, 1},           // all count alike
      {1.5, 1.2, 1},       // hardly a difference
      {2, 0, 5},           // one is left out
      {2, 0.1, 1},         // not by frequency
      {NAN, NAN, NAN},     //
      {},                  //
      {0, 0, 0},           //
      {-7, -2, -1},        //
      {INFINITY, 0.5, 1},  //
  };
  for (const std::vector<double> &weights : right) {
    EXPECT_THAT(WithClassWeights(weights).Checks(), Not(Contains("rare_classes")))
        << testing::PrintToString(weights);
  }
  EXPECT_THAT(WithClassWeights({0.7, 0.2}).Checks(), Contains("rare_classes"));
  EXPECT_THAT(WithClassWeights({0.7}).Checks(), Not(Contains("rare_classes")));
}

TEST(LossInputTest, ASigmoidBeforeLogitsIsFoundAfterAWhile) {
  const auto with = [](double begin, int64_t steps) {
    FakeSource source;
    for (int64_t step = 0; step < steps; ++step) {
      source.Step(step).Save("BCEWithLogitsLoss_input_0", {begin, 0.5, 0.9}, {3, 1});
    }
    return Evaluate(kRule, {}, source, Profile::kCalibrated);
  };
  EXPECT_THAT(with(0.1, 52).Steps(), ElementsAre(49, 50, 51));
  EXPECT_THAT(with(0.1, 52).findings[0].message, HasSubstr("computes the sigmoid"));
  EXPECT_THAT(with(0.1, 49).findings, IsEmpty()) << "logits may be there by chance";
  EXPECT_THAT(with(-0.1, 80).findings, IsEmpty());
  EXPECT_THAT(with(0.5, 80).Checks(), Contains("probabilities"));
}

// As for the real samples of a discriminator, whose scores are to be above 0.
TEST(LossInputTest, ScoresOfOneClassLieOnOneSide) {
  const auto with = [](double target) {
    FakeSource source;
    for (int64_t step = 0; step < 52; ++step) {
      source.Step(step).Save("BCEWithLogitsLoss_input_0", {0.1, 0.5, 0.9}, {3, 1});
      source.Save("BCEWithLogitsLoss_input_1", {1, target, 1}, {3, 1});
    }
    return Evaluate(kRule, {}, source, Profile::kCalibrated);
  };
  EXPECT_THAT(with(1).findings, IsEmpty());
  EXPECT_THAT(with(0.9).findings, IsEmpty()) << "of a label that is smoothed";
  EXPECT_THAT(with(0).Checks(), Contains("probabilities"));
}

TEST(LossInputTest, OutputsAreComparedWithTargetsOfTheirShape) {
  const auto with = [](const std::vector<int64_t> &outputs, const std::vector<int64_t> &targets) {
    FakeSource source;
    for (int64_t step = 0; step < 8; ++step) {
      source.Step(step).Save("MSELoss_input_0", {-1, 2, 3}, outputs);
      source.Save("MSELoss_input_1", {1, 2, 3}, targets);
    }
    return Evaluate(kRule, {}, source, Profile::kCalibrated);
  };
  const Evaluated evaluated = with({3, 1}, {3});
  EXPECT_THAT(evaluated.Steps(), ElementsAre(5, 6, 7));
  EXPECT_THAT(evaluated.Checks(), Contains("broadcast"));
  EXPECT_EQ(evaluated.findings[0].tensor, "MSELoss_input_0");
  EXPECT_THAT(evaluated.findings[0].message,
              HasSubstr("'MSELoss_input_0' has the shape (3, 1) and its targets (3)"));
  EXPECT_THAT(with({3, 1}, {1, 3}).Checks(), Contains("broadcast"));
  EXPECT_THAT(with({3, 1}, {3, 1}).findings, IsEmpty());
  EXPECT_THAT(with({1, 3}, {3}).findings, IsEmpty()) << "each with one";
}

TEST(LossInputTest, EvaluationsAndNumbersThatAreNoneDoNotCount) {
  FakeSource source;
  for (int64_t step = 0; step < 8; ++step) {
    source.Step(step, Mode::kEval, step).Save(kScores, std::vector<double>(32, 0.0), {8, 4});
  }
  EXPECT_EQ(Evaluate(kRule, {}, source).result.status, RuleStatus::kNotEnoughData);
  FakeSource broken;
  for (int64_t step = 0; step < 8; ++step) {
    broken.Step(step).Save(kScores, std::vector<double>(32, std::nan("")), {8, 4});
  }
  EXPECT_THAT(Evaluate(kRule, {}, broken).findings, IsEmpty());
}

TEST(LossInputTest, WithoutLossesThereIsNothing) {
  FakeSource source;
  source.Step(0).Save("a.weight", {1});
  EXPECT_EQ(Evaluate(kRule, {}, source).result.status, RuleStatus::kNoTensors);
  source.Step(1).Save(kScores, {}, {0, 4});
  EXPECT_EQ(Evaluate(kRule, {}, source).result.status, RuleStatus::kNotEnoughData);
}

// A model of the next token, which tells all of them from step `knows` on.
Evaluated OfNextTokens(int64_t knows) {
  constexpr int64_t kTexts = 8;
  constexpr int64_t kTokens = 12;
  FakeSource source;
  for (int64_t step = 0; step < 120; ++step) {
    std::vector<int64_t> tokens;
    std::vector<int64_t> targets;
    std::vector<double> scores(kTexts * kTokens * 20, -1);
    for (int64_t i = 0; i < kTexts * kTokens; ++i) {
      tokens.push_back(i % kTokens == 0 ? 0 : (i * 7 + step * 3 + i / kTokens) % 20);
    }
    for (int64_t i = 0; i < kTexts * kTokens; ++i) {
      const bool is_last = (i + 1) % kTokens == 0;
      targets.push_back(is_last ? -100 : tokens[static_cast<size_t>(i + 1)]);
      const int64_t told = is_last || step < knows ? 1 : targets.back();
      scores[static_cast<size_t>(i * 20 + told)] = 1;
    }
    source.Step(step)
        .Save("embed_input_0", tensor::TensorOf(tensor::DType::kInt64, tokens, {kTexts, kTokens}))
        .Save(kScores, scores, {kTexts * kTokens, 20})
        .Save("CrossEntropyLoss_input_1", tensor::TensorOf(tensor::DType::kInt64, targets));
  }
  return Evaluate(kRule, {}, source, Profile::kCalibrated);
}

TEST(LossInputTest, AModelOfTheNextTokenMustNotReadOn) {
  const Evaluated evaluated = OfNextTokens(40);
  ASSERT_THAT(evaluated.Checks(), Contains("ahead"));
  EXPECT_GT(evaluated.findings[0].place.step, 40);
  EXPECT_EQ(evaluated.findings[0].tensor, "CrossEntropyLoss_input_1");
  EXPECT_THAT(evaluated.findings[0].message, HasSubstr("without a causal mask"));
  EXPECT_THAT(OfNextTokens(1000).findings, IsEmpty());
}

// A recurrent layer that takes the second axis for the samples, and the targets of a loss.
Evaluated OfSequences(const std::vector<int64_t> &shape, const std::vector<int64_t> &targets,
                      bool is_told = true, int64_t samples = 16) {
  constexpr const char *kSequence = "rnn_input_0";
  const auto count = [](const std::vector<int64_t> &sizes) {
    size_t all = 1;
    for (const int64_t size : sizes) all *= static_cast<size_t>(size);
    return all;
  };
  FakeSource source;
  if (is_told) source.Include("second_axis_samples", kSequence);
  for (int64_t step = 0; step < 8; ++step) {
    const std::vector<int64_t> labels(count(targets), step % 3);
    source.Step(step)
        .Save("first_input_0", std::vector<double>(static_cast<size_t>(samples), 1), {samples, 1})
        .Save(kSequence, std::vector<double>(count(shape), 0.5), shape)
        .Save("CrossEntropyLoss_input_1", tensor::TensorOf(tensor::DType::kInt64, labels, targets));
  }
  return Evaluate(kRule, {}, source, Profile::kCalibrated);
}

TEST(LossInputTest, SamplesLieAlongTheAxisThatTheLayerTakes) {
  const Evaluated evaluated = OfSequences({16, 20, 4}, {16});
  ASSERT_THAT(evaluated.Checks(), Contains("axes"));
  EXPECT_EQ(evaluated.findings[0].place.step, 4);
  EXPECT_EQ(evaluated.findings[0].message,
            "'rnn_input_0' has 16 along its first axis and 20 along the second, which its module "
            "takes for the samples, but 'CrossEntropyLoss_input_1' are of 16 samples: the module "
            "mixes them; give it batch_first=True");
  EXPECT_THAT(OfSequences({16, 20, 4}, {16}, false).findings, IsEmpty());
}

TEST(LossInputTest, ALayerThatIsNoLongerCalledMixesNothing) {
  FakeSource source;
  source.Include("second_axis_samples", "rnn_input_0");
  for (int64_t step = 0; step < 12; ++step) {
    source.Step(step);
    if (step < 6) source.Save("rnn_input_0", std::vector<double>(4 * 3, 1), {4, 3, 1});
    source.Save("CrossEntropyLoss_input_1",
                tensor::TensorOf<int64_t>(tensor::DType::kInt64, {0, 1, 2, step % 3}));
  }
  EXPECT_THAT(Evaluate(kRule, {}, source, Profile::kCalibrated).Steps(),
              testing::ElementsAre(4, 5));
}

TEST(LossInputTest, EitherAxisMayBeThatOfSamples) {
  EXPECT_THAT(OfSequences({20, 16, 4}, {16}).findings, IsEmpty());
  EXPECT_THAT(OfSequences({16, 16, 4}, {16}).findings, IsEmpty());
  EXPECT_THAT(OfSequences({20, 16, 4}, {320}).findings, IsEmpty());
  // As many targets as places, by chance.
  EXPECT_THAT(OfSequences({16, 4, 4}, {16}, true, 4).findings, IsEmpty());
  // A target for each place.
  EXPECT_THAT(OfSequences({20, 16, 4}, {20, 16}).findings, IsEmpty());
  EXPECT_THAT(OfSequences({16, 4}, {16}).findings, IsEmpty()) << "of one sequence";
}

TEST(LossInputTest, ItsParametersAreChecked) {
  EXPECT_THAT(Refusal(kRule, {{"patience", "0"}}), HasSubstr("patience"));
  EXPECT_THAT(Refusal(kRule, {{"zeros", "101"}}), HasSubstr("zeros"));
  EXPECT_THAT(Refusal(kRule, {{"below", "x"}}), HasSubstr("below"));
  EXPECT_THAT(Refusal(kRule, {{"scores_regex", "("}}), HasSubstr("("));
}

}  // namespace
}  // namespace smdebug::rules::loss_input_test
