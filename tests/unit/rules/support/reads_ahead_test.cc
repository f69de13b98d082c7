#include "rules/support/reads_ahead.h"

#include <gtest/gtest.h>

#include <functional>

#include "tensor/tensors.h"

namespace smdebug::rules::reads_ahead_test {
namespace {

constexpr int64_t kTexts = 8;
constexpr int64_t kTokens = 6;
constexpr int64_t kKinds = 10;

tensor::Value Whole(const std::vector<int64_t> &numbers, std::vector<int64_t> shape) {
  return tensor::TensorOf(tensor::DType::kInt64, numbers, std::move(shape));
}
tensor::Value Floats(const std::vector<double> &numbers, std::vector<int64_t> shape) {
  return tensor::TensorOf(tensor::DType::kFloat64, numbers, std::move(shape));
}

// Texts that begin with one of two tokens, and go on each in its own way.
std::vector<int64_t> Texts() {
  std::vector<int64_t> tokens;
  for (int64_t text = 0; text < kTexts; ++text) {
    tokens.push_back(text % 2);
    for (int64_t i = 1; i < kTokens; ++i) tokens.push_back((2 + text + i) % kKinds);
  }
  return tokens;
}

// The prediction at each place: the next token, or the same for all texts.
enum class Told { kNext, kSame };
enum class Form { kRows, kClassesSecond };

using Inputs = std::vector<std::pair<std::string, tensor::Value>>;

struct Case {
  Told told = Told::kNext;
  Form form = Form::kRows;
  bool are_targets_ignored = false;
  Inputs before = {};  // what modules read before the tokens
  Inputs after = {};
};

class Step {
 public:
  explicit Step(const Case &of) : case_(of) {}

  void TakeBy(ReadsAhead *ahead) const {
    const std::vector<int64_t> tokens = Texts();
    for (const auto &[name, value] : case_.before) ahead->AddInput(SampleOf(name, value));
    const tensor::Value texts = Whole(tokens, {kTexts, kTokens});
    ahead->AddInput(SampleOf("Net_embed_input_0", texts));
    for (const auto &[name, value] : case_.after) ahead->AddInput(SampleOf(name, value));
    const tensor::Value scores = Scores(tokens);
    ahead->AddScores(SampleOf("CrossEntropyLoss_input_0", scores));
    std::vector<double> targets;
    for (int64_t i = 0; i < kTexts * kTokens; ++i) {
      const bool is_known = (i + 1) % kTokens != 0 && !case_.are_targets_ignored;
      targets.push_back(is_known ? static_cast<double>(tokens[static_cast<size_t>(i + 1)]) : -100);
    }
    ahead->AddTargets(targets);
    ahead->EndStep();
  }

 private:
  static Sample SampleOf(const std::string &name, const tensor::Value &value) {
    Sample sample({.step = 0, .mode = Mode::kTrain, .mode_step = 0}, "worker_0", name);
    sample.SetElements(value.AsView());
    return sample;
  }

  tensor::Value Scores(const std::vector<int64_t> &tokens) const {
    std::vector<double> scores(kTexts * kTokens * kKinds);
    for (int64_t i = 0; i < kTexts * kTokens; ++i) {
      const bool is_last = (i + 1) % kTokens == 0;
      const int64_t next =
          case_.told == Told::kNext && !is_last ? tokens[static_cast<size_t>(i + 1)] : 3;
      const int64_t text = i / kTokens;
      const int64_t place = i % kTokens;
      const int64_t at =
          case_.form == Form::kRows ? i * kKinds + next : (text * kKinds + next) * kTokens + place;
      scores[static_cast<size_t>(at)] = 1;
    }
    return case_.form == Form::kRows ? Floats(scores, {kTexts * kTokens, kKinds})
                                     : Floats(scores, {kTexts, kKinds, kTokens});
  }

