#include "record/hook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "record/hook_fixture.h"

namespace smdebug::record::hook_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class HookTest : public HookFixture {};

// ---- steps and modes ---------------------------------------------------------------------

TEST_F(HookTest, CountsAllStepsAndThoseOfEachMode) {
  EXPECT_EQ(TheHook().LastStep(Mode::kGlobal), -1);
  EXPECT_EQ(TheHook().GetMode(), Mode::kGlobal);
  Step(Mode::kTrain);
  Step(Mode::kTrain);
  Step(Mode::kEval);
  Step(Mode::kTrain);
  EXPECT_EQ(TheHook().LastStep(Mode::kGlobal), 3);
  EXPECT_EQ(TheHook().LastStep(Mode::kTrain), 2);
  EXPECT_EQ(TheHook().LastStep(Mode::kEval), 0);
  EXPECT_EQ(TheHook().LastStep(Mode::kPredict), -1);
  Flush();
  EXPECT_EQ(At(2).index.mode, Mode::kEval);
  EXPECT_EQ(At(2).index.mode_step, 0);
  EXPECT_EQ(At(3).index.mode, Mode::kTrain);
  EXPECT_EQ(At(3).index.mode_step, 2);
}

TEST_F(HookTest, AGlobalStepIsNumberedAsItself) {
  Step(Mode::kTrain);
  Step(Mode::kGlobal);
  Flush();
  EXPECT_EQ(At(1).index.mode, Mode::kGlobal);
  EXPECT_EQ(At(1).index.mode_step, 1);
}

TEST_F(HookTest, AnOpenStepKeepsItsMode) {
  Expect(TheHook().SetMode(Mode::kTrain));
  Begin();
  Expect(TheHook().SetMode(Mode::kEval));
  Save("loss", Floats({1}));
  End();
  Flush();
  EXPECT_EQ(At(0).index.mode, Mode::kTrain);
  EXPECT_EQ(Begin(), 1);
  EXPECT_EQ(TheHook().LastStep(Mode::kEval), 0);
}

TEST_F(HookTest, AStepIsBegunOnceAndEndedOnce) {
  EXPECT_EQ(TheHook().EndStep().GetCode(), Code::kWrongState);
  Begin();
  const Status status = TheHook().BeginStep().GetStatus();
  EXPECT_EQ(status.GetCode(), Code::kWrongState);
  EXPECT_THAT(status.Message(), HasSubstr("step 0 is open"));
  EXPECT_EQ(TheHook().LastStep(Mode::kGlobal), 0);
  End();
  EXPECT_EQ(TheHook().EndStep().GetCode(), Code::kWrongState);
}

TEST_F(HookTest, NothingIsSavedOutsideOfAStep) {
  const Floats tensor({1});
  EXPECT_EQ(TheHook().Save("loss", tensor).GetCode(), Code::kWrongState);
  EXPECT_FALSE(TheHook().Wants("loss"));
  Step();
  EXPECT_EQ(TheHook().Save("loss", tensor).GetCode(), Code::kWrongState);
  EXPECT_FALSE(TheHook().Wants("loss"));
}

// ---- what is saved -----------------------------------------------------------------------

TEST_F(HookTest, LossesAreSavedWhateverIsIncluded) {
  Begin();
  EXPECT_TRUE(TheHook().Wants("CrossEntropyLoss_output_0"));
  EXPECT_FALSE(TheHook().Wants("conv.weight"));
  Save("CrossEntropyLoss_output_0", Floats({0.25F}));
  Save("conv.weight", Floats({1}));
  End();
  Flush();
  EXPECT_THAT(At(0).names, ElementsAre("CrossEntropyLoss_output_0"));
  EXPECT_THAT(At(0).floats.at("CrossEntropyLoss_output_0"), ElementsAre(0.25F));
}

