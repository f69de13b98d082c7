// What a trial says of the files that are there; how it waits is in trial_live_test.cc.
#include "analyze/trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "analyze/trial_fixture.h"

namespace smdebug::analyze::trial_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class TrialTest : public TrialFixture {
 protected:
  TrialTest() { PutCollections(*store_); }

  std::vector<std::string> Names(const NameQuery &query = {}) {
    return Take(TheTrial().TensorNames(query));
  }
  static NameQuery At(int64_t step, Mode mode = Mode::kGlobal) {
    NameQuery query;
    query.step = step;
    query.mode = mode;
    return query;
  }
  static NameQuery Matching(std::vector<std::string> regexes) {
    NameQuery query;
    query.regexes = std::move(regexes);
    return query;
  }
  NameQuery In(std::string_view collection) {
    NameQuery query;
    query.collection = Take(TheTrial().Collection(collection));
    return query;
  }
};

// ---- making ------------------------------------------------------------------------------

TEST_F(TrialTest, IsCalledAsItsFolderUnlessItIsNamed) {
  EXPECT_EQ(TheTrial().Name(), "my_trial");
  EXPECT_EQ(TheTrial().Path(), "/runs/my_trial/");
  options_.name = "other";
  EXPECT_EQ((*Trial::Make(" /runs/x ", options_))->Name(), "other");
  EXPECT_EQ((*Trial::Make(" /runs/x ", options_))->Path(), "/runs/x");
}

TEST_F(TrialTest, MakingReadsNothing) {
  store_->SetFault([](Call, const std::string &) { return Status(Code::kIo, "read"); });
  EXPECT_TRUE(Trial::Make("x", options_).IsOk());
  EXPECT_EQ(TheTrial().Load().GetCode(), Code::kIo);
}

TEST_F(TrialTest, ARangeThatHoldsNothingIsRefused) {
  options_.range = {5, 5};
  EXPECT_EQ(Trial::Make("x", options_).GetStatus().GetCode(), Code::kInvalidConfig);
}

TEST_F(TrialTest, APathItCannotReadIsRefused) {
  options_.store = nullptr;
  EXPECT_EQ(Trial::Make("", options_).GetStatus().GetCode(), Code::kInvalidArgument);
  EXPECT_EQ(Trial::Make("gs://b/x", options_).GetStatus().GetCode(), Code::kUnsupported);
}

TEST_F(TrialTest, IsLoadedOnce) {
  Expect(TheTrial().Load());
  store_->SetFault([](Call, const std::string &) { return Status(Code::kIo, "read again"); });
  Expect(TheTrial().Load());
}

// ---- steps and modes ---------------------------------------------------------------------

TEST_F(TrialTest, KnowsTheStepsOfEveryMode) {
  PutStep(0, Mode::kTrain, 0);
  PutStep(1, Mode::kEval, 0);
  PutStep(5, Mode::kTrain, 4);
  EXPECT_THAT(Steps(), ElementsAre(0, 1, 5));
  EXPECT_THAT(Steps(Mode::kTrain), ElementsAre(0, 4));
  EXPECT_THAT(Steps(Mode::kEval), ElementsAre(0));
  EXPECT_THAT(Steps(Mode::kPredict), IsEmpty());
  EXPECT_THAT(Take(TheTrial().Modes()), ElementsAre(Mode::kTrain, Mode::kEval));
  EXPECT_EQ(Take(TheTrial().GlobalStepOf(Mode::kTrain, 4)), 5);
  EXPECT_FALSE(Take(TheTrial().GlobalStepOf(Mode::kTrain, 5)));
  EXPECT_EQ(Take(TheTrial().ModeStepOf(5))->step, 4);
  EXPECT_FALSE(Take(TheTrial().ModeStepOf(4)));
  EXPECT_EQ(TheTrial().LastCompleteStep(), 5);
  EXPECT_FALSE(TheTrial().HasEnded());
}

TEST_F(TrialTest, SaysWhatAStepsStateIs) {
  PutStep(0);
  PutStep(10);
  EXPECT_EQ(*TheTrial().StateOf(10, Mode::kGlobal), StepState::kAvailable);
  EXPECT_EQ(*TheTrial().StateOf(5, Mode::kGlobal), StepState::kUnavailable);
  EXPECT_EQ(*TheTrial().StateOf(11, Mode::kGlobal), StepState::kNotYet);
  EXPECT_EQ(*TheTrial().StateOf(0, Mode::kEval), StepState::kNotYet);
}

TEST_F(TrialTest, OnlyStepsInRangeAreThere) {
  options_.range = {5, 10};
  for (const int64_t step : {0, 4, 5, 9, 10}) PutStep(step);
  EXPECT_THAT(Steps(), ElementsAre(5, 9));
}