  const Case &case_;
};

std::optional<ReadsAhead::Pairs> Last(const Case &of, int steps = 20) {
  ReadsAhead ahead;
  for (int step = 0; step < steps; ++step) Step(of).TakeBy(&ahead);
  return ahead.Last();
}

tensor::Value Hidden() { return Floats(std::vector<double>(kTexts * 4, 0.5), {kTexts, 4}); }

TEST(ReadsAheadTest, BothOfTwoTextsAreOnlyToldByWhoReadsOn) {
  for (const Form form : {Form::kRows, Form::kClassesSecond}) {
    const auto ahead = Last({.told = Told::kNext, .form = form});
    ASSERT_TRUE(ahead);
    EXPECT_GE(ahead->all, 40);
    EXPECT_EQ(ahead->told, ahead->all);
    const auto causal = Last({.told = Told::kSame, .form = form});
    ASSERT_TRUE(causal);
    EXPECT_EQ(causal->told, 0);
  }
}

TEST(ReadsAheadTest, FewPairsSayNothing) {
  EXPECT_FALSE(Last({}, 2));
  EXPECT_FALSE(Last({.are_targets_ignored = true}));
}

TEST(ReadsAheadTest, WhatElseAModelReadsMayTellTheNextToken) {
  std::vector<int64_t> others;
  for (int64_t i = 0; i < kTexts * kTokens; ++i) others.push_back(i * 7 % 10);
  const Case cases[] = {
      {.before = {{"Net_images_input_0", Hidden()}}},  // an encoder
      {.after = {{"Net_embed_input_1", Hidden()}}},    // a state
      {.after = {{"Net_kind_input_0", Whole(std::vector<int64_t>(kTexts, 1), {kTexts})}}},
      {.after = {{"Net_source_input_0", Whole(others, {kTexts, kTokens})}}},  // texts
      {.after = {{"Net_source_input_0", Whole(others, {kTexts * 2, kTokens / 2})}}},
  };
  for (const Case &each : cases) EXPECT_FALSE(Last(each));
}

TEST(ReadsAheadTest, MasksAndPlacesAndHiddenStatesTellNothing) {
  std::vector<int64_t> places;
  std::vector<int64_t> mask;
  for (int64_t i = 0; i < kTexts * kTokens; ++i) {
    places.push_back(i % kTokens);
    mask.push_back(i % 5 == 0 ? 0 : 1);
  }
  std::vector<int64_t> row(places.begin(), places.begin() + kTokens);
  const Case cases[] = {
      {.before = {{"Net_place_input_0", Whole(row, {kTokens})}}},
      {.after = {{"Net_place_input_0", Whole(row, {1, kTokens})}}},
      {.after = {{"Net_place_input_0", Whole(places, {kTexts, kTokens})}}},
      {.after = {{"Net_input_1", Whole(mask, {kTexts, kTokens})}}},
      {.after = {{"Net_block.0_input_0", Hidden()}, {"Net_block.0_input_1", Hidden()}}},
  };
  for (const Case &each : cases) EXPECT_TRUE(Last(each));
}

TEST(ReadsAheadTest, ScoresOfSomethingElseAreLeft) {
  ReadsAhead ahead;
  const tensor::Value texts = Whole(Texts(), {kTexts, kTokens});
  const tensor::Value of_texts = Floats(std::vector<double>(kTexts * 3), {kTexts, 3});
  const tensor::Value flat = Floats(std::vector<double>(7), {7});
  for (int step = 0; step < 50; ++step) {
    for (const tensor::Value *scores : {&of_texts, &flat}) {
      Sample input({.step = step, .mode = Mode::kTrain, .mode_step = step}, "w", "Net_input_0");
      input.SetElements(texts.AsView());
      ahead.AddInput(input);
      Sample sample({.step = step, .mode = Mode::kTrain, .mode_step = step}, "w", "Loss_input_0");
      sample.SetElements(scores->AsView());
      ahead.AddScores(sample);
      ahead.AddTargets({1, 2, 3});
      ahead.EndStep();
    }
  }
  EXPECT_FALSE(ahead.Last());
}

}  // namespace
}  // namespace smdebug::rules::reads_ahead_test
