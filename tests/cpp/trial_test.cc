// Reading: every query, what is thrown, values and their memory.
#include <thread>

#include "smdebug/cpp/sys/files.hpp"
#include "support.h"
#if __cplusplus >= 202002L
#include <span>
#endif

namespace smdebug {
namespace {

using ::testing::ElementsAre;

TEST(Trial, AnswersAboutSteps) {
  const Folder folder;
  RecordSteps(folder / "run", 3);
  Trial trial(folder / "run", TrialOptions().Set("name", "mine"));
  trial.Load();
  trial.Refresh();
  EXPECT_EQ(trial.Name(), "mine");
  EXPECT_EQ(trial.Path(), folder / "run");
  EXPECT_THAT(trial.Steps(), ElementsAre(0, 1, 2));
  EXPECT_THAT(trial.Steps(Mode::kEval, true), ElementsAre());
  EXPECT_THAT(trial.Modes(), ElementsAre(Mode::kTrain));
  EXPECT_EQ(trial.ModeStep(1), std::make_pair(int64_t{1}, Mode::kTrain));
  EXPECT_EQ(trial.ModeStep(7), std::make_pair(int64_t{-1}, Mode::kAny));
  EXPECT_EQ(trial.GlobalStep(2, Mode::kTrain), 2);
  EXPECT_EQ(trial.GlobalStep(2, Mode::kEval), -1);
  EXPECT_EQ(trial.StepState(2), StepState::kAvailable);
  EXPECT_EQ(trial.StepState(9, Mode::kTrain), StepState::kUnavailable);
  trial.WaitForStep(2, Mode::kTrain, std::chrono::seconds(10));
  EXPECT_TRUE(trial.HasEnded());
  EXPECT_EQ(trial.LastCompleteStep(), 2);
  EXPECT_TRUE(trial.SetAutoRefresh(false));
  EXPECT_FALSE(trial.SetAutoRefresh(true));
}

TEST(Tensor, ReadsManyStepsInOneCall) {
  const Folder folder;
  RecordSteps(folder / "run", 3);
  const Tensor tensor = Trial::Open(folder / "run").Tensor("w");
  const Values values = tensor.Values();
  ASSERT_EQ(values.Count(), 3U);
  EXPECT_EQ(values.Step(2), 2);
  EXPECT_EQ(values.Step(3), -1);
  EXPECT_EQ(values.Run(0), 3U);
  EXPECT_EQ(values.Value(1).ToVector<float>(), tensor.Value(1).ToVector<float>());
  EXPECT_EQ(CodeOf([&] { values.Value(3); }), SMD_INVALID_ARGUMENT);
  EXPECT_EQ(tensor.Values(1, 2).Count(), 1U);
  EXPECT_EQ(tensor.Values(0, 9, Mode::kEval).Count(), 0U);
  const Values sums = tensor.ReductionValues("sum");
  EXPECT_EQ(sums.Value(2).ToDouble(), tensor.Reduction(2, "sum").ToDouble());
  EXPECT_EQ(CodeOf([&] { tensor.Values(0, 1, Mode::kGlobal, "nobody").Value(0); }),
            SMD_WORKER_UNKNOWN);
}

TEST(Trial, AnswersAboutNames) {
  const Folder folder;
  RecordSteps(folder / "run", 2);
  const Trial trial = Trial::Open(folder / "run");
  EXPECT_THAT(trial.Workers(), ElementsAre("worker_0"));
  EXPECT_THAT(trial.Collections(), ::testing::Contains("all"));
  EXPECT_THAT(trial.TensorNames(), ElementsAre("loss", "w"));
  EXPECT_THAT(trial.RecordedNames(0), ElementsAre("w", "loss"));
  Trial::Names wanted;
  wanted.regexes = {"^l", "nothing"};
  EXPECT_THAT(trial.TensorNames(wanted), ElementsAre("loss"));
  wanted.regexes = {"("};
  EXPECT_EQ(CodeOf([&] { trial.TensorNames(wanted); }), SMD_INVALID_CONFIG);
  EXPECT_EQ(CodeOf([&] { trial.Collection("none"); }), SMD_NOT_FOUND);
  const Collection losses = trial.Collection("losses");
  wanted.regexes.clear();
  wanted.collection = &losses;
  wanted.step = 1;
  wanted.mode = Mode::kTrain;
  EXPECT_THAT(trial.TensorNames(wanted), ElementsAre("loss"));
}

TEST(Trial, AnswersAboutATensor) {
  const Folder folder;
  RecordSteps(folder / "run", 3);
  const Trial trial = Trial::Open(folder / "run");
  trial.Prefetch({"w"}, {0, 1});
  const Tensor tensor = trial.Tensor("w");
  EXPECT_EQ(tensor.Name(), "w");
  EXPECT_EQ(tensor.OriginalName(), "");
  EXPECT_THAT(tensor.Steps(), ElementsAre(0, 1, 2));
  EXPECT_THAT(tensor.PrevSteps(1, Mode::kGlobal, 1), ElementsAre(1));
  EXPECT_THAT(tensor.Workers(1), ElementsAre("worker_0"));
  EXPECT_THAT(tensor.Shape(1), ElementsAre(2, 3));
  EXPECT_THAT(tensor.Reductions(1), ElementsAre());
  EXPECT_EQ(tensor.Reduction(2, "l1", true, Mode::kTrain, "worker_0").ToDouble(), 12);
}

TEST(Trial, ThrowsTheClassOfTheCode) {
  const Folder folder;
  RecordSteps(folder / "run", 2);
  const Trial trial = Trial::Open(folder / "run");
  EXPECT_EQ(CodeOf<TensorUnavailable>([&] { trial.Tensor("v"); }), SMD_TENSOR_UNAVAILABLE);
  EXPECT_EQ(CodeOf<StepUnavailable>([&] { trial.Tensor("w").Value(9); }), SMD_STEP_UNAVAILABLE);
  EXPECT_EQ(CodeOf([&] { trial.Tensor("w").Value(0, Mode::kTrain, "nobody"); }),
            SMD_WORKER_UNKNOWN);
  try {
    trial.WaitForStep(9);
    FAIL();
  } catch (const NoMoreData &error) {
    EXPECT_EQ(error.Detail("last_step"), "1");
    const Error copy = error;  // exceptions are copied
    EXPECT_EQ(copy.Detail("last_step"), "1");
  }
  EXPECT_EQ(CodeOf([&] { Trial::Open(folder / "none", TrialOptions().Set("wait_seconds", "0")); }),
            SMD_MISSING_COLLECTIONS);
}

TEST(Trial, StepsThatMayComeAreAwaited) {
  const Folder folder;
  Hook hook(EveryStep(folder / "run"));
  hook.ExportCollections();
  const Trial trial = Trial::Open(folder / "run");
  EXPECT_EQ(CodeOf([&] { trial.WaitForStep(0, Mode::kGlobal, std::chrono::milliseconds(5)); }),
            SMD_TIMEOUT);
  std::thread waiting([&] { trial.WaitForStep(1); });
  for (int i = 0; i < 2; ++i) {
    const StepGuard step = hook.Step();
    hook.Save("loss", i);
  }
  waiting.join();
  const Tensor loss = trial.Tensor("loss");
  EXPECT_EQ(CodeOf<StepNotYet>([&] { loss.Value(5); }), SMD_STEP_NOT_YET);
  std::thread cancelled([&] { EXPECT_EQ(CodeOf([&] { trial.WaitForStep(9); }), SMD_CANCELLED); });
  trial.Cancel();
  cancelled.join();
}

TEST(Tensor, OutlivesItsTrial) {
  const Folder folder;
  RecordSteps(folder / "run", 2);
  const Tensor tensor = Trial::Open(folder / "run").Tensor("w");
  EXPECT_THAT(tensor.Steps(), ElementsAre(0, 1));
  EXPECT_EQ(tensor.Reduction(1, "max").ToDouble(), 1);
}

TEST(Value, IsAViewOfItsElements) {
  const Folder folder;
  RecordSteps(folder / "run", 2);
  const Value value = Trial::Open(folder / "run").Tensor("w").Value(1);  // outlives both
  const Elements<float> elements = value.As<float>();
  EXPECT_EQ(static_cast<const void *>(elements.data()), value.Data());
  EXPECT_THAT(elements, ElementsAre(1, 1, 1, 1, 1, 1));
  EXPECT_EQ(elements.size(), 6U);
  EXPECT_FALSE(elements.empty());
  EXPECT_EQ(CodeOf([&] { value.As<double>(); }), SMD_UNSUPPORTED);
  EXPECT_EQ(CodeOf([&] { value.Strings(); }), SMD_UNSUPPORTED);
  EXPECT_EQ(CodeOf([&] { value.ToDouble(); }), SMD_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf([&] { value.Reduce("middle"); }), SMD_INVALID_ARGUMENT);
  const Value shared = value.Share();
  EXPECT_EQ(shared.Data(), value.Data());
#if __cplusplus >= 202002L
  const std::span<const float> span = elements;
  EXPECT_EQ(span.size(), 6U);
#endif
}

TEST(Value, ManyThreadsReadOneTrial) {
  const Folder folder;
  RecordSteps(folder / "run", 10);
  const Trial trial = Trial::Open(folder / "run");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int64_t step = 0; step < 10; ++step) {
        const Value value = trial.Tensor("w").Value(step);
        EXPECT_EQ(value.As<float>()[5], static_cast<float>(step));
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
}

TEST(Store, SaysWhatWorks) {
  const Folder folder;
  const std::vector<StoreFinding> good = CheckStore(folder / "new");
  ASSERT_FALSE(good.empty());
  for (const StoreFinding &finding : good) EXPECT_EQ(finding.code, SMD_OK) << finding.message;
  const HookOptions options;
  const std::vector<StoreFinding> bad = CheckStore("/proc/none", &options);
  ASSERT_FALSE(bad.empty());
  EXPECT_NE(bad.back().code, SMD_OK);
  EXPECT_NE(bad.back().name, "");
  EXPECT_NE(bad.back().message, "");
}

TEST(Files, AreWrittenAndReadOneAtATime) {
  const Folder folder;
  StepFile file(folder / "run", 3, "worker_0");
  file.AddTensor("w", std::vector<float>{1, 2}, 1, Mode::kTrain, 1.6e9);
  file.AddShape("v", {4, 3}, 1, Mode::kTrain, "original");
  file.Close();
  EventFile events(file.Path());
  ASSERT_TRUE(events.Next());
  EXPECT_EQ(events.Tensor(), "w");
  EXPECT_EQ(events.Step(), 3);
  EXPECT_EQ(events.Mode(), Mode::kTrain);
  EXPECT_EQ(events.ModeStep(), 1);
  EXPECT_EQ(events.Timestamp(), 1.6e9);
  EXPECT_EQ(events.Value().ToVector<float>(), (std::vector<float>{1, 2}));
  EXPECT_FALSE(events.Next());
  EXPECT_EQ(CodeOf([&] { EventFile none(folder / "none.tfevents"); }), SMD_NOT_FOUND);
  const Collection mine("mine");
  EXPECT_NE(CollectionsToJson({&mine}, 2).find("\"num_workers\""), std::string::npos);
  EXPECT_EQ(CodeOf([] { CollectionsToJson({nullptr}, 1); }), SMD_INVALID_ARGUMENT);
}

TEST(Version, Suits) {
  RequireAbi();
  EXPECT_EQ(Version().substr(0, 2), "1.");
  EXPECT_TRUE(HasFeature("local"));
  EXPECT_FALSE(HasFeature("teleport"));
  EXPECT_STREQ(ModeName(Mode::kPredict), "PREDICT");
}

}  // namespace
}  // namespace smdebug