TEST_F(TrialTest, WorkersAreThoseOfTheCollectionsFiles) {
  PutCollections(*store_, 2, "worker_0");
  PutCollections(*store_, 2, "worker_1");
  PutStep(0, "worker_0");
  PutStep(0, "worker_1");
  PutStep(1, "worker_1");
  EXPECT_THAT(Take(TheTrial().Workers()), ElementsAre("worker_0", "worker_1"));
  EXPECT_THAT(Steps(), ElementsAre(0));
  EXPECT_THAT(Steps(Mode::kGlobal, true), ElementsAre(0, 1));
}

// ---- names -------------------------------------------------------------------------------

TEST_F(TrialTest, NamesAreSortedAndThoseOfTensorsNotOfReductions) {
  StepFiles(0).Add("b", {1}).Add("smdebug/reductions/min/w", {1}).AddShape("s", {2}).Put(*store_);
  StepFiles(1).Add("a", {1}).Put(*store_);
  EXPECT_THAT(Names(), ElementsAre("a", "b", "s", "w"));
}

TEST_F(TrialTest, NamesOfAStepAreThoseSavedAtIt) {
  StepFiles(0, Mode::kTrain, 0).Add("a", {1}).Add("b", {1}).Put(*store_);
  StepFiles(1, Mode::kEval, 0).Add("c", {1}).Put(*store_);
  StepFiles(2, Mode::kTrain, 1).Add("a", {1}).Put(*store_);
  EXPECT_THAT(Names(At(0)), ElementsAre("a", "b"));
  EXPECT_THAT(Names(At(1)), ElementsAre("c"));
  EXPECT_THAT(Names(At(2)), ElementsAre("a"));
  EXPECT_THAT(Names(At(1, Mode::kTrain)), ElementsAre("a")) << "the mode's own number";
  EXPECT_THAT(Names(At(0, Mode::kEval)), ElementsAre("c"));
  EXPECT_THAT(Names(At(7)), IsEmpty());
  EXPECT_THAT(Names(At(7, Mode::kEval)), IsEmpty());
}

TEST_F(TrialTest, NamesOfAModeAreThoseSavedInIt) {
  StepFiles(0, Mode::kTrain, 0).Add("a", {1}).Put(*store_);
  StepFiles(1, Mode::kEval, 0).Add("a", {1}).Add("b", {1}).Put(*store_);
  NameQuery query;
  query.mode = Mode::kTrain;
  EXPECT_THAT(Names(query), ElementsAre("a"));
  query.mode = Mode::kPredict;
  EXPECT_THAT(Names(query), IsEmpty()) << "a mode never seen has none";
}

TEST_F(TrialTest, NamesAreSearchedAsPythonDoes) {
  StepFiles(0).Add("conv1.weight", {1}).Add("conv1.bias", {1}).Add("fc.weight", {1}).Put(*store_);
  EXPECT_THAT(Names(Matching({"weight$"})), ElementsAre("conv1.weight", "fc.weight"));
  EXPECT_THAT(Names(Matching({"bias", "^fc"})), ElementsAre("conv1.bias", "fc.weight"));
  EXPECT_THAT(Names(Matching({"^weight"})), IsEmpty());
  EXPECT_EQ(TheTrial().TensorNames(Matching({"("})).GetStatus().GetCode(), Code::kInvalidConfig);
}

TEST_F(TrialTest, NamesOfACollectionAreItsOwnAndWhatItsExpressionsMatch) {
  StepFiles(0).Add("a", {1}).Add("gradient/a", {1}).Add("b", {1}).Put(*store_);
  EXPECT_THAT(Names(In("default")), ElementsAre("a"));
  EXPECT_THAT(Names(In("gradients")), ElementsAre("gradient/a"));
  EXPECT_EQ(TheTrial().Collection("unknown").GetStatus().GetCode(), Code::kNotFound);
  NameQuery both = In("gradients");
  both.regexes = {"a"};
  EXPECT_EQ(TheTrial().TensorNames(both).GetStatus().GetCode(), Code::kInvalidArgument);
  NameQuery narrowed = In("gradients");
  narrowed.step = 1;
  EXPECT_THAT(Names(narrowed), IsEmpty());
}

// ---- collections -------------------------------------------------------------------------

TEST_F(TrialTest, CollectionsComeInTheOrderOfTheirFile) {
  EXPECT_THAT(Take(TheTrial().CollectionNames()), ElementsAre("default", "gradients"));
  EXPECT_EQ(TheTrial().Collection("other").GetStatus().GetCode(), Code::kNotFound);
  EXPECT_THAT(Take(TheTrial().CollectionNames()), ElementsAre("default", "gradients"));
}