TEST_F(HookTest, ACollectionIsAddedToAStepThatWouldNotSaveIt) {
  options_.include_collections = {"weights"};
  SaveEvery(2);
  EXPECT_EQ(TheHook().AddToStep({"losses"}).GetCode(), Code::kWrongState);
  Step(Mode::kTrain);
  Begin();
  Expect(TheHook().AddToStep({"biases"}));
  EXPECT_FALSE(TheHook().SavesStep()) << "it is not included";
  Expect(TheHook().AddToStep({"losses"}));
  EXPECT_TRUE(TheHook().SavesStep());
  EXPECT_TRUE(TheHook().Wants("loss"));
  EXPECT_FALSE(TheHook().Wants("conv.weight"));
  Save("loss", Floats({0.25F}));
  End();
  Flush();
  EXPECT_EQ(At(1).index.mode_step, 1);
  EXPECT_THAT(At(1).floats.at("loss"), ElementsAre(0.25F));
  Begin();
  Expect(TheHook().AddToStep({"losses"}));
  EXPECT_TRUE(TheHook().Wants("conv.weight")) << "what the step saves anyway, it still does";
  End();
  Begin();
  EXPECT_FALSE(TheHook().Wants("loss")) << "it counts for one step";
}

TEST_F(HookTest, IncludedCollectionsAreSaved) {
  options_.include_collections = {"weights"};
  Begin();
  EXPECT_TRUE(TheHook().Wants("conv.weight"));
  EXPECT_FALSE(TheHook().Wants("conv.bias"));
}

TEST_F(HookTest, AnIncludedExpressionGoesToTheDefaultCollection) {
  options_.include_regexes = {"^relu"};
  Begin();
  EXPECT_TRUE(TheHook().Wants("relu_1"));
  EXPECT_FALSE(TheHook().Wants("not relu"));
  EXPECT_THAT(TheHook().Collections().Find("default")->Tensors(), testing::IsEmpty());
  Save("relu_1", Floats({1}));
  EXPECT_THAT(TheHook().Collections().Find("default")->Tensors(), ElementsAre("relu_1"));
}

TEST_F(HookTest, SaveAllSavesEveryTensor) {
  options_.saves_all = true;
  Begin();
  EXPECT_TRUE(TheHook().Wants("whatever this is"));
}

TEST_F(HookTest, StepsInBetweenAreNotSaved) {
  SaveEvery(3);
  for (int step = 0; step < 7; ++step) {
    Begin();
    EXPECT_EQ(TheHook().Wants("loss"), step % 3 == 0) << step;
    Save("loss", Floats({1}));
    End();
  }
  Flush();
  EXPECT_TRUE(At(0).exists && At(3).exists && At(6).exists);
  EXPECT_FALSE(At(1).exists || At(2).exists || At(4).exists || At(5).exists);
}

TEST_F(HookTest, EachRecordSaysWhenAndAtWhichStep) {
  const double now = clock_.WallSeconds();
  Step(Mode::kEval);
  Flush();
  const format::EventContext context = At(0).contexts.at("loss");
  EXPECT_EQ(context.step, 0);
  EXPECT_EQ(context.mode, Mode::kEval);
  EXPECT_EQ(context.mode_step, 0);
  EXPECT_EQ(context.wall_time, now);
}

TEST_F(HookTest, OfANameSavedTwiceTheLastCounts) {
  Begin();
  Save("loss", Floats({1}));
  Save("loss", Floats({2}));
  End();
  Flush();
  const RecordedStep step = At(0);
  EXPECT_THAT(step.names, ElementsAre("loss", "loss"));
  EXPECT_THAT(step.floats.at("loss"), ElementsAre(2)) << "the index lists it last";
}

TEST_F(HookTest, ShapesAreSavedBesideOrInsteadOfValues) {
  config::ReductionConfig shapes;
  shapes.SetSavesShape(true);
  options_.reduction_config = shapes;
  options_.include_regexes = {"^w"};
  Begin();
  Save("w", Floats({2, 1}, {1, 2}));
  End();
  Flush();
  const RecordedStep step = At(0);
  EXPECT_THAT(step.names, IsEmpty());
  EXPECT_EQ(step.index.event_file_name, "");
  ASSERT_EQ(step.index.shapes.size(), 1U);
  EXPECT_EQ(step.index.shapes[0].name, "w");
  EXPECT_EQ(step.index.shapes[0].original_name, "w");
  EXPECT_THAT(step.index.shapes[0].shape, ElementsAre(2, 1));
}

