#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "rules/evaluating.h"

namespace smdebug::rules::unusual_settings_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char *kRule = "UnusualSettings";

Evaluated Find(FakeSource &source) { return Evaluate(kRule, {}, source); }

TEST(UnusualSettingsTest, ADropoutOfMostInputsIsTold) {
  FakeSource source;
  for (int64_t step = 0; step < 3; ++step) {
    source.Step(step).Save("dropout/Net_1", {0.9}).Save("dropout/Net_2", {0.75});
  }
  const Evaluated evaluated = Find(source);
  ASSERT_THAT(evaluated.Steps(), ElementsAre(0)) << "once";
  EXPECT_EQ(evaluated.findings[0].tensor, "dropout/Net_1");
  EXPECT_EQ(evaluated.findings[0].message,
            "the dropout 'Net_1' drops 90 % of its input: the probability that PyTorch takes is "
            "that of a 0");
}

TEST(UnusualSettingsTest, SwappedBetasAreFoundOnce) {
  FakeSource source;
  for (int64_t step = 0; step < 3; ++step) {
    source.Step(step, Mode::kTrain, step).Save("beta_excess/Adam_0", {0.099});
  }
  const Evaluated evaluated = Find(source);
  ASSERT_THAT(evaluated.Checks(), ElementsAre("betas"));
  EXPECT_EQ(evaluated.findings[0].message,
            "the first beta of 'Adam_0' is 0.099 above the second: they are swapped, so that "
            "squares of gradients are forgotten before gradients");
}

TEST(UnusualSettingsTest, AFrozenModelThatWasNeverTrainedIsFound) {
  FakeSource source;
  source.Step(99, Mode::kTrain, 99)
      .Save("initial_frozen/Net", {1})
      .Save("initial_frozen/Other", {0.875})
      .Save("initial_frozen/Target", {1});
  source.Step(199, Mode::kTrain, 199)
      .Save("initial_frozen/Net", {1})
      .Save("initial_frozen/Target", {0});
  const Evaluated evaluated = Find(source);
  ASSERT_THAT(evaluated.Checks(), ElementsAre("untrained"));
  EXPECT_EQ(evaluated.findings[0].message,
            "the frozen layers of 'Net' are as every one begins: the frozen part of the model was "
            "never trained; load its weights");
}

TEST(UnusualSettingsTest, EvaluationsInTrainingModeAreFound) {
  FakeSource source;
  int64_t step = 0;
  for (const double mode : {0, 1, 0, 1, 1, 1}) {
    source.Step(step, Mode::kEval, step).Save("training_mode/Net", {mode});
    ++step;
  }
  const Evaluated evaluated = Find(source);
  EXPECT_THAT(evaluated.Steps(), ElementsAre(4, 5));
  EXPECT_THAT(evaluated.Checks(), ElementsAre("training_mode", "training_mode"));
}

TEST(UnusualSettingsTest, StatisticsThatHaveNotArrivedAreFound) {
  FakeSource source;
  int64_t step = 0;
  for (const double share : {0.5, 0.9, 0.4}) {
    source.Step(step, Mode::kEval, step).Save("initial_statistics/Net_bn", {share});
    ++step;
  }
  const Evaluated evaluated = Find(source);
  ASSERT_THAT(evaluated.Steps(), ElementsAre(1));
  EXPECT_EQ(evaluated.findings[0].message,
            "the running statistics of 'Net_bn' are still 90 % what they began as, and the model "
            "is evaluated with them");
}

// ---- warm-ups --------------------------------------------------------------------------------

using Schedule = std::function<double(int64_t step)>;

FakeSource Rates(int64_t count, const Schedule &rate) {
  FakeSource source;
  for (int64_t step = 0; step < count; ++step) {
    source.Step(step, Mode::kTrain, step);
    source.Save("learning_rate/AdamW_0", {rate(step)});
    source.Save("learning_rate/AdamW_1", {rate(step)});
  }
  return source;
}

double Linear(int64_t step) { return 1e-6 * static_cast<double>(step); }
double OneCycle(int64_t step) {
  return 4e-5 + 5e-4 * (1 - std::cos(M_PI * static_cast<double>(step / 10) / 100));
}

TEST(UnusualSettingsTest, AWarmUpThatTheTrainingEndsInIsFound) {
  for (const Schedule &schedule : {Schedule(Linear), Schedule(OneCycle)}) {
    FakeSource source = Rates(200, schedule);
    const Evaluated evaluated = Find(source);
    ASSERT_THAT(evaluated.Tensors(), ElementsAre("learning_rate/AdamW_0")) << "of each worker one";
    EXPECT_THAT(evaluated.Steps(), ElementsAre(199));
  }
  FakeSource source = Rates(200, Linear);
  source.Step(200, Mode::kEval, 0).Save("training_mode/Net", {0});
  EXPECT_THAT(Find(source).Steps(), ElementsAre(199)) << "the last update, not the last step";
  EXPECT_EQ(Find(source).findings[0].message,
            "'learning_rate/AdamW_0' rose until the training ended, after 200 updates: at 0.000199 "
            "its warm-up was not over");
}

TEST(UnusualSettingsTest, NotBeforeTheTrainingEnds) {
  FakeSource source = Rates(200, Linear);
  source.has_ended = false;
  EXPECT_THAT(Find(source).findings, IsEmpty());
  source.has_ended = true;
  EXPECT_THAT(Evaluate(kRule, {}, source, Profile::kAws, {.end = 150}).findings, IsEmpty());
}

TEST(UnusualSettingsTest, OtherSchedulesAreSpared) {
  const auto findings = [](int64_t count, const Schedule &schedule) {
    FakeSource source = Rates(count, schedule);
    return Find(source).findings;
  };
  EXPECT_THAT(findings(63, Linear), IsEmpty()) << "too short to tell";
  EXPECT_THAT(findings(200, [](int64_t) { return 0.1; }), IsEmpty());
  EXPECT_THAT(findings(200, [](int64_t step) { return Linear(std::min<int64_t>(step, 150)); }),
              IsEmpty())
      << "a warm-up that is over";
  EXPECT_THAT(findings(200, [](int64_t step) { return Linear(step % 100); }), IsEmpty())
      << "restarts";
  EXPECT_THAT(findings(200, [](int64_t step) { return step < 190 ? 0.1 : 0.3; }), IsEmpty());
  EXPECT_THAT(findings(200, [](int64_t step) { return 0.1 + Linear(step); }), IsEmpty())
      << "hardly a rise";
  const auto search = [](int64_t step) {
    return 1e-7 * std::pow(10, static_cast<double>(step) / 25);
  };
  EXPECT_THAT(findings(200, search), IsEmpty()) << "a search for a rate";
}

}  // namespace
}  // namespace smdebug::rules::unusual_settings_test