TEST_F(TrialTest, ACollectionIsSharedWithTheTrial) {
  const config::CollectionPtr shared = Take(TheTrial().Collection("default"));
  shared->AddTensor("b");
  StepFiles(0).Add("a", {1}).Add("b", {1}).Put(*store_);
  EXPECT_THAT(Names(In("default")), ElementsAre("a", "b"));
}

TEST_F(TrialTest, WhatWorkersKnowOfACollectionIsPutTogether) {
  PutCollections(*store_, 2, "worker_0");
  store_->Put(format::CollectionsFileName("worker_1"),
              R"({"collections": {"default": {"name": "default", "tensor_names": ["b"]}}, )"
              R"("_meta": {"num_workers": 2}})");
  EXPECT_THAT(Take(TheTrial().Collection("default"))->Tensors(), ElementsAre("a", "b"));
}

TEST_F(TrialTest, ACollectionsFileThatIsNoneIsCorrupt) {
  store_->Put(format::CollectionsFileName("worker_0"), "nonsense");
  const Status status = TheTrial().Load();
  EXPECT_EQ(status.GetCode(), Code::kCorruptData);
  EXPECT_THAT(status.Message(), HasSubstr("memory/collections/000000000/worker_0_collections"));
  PutCollections(*store_);
  Expect(TheTrial().Load());
}

// ---- refreshing --------------------------------------------------------------------------

TEST_F(TrialTest, EveryQueryLooksForWhatIsNew) {
  PutStep(0);
  EXPECT_THAT(Steps(), ElementsAre(0));
  PutStep(1);
  EXPECT_THAT(Steps(), ElementsAre(0, 1));
}

TEST_F(TrialTest, ItCanBeToldToStandStill) {
  PutStep(0);
  EXPECT_THAT(Steps(), ElementsAre(0));
  EXPECT_TRUE(TheTrial().SetAutoRefresh(false));
  PutStep(1);
  EXPECT_THAT(Steps(), ElementsAre(0));
  Expect(TheTrial().Refresh());
  EXPECT_THAT(Steps(), ElementsAre(0, 1));
  EXPECT_FALSE(TheTrial().SetAutoRefresh(true));
  PutStep(2);
  EXPECT_THAT(Steps(), ElementsAre(0, 1, 2));
}

TEST_F(TrialTest, AnIndexFileThatCannotBeReadIsToldOnceAndComesLater) {
  PutStep(0);
  PutStep(1);
  FailAt(Call::kRead, format::IndexFileName(0, "worker_0"), Code::kIo);
  EXPECT_EQ(TheTrial().Refresh().GetCode(), Code::kIo);
  EXPECT_THAT(log_, Contains(HasSubstr("as told")));
  EXPECT_THAT(Steps(), ElementsAre(1));
  store_->SetFault({});
  EXPECT_THAT(Steps(), ElementsAre(0, 1));
}

TEST_F(TrialTest, OfSeveralIndexFilesThatCannotBeReadEachIsReportedOnce) {
  PutStep(0);
  for (int64_t step = 1; step < 20; ++step) {
    store_->Put(format::IndexFileName(step, "worker_0"), "nonsense");
  }
  PutOldEndMarker();
  std::set<std::string> messages;
  for (Status status = TheTrial().Refresh(); !status.IsOk(); status = TheTrial().Refresh()) {
    EXPECT_EQ(status.GetCode(), Code::kCorruptData);
    EXPECT_TRUE(messages.insert(status.Message()).second) << status.Message();
  }
  EXPECT_EQ(messages.size(), 19U);
  EXPECT_EQ(log_.size(), 11U) << "ten of them, and how many more";
  EXPECT_THAT(log_.back(), HasSubstr("9 further index files"));
  EXPECT_THAT(Steps(), ElementsAre(0));
}

TEST_F(TrialTest, AFileThatMayBeReadLaterIsNoEndWhateverElseIsDamaged) {
  store_->Put(format::IndexFileName(0, "worker_0"), "nonsense");
  PutStep(1);
  PutOldEndMarker();
  FailAt(Call::kRead, format::IndexFileName(1, "worker_0"), Code::kIo);
  EXPECT_EQ(TheTrial().Refresh().GetCode(), Code::kIo);
  EXPECT_FALSE(TheTrial().HasEnded());
}

TEST_F(TrialTest, LogsWithoutALockHeld) {
  PutStep(0);
  store_->Put(format::IndexFileName(1, "worker_0"), "nonsense");
  bool has_logged = false;
  options_.logger = Logger(LogLevel::kDebug, [&](LogLevel, const std::string &) {
    has_logged = true;
    // Another thread that refreshes meanwhile would wait for ever for a lock held here.
    std::thread([this] { (void)TheTrial().Refresh(); }).join();
  });
  EXPECT_EQ(TheTrial().Refresh().GetCode(), Code::kCorruptData);
  EXPECT_TRUE(has_logged);
}