TEST_F(HookTest, ReductionsAreSavedUnderTheNamesOfTheOriginal) {
  config::ReductionConfig reductions;
  ASSERT_TRUE(reductions.AddList("abs_mean,max").IsOk());
  options_.reduction_config = reductions;
  options_.include_regexes = {"^w"};
  Begin();
  Save("w:0", Floats({-3, 1}));
  End();
  Flush();
  const RecordedStep step = At(0);
  EXPECT_THAT(step.names, ElementsAre("smdebug/reductions/max/w", "smdebug/reductions/abs_mean/w"));
  EXPECT_THAT(step.floats.at("smdebug/reductions/max/w"), ElementsAre(1));
  EXPECT_THAT(step.floats.at("smdebug/reductions/abs_mean/w"), ElementsAre(2));
}

TEST_F(HookTest, ReductionsMayKeepTheOutputNumbersOfTensorFlow) {
  options_.keeps_output_numbers = true;
  options_.reduction_config = config::ReductionConfig();
  options_.reduction_config.Add({tensor::ReductionKind::kMax, false});
  options_.include_regexes = {"^w"};
  Begin();
  Save("w:0", Floats({-3, 1}));
  End();
  Flush();
  EXPECT_THAT(At(0).names, ElementsAre("smdebug/reductions/max/w:0"));
}

TEST_F(HookTest, AReductionThatCannotBeComputedIsSkipped) {
  config::ReductionConfig reductions;
  ASSERT_TRUE(reductions.AddList("min,sum").IsOk());
  options_.reduction_config = reductions;
  options_.include_regexes = {"^w"};
  Begin();
  Save("w", Floats({0}, {}));
  End();
  Flush();
  EXPECT_THAT(At(0).names, ElementsAre("smdebug/reductions/sum/w"));
  EXPECT_THAT(Log(), testing::Contains(HasSubstr("'w': min is not saved")));
}

// The original's reader knows no uint64.
TEST_F(HookTest, UnsignedTotalsAreSavedAsDoubles) {
  config::ReductionConfig reductions;
  ASSERT_TRUE(reductions.AddList("sum").IsOk());
  options_.reduction_config = reductions;
  options_.include_regexes = {"^w"};
  Begin();
  const std::array<uint8_t, 2> numbers = {200, 100};
  const std::array<int64_t, 1> shape = {2};
  Save("w", {numbers.data(), shape, {}, tensor::DType::kUInt8});
  End();
  Flush();
  const RecordedStep step = At(0);
  const format::TensorLocation &record = step.index.tensors[0];
  const std::string events = store_->Files().at(step.index.event_file_name);
  const std::string bytes = events.substr(record.start, record.length);
  const auto event = format::ParseRecord({AsBytes(bytes), {}, {}});
  ASSERT_TRUE(event.IsOk() && *event);
  EXPECT_EQ((*event)->dtype, tensor::DType::kFloat64);
  double sum = 0;
  std::memcpy(&sum, (*event)->content.data(), sizeof sum);
  EXPECT_EQ(sum, 300);
  EXPECT_THAT((*event)->shape, ElementsAre(1));
}

