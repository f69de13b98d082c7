#include "rules/support/target_places.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tensor/tensors.h"

namespace smdebug::rules::target_places_test {
namespace {

constexpr int64_t kRows = 8;
constexpr int64_t kTokens = 16;

Sample SampleOf(const tensor::Value &value, const char *name = "Net_input_0") {
  Sample sample({.step = 0, .mode = Mode::kTrain, .mode_step = 0}, "worker_0", name);
  sample.SetElements(value.AsView());
  return sample;
}

// Different tokens at each place.
std::vector<double> Tokens(int64_t count = kRows * kTokens) {
  std::vector<double> tokens;
  for (int64_t i = 0; i < count; ++i) tokens.push_back(static_cast<double>(i * 7 % 101));
  return tokens;
}

std::optional<TokenMatch> Match(const std::vector<double> &tokens,
                                const std::vector<double> &targets, bool are_whole = true) {
  TokenInputs inputs;
  const std::vector<int64_t> whole(tokens.begin(), tokens.end());
  const std::vector<int64_t> shape{kRows, kTokens};
  const tensor::Value value = are_whole ? tensor::TensorOf(tensor::DType::kInt64, whole, shape)
                                        : tensor::TensorOf(tensor::DType::kFloat64, tokens, shape);
  inputs.Add(SampleOf(value));
  return inputs.Match(targets);
}

// Returns the tokens `offset` places later, with -100 where a row ends.
std::vector<double> Later(const std::vector<double> &tokens, int64_t offset) {
  std::vector<double> later;
  for (int64_t i = 0; i < kRows * kTokens; ++i) {
    const bool is_there = i % kTokens + offset < kTokens;
    later.push_back(is_there ? tokens[static_cast<size_t>(i + offset)] : -100);
  }
  return later;
}

TEST(TokenInputsTest, OffsetsAreTold) {
  for (size_t offset = 0; offset < 3; ++offset) {
    const auto match = Match(Tokens(), Later(Tokens(), static_cast<int64_t>(offset)));
    ASSERT_TRUE(match) << offset;
    EXPECT_EQ(match->offset, offset);
    EXPECT_EQ(match->of, "Net_input_0");
  }
  EXPECT_FALSE(Match(Tokens(), Later(Tokens(), 3)));
}

// A decoder shifts by itself what it is to write, and an embedding reads what it gets.
TEST(TokenInputsTest, WhatAModelGetsBesidesItReadsLater) {
  const auto matches = [](const char *name) {
    TokenInputs inputs;
    const std::vector<double> tokens = Tokens();
    const std::vector<int64_t> whole(tokens.begin(), tokens.end());
    const auto value = tensor::TensorOf(tensor::DType::kInt64, whole, {kRows, kTokens});
    inputs.Add(SampleOf(value, name));
    return inputs.Match(tokens).has_value();
  };
  EXPECT_FALSE(matches("Seq2Seq_input_1"));
  EXPECT_TRUE(matches("Seq2Seq_input_0"));
  EXPECT_TRUE(matches("decoder.embedding_input_1"));
  EXPECT_TRUE(matches("embedding_input_1"));
}

TEST(TokenInputsTest, WhatCannotBeTold) {
  // Two kinds of tokens match at many places.
  std::vector<double> two;
  for (size_t i = 0; i < kRows * kTokens; ++i) two.push_back(static_cast<double>(i % 2));
  EXPECT_FALSE(Match(two, two));
  // All are padding, which the loss ignores.
  EXPECT_FALSE(Match(Tokens(), std::vector<double>(kRows * kTokens, -100)));
  // Not a row of targets for each text.
  EXPECT_FALSE(Match(Tokens(), Tokens(kRows * kTokens - 1)));
  EXPECT_FALSE(Match(Tokens(), {}));
  // A tenth is masked in what the model reads, as for BERT.
  std::vector<double> masked = Tokens();
  for (size_t i = 0; i < masked.size(); i += 10) masked[i] = 200;
  EXPECT_FALSE(Match(masked, Tokens()));
  // Each text says its first half twice, and only the second half has targets.
  std::vector<double> twice = Tokens();
  std::vector<double> second;
  for (size_t i = 0; i < twice.size(); ++i) {
    if (i % kTokens >= kTokens / 2) second.push_back(twice[i] = twice[i - kTokens / 2]);
  }
  EXPECT_FALSE(Match(twice, second));
  // Numbers are no tokens.
  EXPECT_FALSE(Match(Tokens(), Tokens(), false));
}

// Gives tables of 32 samples and five columns; the target is `of(i)` of sample i.
template <class Of, class Column>
std::optional<ColumnsAndTarget::Column> Telling(const Of &of, const Column &column,
                                                int64_t steps = 8) {
  ColumnsAndTarget columns;
  for (int64_t step = 0; step < steps; ++step) {
    std::vector<double> table;
    std::vector<double> targets;
    for (int64_t i = 0; i < 32; ++i) {
      const auto number = static_cast<double>(step * 32 + i);
      const double target = of(number);
      for (int k = 0; k < 5; ++k) table.push_back(column(k, number, target));
      targets.push_back(target);
    }
    const tensor::Value value = tensor::TensorOf(tensor::DType::kFloat64, table, {32, 5});
    columns.Add(SampleOf(value));
    columns.AddTargets(targets);
    columns.EndStep();
  }
  return columns.Telling(5);
}

double Noise(int k, double number) { return std::sin(1000 * std::sin(number + 100 * k)); }

TEST(ColumnsAndTargetTest, ALineOfTheTargetIsFound) {
  const auto found =
      Telling([](double i) { return std::sin(i); },
              [](int k, double i, double y) { return k == 3 ? 2 * y - 100 : Noise(k, i); });
  ASSERT_TRUE(found);
  EXPECT_EQ(found->number, 3);
  EXPECT_EQ(found->samples, 256);
}

TEST(ColumnsAndTargetTest, WhatIsNoLeak) {
  const auto wave = [](double i) { return std::sin(i); };
  // Nearly, as the value before the next one of a series.
  EXPECT_FALSE(Telling(wave, [](int k, double i, double y) {
    return k == 3 ? y + 0.01 * Noise(k, i) : Noise(k, i);
  }));
  // Two columns alike.
  EXPECT_FALSE(Telling(wave, [](int k, double i, double y) { return k > 2 ? y : Noise(k, i); }));
  // A target that is always the same, and a NaN.
  EXPECT_FALSE(Telling([](double) { return 1.0; },
                       [](int k, double i, double y) { return k == 3 ? y : Noise(k, i); }));
  EXPECT_FALSE(Telling(
      wave, [](int k, double i, double y) { return k == 3 ? (i == 70 ? NAN : y) : Noise(k, i); }));
  // Too few steps to tell.
  EXPECT_FALSE(Telling(
      wave, [](int k, double i, double y) { return k == 3 ? y : Noise(k, i); }, 4));
}

}  // namespace
}  // namespace smdebug::rules::target_places_test