TEST_F(TrialTest, AListingThatFailsLosesNothing) {
  PutStep(0);
  Expect(TheTrial().Load());
  FailAt(Call::kList, "index", Code::kIo);
  EXPECT_EQ(TheTrial().Refresh().GetCode(), Code::kIo);
  store_->SetFault({});
  EXPECT_THAT(Steps(), ElementsAre(0));
}

TEST_F(TrialTest, AWorkerThatStaysAwayIsGivenUpBeyondTheWindow) {
  options_.incomplete_window = 4;
  PutCollections(*store_, 2, "worker_0");
  PutCollections(*store_, 2, "worker_1");
  for (int64_t step = 0; step < 4; ++step) PutStep(step);
  EXPECT_THAT(Steps(), IsEmpty());
  PutStep(4);
  EXPECT_THAT(Steps(), ElementsAre(0, 1));
}

// ---- the job's end -----------------------------------------------------------------------

TEST_F(TrialTest, AnEndedJobHasAllItWillEverHave) {
  PutCollections(*store_, 2, "worker_0");
  PutCollections(*store_, 2, "worker_1");
  PutStep(0, "worker_0");
  PutOldEndMarker();
  EXPECT_THAT(Steps(), ElementsAre(0)) << "though worker_1 did not save it";
  EXPECT_TRUE(TheTrial().HasEnded());
  EXPECT_THAT(waits_, IsEmpty());
  PutStep(1);
  EXPECT_THAT(Steps(), ElementsAre(0)) << "it is not looked for any more";
}

TEST_F(TrialTest, FilesThatAreALittleLateAreAwaitedOnce) {
  PutStep(0);
  PutEndMarker(*store_, clock_.WallSeconds());
  WhileWaiting([this] { PutStep(1); });
  EXPECT_THAT(Steps(), ElementsAre(0, 1));
  EXPECT_THAT(waits_, ElementsAre(std::chrono::seconds(1)));
  EXPECT_TRUE(TheTrial().HasEnded());
}

TEST_F(TrialTest, AMarkerFromTheFutureIsAwaitedToo) {
  PutStep(0);
  PutEndMarker(*store_, clock_.WallSeconds() + 100);
  EXPECT_THAT(Steps(), ElementsAre(0));
  EXPECT_THAT(waits_, ElementsAre(std::chrono::seconds(1)));
}

TEST_F(TrialTest, TheFinalCollectionsAreReadAtTheEnd) {
  StepFiles(0).Add("late", {1}).Put(*store_);
  EXPECT_THAT(Names(In("default")), IsEmpty());
  store_->Put(format::CollectionsFileName("worker_0"),
              R"({"collections": {"default": {"name": "default", "tensor_names": ["late"]}}, )"
              R"("_meta": {"num_workers": 1}})");
  PutOldEndMarker();
  EXPECT_THAT(Names(In("default")), ElementsAre("late"));
}

TEST_F(TrialTest, WhatCannotBeReadAtTheEndGetsOneMoreChance) {
  PutStep(0);
  PutStep(1);
  PutOldEndMarker();
  FailAt(Call::kRead, format::IndexFileName(0, "worker_0"), Code::kIo);
  EXPECT_EQ(TheTrial().Refresh().GetCode(), Code::kIo);
  EXPECT_FALSE(TheTrial().HasEnded());
  store_->SetFault({});
  EXPECT_THAT(Steps(), ElementsAre(0, 1));
  EXPECT_TRUE(TheTrial().HasEnded());
}

TEST_F(TrialTest, AListingThatFailsAtTheEndIsNoEnd) {
  PutStep(0);
  PutOldEndMarker();
  Expect(TheTrial().Load());
  FailAt(Call::kList, "index", Code::kIo);
  EXPECT_EQ(TheTrial().Refresh().GetCode(), Code::kIo);
  EXPECT_EQ(TheTrial().Refresh().GetCode(), Code::kIo);
  EXPECT_FALSE(TheTrial().HasEnded());
  store_->SetFault({});
  EXPECT_THAT(Steps(), ElementsAre(0));
}

TEST_F(TrialTest, WhatIsCorruptAtTheEndIsToldAndTheRestIsThere) {
  PutStep(0);
  store_->Put(format::IndexFileName(1, "worker_0"), "nonsense");
  PutOldEndMarker();
  EXPECT_EQ(TheTrial().Refresh().GetCode(), Code::kCorruptData);
  EXPECT_TRUE(TheTrial().HasEnded());
  EXPECT_THAT(Steps(), ElementsAre(0));
}

}  // namespace
}  // namespace smdebug::analyze::trial_test