TEST_F(HookTest, BorrowedMemoryIsReleasedExactlyOnce) {
  options_.include_regexes = {"^w"};
  const Floats large = Floats::Counting(100'000);
  int released = 0;
  const auto lend = [&] {
    return std::shared_ptr<const void>(&released, [&](const void *) { ++released; });
  };
  Expect(TheHook().SetMode(Mode::kTrain));
  EXPECT_EQ(TheHook().Save("w", large, lend()).GetCode(), Code::kWrongState);
  EXPECT_EQ(released, 1);
  Begin();
  Expect(TheHook().Save("nobody wants this", large, lend()));
  EXPECT_EQ(released, 2);
  Expect(TheHook().Save("w", large, lend()));
  End();
  Flush();
  EXPECT_EQ(released, 3);
  EXPECT_EQ(At(0).floats.at("w"), large.Numbers());
}

// ---- scalars and tensors saved by hand ---------------------------------------------------

TEST_F(HookTest, ScalarsWaitForAStepThatIsSaved) {
  SaveEvery(2);
  Expect(TheHook().SaveScalar("before", Floats({1}), 100.5));
  Step();
  Expect(TheHook().SaveScalar("between", Floats({2}), 200.5));
  Step();
  Expect(TheHook().SaveScalar("later", Floats({3}), 0));
  Step();
  Flush();
  EXPECT_THAT(At(0).names, ElementsAre("loss", "scalar/before"));
  EXPECT_EQ(At(0).contexts.at("scalar/before").wall_time, 100.5);
  EXPECT_THAT(At(2).names, ElementsAre("loss", "scalar/between", "scalar/later"));
  EXPECT_EQ(At(2).contexts.at("scalar/between").wall_time, 200.5) << "its own time";
  EXPECT_EQ(At(2).contexts.at("scalar/between").mode_step, 2) << "the step's number";
  EXPECT_EQ(At(2).contexts.at("scalar/later").wall_time, clock_.WallSeconds());
}

TEST_F(HookTest, AScalarHasOneElement) {
  EXPECT_EQ(TheHook().SaveScalar("x", Floats({1, 2}), 0).GetCode(), Code::kInvalidArgument);
  EXPECT_EQ(TheHook().SaveScalar("x", Floats({0}, {}), 0).GetCode(), Code::kInvalidArgument);
}

TEST_F(HookTest, WhatIsLeftGoesIntoTheLastStepIfThatWasNotSaved) {
  SaveEvery(2);
  Step(Mode::kTrain);
  Step(Mode::kTrain);
  Expect(TheHook().SetMode(Mode::kEval));
  Expect(TheHook().SaveScalar("x", Floats({1}), 0));
  Close();
  EXPECT_THAT(At(1).names, ElementsAre("scalar/x"));
  EXPECT_EQ(At(1).index.mode, Mode::kTrain);
  EXPECT_EQ(At(1).index.mode_step, 1);
}

TEST_F(HookTest, WhatIsLeftGoesIntoAStepOfItsOwnIfTheLastWasSaved) {
  Step(Mode::kTrain);
  Expect(TheHook().SaveScalar("x", Floats({1}), 0));
  Close();
  EXPECT_THAT(At(0).names, ElementsAre("loss"));
  EXPECT_THAT(At(1).names, ElementsAre("scalar/x"));
  EXPECT_EQ(At(1).index.mode, Mode::kTrain);
  EXPECT_EQ(At(1).index.mode_step, 1);
}

TEST_F(HookTest, WhatIsLeftOfAJobWithoutStepsIsItsFirst) {
  Expect(TheHook().SaveScalar("x", Floats({1}), 0));
  Expect(TheHook().SaveCustom("y", Floats({2}), {}));
  Close();
  EXPECT_THAT(At(0).names, ElementsAre("y", "scalar/x"));
  EXPECT_EQ(At(0).index.mode, Mode::kGlobal);
  EXPECT_EQ(At(0).index.mode_step, 0);
}

TEST_F(HookTest, ACustomTensorIsCopiedAndJoinsItsCollections) {
  std::vector<float> numbers = {1, 2};
  const std::array<int64_t, 1> shape = {2};
  const tensor::View view{numbers.data(), shape, {}, tensor::DType::kFloat32};
  Expect(TheHook().SaveCustom("mine", view, {"first", "second"}));
  Expect(TheHook().SaveCustom("other", view, {}));
  numbers = {0, 0};
  Step();
  Flush();
  EXPECT_THAT(At(0).names, UnorderedElementsAre("loss", "mine", "other"));
  EXPECT_THAT(At(0).floats.at("mine"), ElementsAre(1, 2));
  for (const char *name : {"first", "second"}) {
    EXPECT_THAT(TheHook().Collections().Find(name)->Tensors(), ElementsAre("mine"));
  }
  EXPECT_THAT(TheHook().Collections().Find("default")->Tensors(), ElementsAre("other"));
  Step();
  Flush();
  EXPECT_THAT(At(1).names, ElementsAre("loss")) << "once";
}

TEST_F(HookTest, ACustomTensorNeedsACollectionThatSavesRawOnes) {
  TheHook().Collections().GetOrCreate("reduced")->SetReductionConfig(config::ReductionConfig());
  Expect(TheHook().SaveCustom("x", Floats({1}), {"reduced"}));
  Expect(TheHook().SaveCustom("y", Floats({1}), {"reduced", "default"}));
  ASSERT_TRUE(TheHook().Collections().Find("reduced")->Include("^$").IsOk());
  Step();
  Flush();
  EXPECT_THAT(At(0).names, UnorderedElementsAre("loss", "y"));
}

TEST_F(HookTest, ATextThatIsNullIsRefused) {
  const std::array<const char *, 1> texts = {nullptr};
  const std::array<int64_t, 1> shape = {1};
  const tensor::View view{texts.data(), shape, {}, tensor::DType::kString};
  Begin();
  EXPECT_EQ(TheHook().Save("loss", view).GetCode(), Code::kInvalidArgument);
  EXPECT_EQ(TheHook().SaveCustom("x", view, {}).GetCode(), Code::kInvalidArgument);
  EXPECT_EQ(TheHook().SaveScalar("x", view, 0).GetCode(), Code::kInvalidArgument);
  Save("loss", Floats({1}));
  End();
  Flush();
  EXPECT_THAT(At(0).names, ElementsAre("loss"));
}

// ---- TensorBoard -------------------------------------------------------------------------

class TensorboardHookTest : public HookTest {
 protected:
  TensorboardHookTest() {
    options_.tensorboard_store = board_;
    options_.include_collections = {"weights", "gradients"};
  }
  // The text of the only file of a step.
  std::string Shown(const std::string &beginning) const {
    std::string text;
    for (const auto &[name, file] : board_->Files()) {
      if (!name.starts_with(beginning)) continue;
      EXPECT_EQ(text, "") << name;
      EXPECT_TRUE(name.ends_with(".tfevents")) << name;
      text = file;
    }
    return text;
  }

  std::shared_ptr<storage::MemoryStore> board_ = std::make_shared<storage::MemoryStore>();
};

TEST_F(TensorboardHookTest, ShowsLossesScalarsAndHistograms) {
  Expect(TheHook().SetMode(Mode::kTrain));
  Begin();
  Save("loss", Floats({0.5F}));
  Save("net.weight", Floats({1, 2, 3}));
  Expect(TheHook().SaveScalar("rate", Floats({0.1F}), 0));
  End();
  Flush();
  const std::string shown = Shown("TRAIN/000000000000_");
  for (const char *part : {"brain.Event:2", "loss", "weights/net.weight", "scalar/rate"}) {
    EXPECT_THAT(shown, HasSubstr(part));
  }
  EXPECT_THAT(shown, Not(HasSubstr("losses/loss")));
}

TEST_F(TensorboardHookTest, AStepThatSavesNothingShowsNothing) {
  SaveEvery(2);
  Step();
  Step();
  Flush();
  EXPECT_THAT(board_->Files(), SizeIs(1));
}

TEST_F(TensorboardHookTest, ReductionsAloneShowTheWholeTensorsHistogram) {
  options_.reduction_config = config::ReductionConfig();
  options_.reduction_config.Add({tensor::ReductionKind::kMean, false});
  Begin();
  Save("net.weight", Floats({1, 2, 3}));
  End();
  Flush();
  EXPECT_THAT(Shown("GLOBAL/"), HasSubstr("weights/net.weight"));
}

TEST_F(TensorboardHookTest, AFolderThatCannotBeWrittenCostsNoStep) {
  board_->SetFault([](storage::MemoryStore::Call, const std::string &) {
    return Status(Code::kNoSpace, "full");
  });
  Step();
  Flush();
  EXPECT_THAT(At(0).names, ElementsAre("loss"));
  Close();
}

}  // namespace
}  // namespace smdebug::record::hook_test
