// The hook from its opening to its end; what it saves is in hook_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <thread>

#include "config/collection_set.h"
#include "record/gate.h"
#include "record/hook_fixture.h"
#include "storage/temporary_folder.h"

namespace smdebug::record::hook_life_test {
namespace {

using storage::MemoryStore;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Call = MemoryStore::Call;

constexpr const char *kEnd = "training_job_end.ts";
constexpr const char *kCollections = "collections/000000000/worker_0_collections.json";

class HookLifeTest : public HookFixture {
 protected:
  Status OpenError() { return Hook::Open(options_).GetStatus(); }
  config::CollectionsFile Collections(const std::string &name = kCollections) const {
    const auto file = config::CollectionsFromJson(store_->Files().at(name), name);
    EXPECT_TRUE(file.IsOk()) << file.GetStatus().Message();
    return *file;
  }
  static config::CollectionPtr Find(const config::CollectionsFile &file, std::string_view name) {
    for (const config::CollectionPtr &collection : file.collections) {
      if (collection->Name() == name) return collection;
    }
    return nullptr;
  }
  void FailAt(Call failing, Code code) {
    store_->SetFault([failing, code](Call call, const std::string &name) {
      return call == failing ? Status(code, name + ": as set") : Status::Ok();
    });
  }
};

// ---- opening -----------------------------------------------------------------------------

TEST_F(HookLifeTest, NeedsToKnowWhere) {
  options_.store = nullptr;
  EXPECT_EQ(OpenError().GetCode(), Code::kInvalidArgument);
  options_.out_dir = "gs://bucket/x";
  EXPECT_EQ(OpenError().GetCode(), Code::kUnsupported);
}

TEST_F(HookLifeTest, AFinishedTrialIsNotRecordedOver) {
  store_->Put(kEnd, "");
  const Status status = OpenError();
  EXPECT_EQ(status.GetCode(), Code::kTrialExists);
  EXPECT_EQ(*status.Detail("path"), "memory");
}

TEST_F(HookLifeTest, AnUnfinishedOneIs) {
  store_->Put("index/000000000/000000000000_worker_0.json", "{}");
  EXPECT_TRUE(Hook::Open(options_).IsOk());
}

TEST_F(HookLifeTest, ABadExpressionIsReportedByOpen) {
  options_.include_regexes = {"("};
  EXPECT_EQ(OpenError().GetCode(), Code::kInvalidConfig);
}

TEST_F(HookLifeTest, SpillingNeedsAFolder) {
  options_.queue.policy = QueuePolicy::kSpill;
  EXPECT_EQ(OpenError().GetCode(), Code::kInvalidConfig);
}

TEST_F(HookLifeTest, NothingIsWrittenBeforeTheFirstTensor) {
  TheHook();
  EXPECT_THAT(store_->Files(), IsEmpty());
  SaveEvery(1);
  Begin();
  End();
  EXPECT_FALSE(At(0).exists) << "a step of nothing is no step";
}

TEST_F(HookLifeTest, AnEmptyCollectionOfTheUsersStopsTheFirstStep) {
  options_.collections.push_back(std::make_shared<config::Collection>("mine"));
  const Status status = TheHook().BeginStep().GetStatus();
  EXPECT_EQ(status.GetCode(), Code::kInvalidConfig);
  EXPECT_EQ(TheHook().LastStep(Mode::kGlobal), -1);
  ASSERT_TRUE(options_.collections[0]->Include("x").IsOk());
  EXPECT_EQ(Begin(), 0);
}

// ---- who records -------------------------------------------------------------------------

TEST_F(HookLifeTest, ADryRunDecidesEverythingAndWritesNothing) {
  options_.is_dry_run = true;
  EXPECT_FALSE(TheHook().IsRecording());
  Begin();
  EXPECT_TRUE(TheHook().Wants("loss"));
  EXPECT_FALSE(TheHook().Wants("something else"));
  Save("loss", Floats({1}));
  End();
  Expect(TheHook().SaveScalar("x", Floats({1}), 0));
  Expect(TheHook().SaveCustom("x", Floats({1}), {}));
  Expect(TheHook().ExportCollections());
  Close();
  EXPECT_THAT(store_->Files(), IsEmpty());
}

TEST_F(HookLifeTest, OfManyWorkersOneRecordsUnlessAllAreIncluded) {
  options_.worker = "worker_1";
  options_.num_workers = 2;
  EXPECT_FALSE(TheHook().IsRecording());
  Begin();
  EXPECT_FALSE(TheHook().Wants("loss"));
  Save("loss", Floats({1}));
  End();
  Expect(TheHook().SaveScalar("x", Floats({1}), 0));
  Close();
  EXPECT_THAT(store_->Files(), IsEmpty());
}

TEST_F(HookLifeTest, EachIncludedWorkerHasFilesOfItsOwn) {
  options_.worker = "worker_1";
  options_.num_workers = 2;
  options_.includes_all_workers = true;
  Step();
  Close();
  EXPECT_TRUE(At(0, "worker_1").exists);
  EXPECT_EQ(Collections("collections/000000000/worker_1_collections.json").num_workers, 2);
}

TEST_F(HookLifeTest, IfOneIsIncludedTheTrialHasOneWorker) {
  options_.num_workers = 2;
  Step();
  Close();
  EXPECT_EQ(Collections().num_workers, 1);
}

TEST_F(HookLifeTest, OfTwoProcessesOneRecords) {
  auto other = store_->Acquire("claim.smd");
  Step();
  EXPECT_FALSE(TheHook().IsRecording());
  EXPECT_THAT(Log(), Contains(HasSubstr("already records here")));
  Step();
  Close();
  EXPECT_THAT(store_->Files(), IsEmpty());
}

// It may have had nothing to save, but it must not end the other's trial.
TEST_F(HookLifeTest, AProcessThatSavedNothingAsksBeforeItEndsTheTrial) {
  auto other = store_->Acquire("claim.smd");
  Expect(TheHook().SaveScalar("x", Floats({1}), 0));
  Expect(TheHook().ExportCollections());
  Close();
  EXPECT_THAT(store_->Files(), IsEmpty());
}

TEST_F(HookLifeTest, TheClaimIsReleasedByClose) {
  Step();
  EXPECT_EQ(*store_->Acquire("claim.smd"), nullptr);
  Close();
  EXPECT_NE(*store_->Acquire("claim.smd"), nullptr);
}

// ---- the collections file ----------------------------------------------------------------

TEST_F(HookLifeTest, CollectionsAreWrittenAfterTheFirstSavedStep) {
  SaveEvery(2);
  options_.include_collections = {"weights"};
  EXPECT_FALSE(HasFile(kCollections));
  Begin();
  Save("a.weight", Floats({1}));
  EXPECT_FALSE(HasFile(kCollections));
  End();
  Flush();
  EXPECT_THAT(Find(Collections(), "weights")->Tensors(), ElementsAre("a.weight"));
}

TEST_F(HookLifeTest, CollectionsAreThereWhenTheFirstStepIs) {
  std::vector<std::string> committed;
  store_->SetFault([&](Call call, const std::string &name) {
    if (call == Call::kCommit) committed.push_back(name);
    return Status::Ok();
  });
  Step();
  Step();
  Flush();
  const auto at = [&](const std::string &name) {
    return std::find(committed.begin(), committed.end(), name);
  };
  EXPECT_LT(at(kCollections), at("index/000000000/000000000000_worker_0.json"));
}

TEST_F(HookLifeTest, ARunInTheFolderOfAnotherLeavesItsEventFilesAlone) {
  Step();
  Flush();
  hook_.reset();
  Step();
  Flush();
  EXPECT_TRUE(HasFile("events/000000000000/000000000000_worker_0.tfevents"));
  EXPECT_TRUE(HasFile("events/000000000000/again/000000000000_worker_0.tfevents"));
}

TEST_F(HookLifeTest, AMisspeltCollectionIsNamedOnceAfterTheFirstStep) {
  options_.include_collections = {"wieghts", "mine", "gradients"};
  Step();
  TheHook().Collections().GetOrCreate("later");
  Step();
  EXPECT_THAT(Log(), Contains(HasSubstr("include_collections names 'wieghts', and after the first "
                                        "step there is no such collection; did you mean "
                                        "'weights'?"))
                         .Times(1));
  EXPECT_THAT(Log(), Contains(HasSubstr("'mine'")).Times(1));
  EXPECT_THAT(Log(), Not(Contains(HasSubstr("'gradients'"))));
}

TEST_F(HookLifeTest, CollectionsAreWrittenOnceMoreAtTheEndIfTheyChanged) {
  options_.include_collections = {"weights"};
  int commits = 0;
  store_->SetFault([&](Call call, const std::string &name) {
    if (call == Call::kCommit && name == kCollections) ++commits;
    return Status::Ok();
  });
  Begin();
  Save("a.weight", Floats({1}));
  End();
  for (const char *name : {"b.weight", "c.weight"}) {
    Begin();
    Save(name, Floats({1}));
    End();
  }
  Flush();
  EXPECT_EQ(commits, 1);
  Close();
  EXPECT_EQ(commits, 2);
  EXPECT_THAT(Find(Collections(), "weights")->Tensors(),
              ElementsAre("a.weight", "b.weight", "c.weight"));
}

TEST_F(HookLifeTest, CollectionsAreNotWrittenAgainIfTheyDidNot) {
  int commits = 0;
  store_->SetFault([&](Call call, const std::string &name) {
    if (call == Call::kCommit && name == kCollections) ++commits;
    return Status::Ok();
  });
  Step();
  Step();
  Close();
  EXPECT_EQ(commits, 1);
}

TEST_F(HookLifeTest, CollectionsAreWrittenAtTheEndOfAJobThatSavedNothing) {
  TheHook();
  Close();
  EXPECT_NE(Find(Collections(), "losses"), nullptr);
}

TEST_F(HookLifeTest, CollectionsAreWrittenByExport) {
  Expect(TheHook().ExportCollections());
  EXPECT_TRUE(HasFile(kCollections));
  FailAt(Call::kCommit, Code::kPermission);
  EXPECT_EQ(TheHook().ExportCollections().GetCode(), Code::kPermission);
}

// ---- the end -----------------------------------------------------------------------------

TEST_F(HookLifeTest, TheEndMarkerComesLast) {
  std::vector<std::string> committed;
  store_->SetFault([&](Call call, const std::string &name) {
    if (call == Call::kCommit) committed.push_back(name);
    return Status::Ok();
  });
  Step();
  Close();
  EXPECT_EQ(committed.back(), kEnd);
  EXPECT_EQ(store_->Files().at(kEnd), "");
}

TEST_F(HookLifeTest, TheServiceEndsItsTrialsItself) {
  setenv("TRAINING_JOB_NAME", "a job", 1);
  Step();
  Close();
  unsetenv("TRAINING_JOB_NAME");
  EXPECT_FALSE(HasFile(kEnd));
  EXPECT_TRUE(At(0).exists);
}

TEST_F(HookLifeTest, ClosingEndsAnOpenStep) {
  Begin();
  Save("loss", Floats({1}));
  Close();
  EXPECT_THAT(At(0).names, ElementsAre("loss"));
}

TEST_F(HookLifeTest, IsClosedOnce) {
  Step();
  Close();
  const auto files = store_->Files();
  Close();
  EXPECT_EQ(store_->Files(), files);
}

// Who returns from a close may end the process.
TEST_F(HookLifeTest, ACloseWaitsForTheOneThatHasBegun) {
  const auto gate = Gate::Closed();
  store_->SetFault([gate](Call call, const std::string &) {
    if (call == Call::kAppend) gate->Pass();
    return Status::Ok();
  });
  Step();
  std::thread first([&] { EXPECT_TRUE(TheHook().Close().IsOk()); });
  gate->AwaitArrivals(1);
  while (TheHook().BeginStep().IsOk()) std::this_thread::yield();
  std::thread opener([&] { gate->Open(); });
  Close();
  EXPECT_TRUE(HasFile(kEnd));
  opener.join();
  first.join();
}

TEST_F(HookLifeTest, AfterItsEndItTakesNothing) {
  Step();
  Close();
  const Floats tensor({1});
  EXPECT_EQ(TheHook().BeginStep().GetStatus().GetCode(), Code::kWrongState);
  EXPECT_EQ(TheHook().EndStep().GetCode(), Code::kWrongState);
  EXPECT_EQ(TheHook().Save("loss", tensor).GetCode(), Code::kWrongState);
  EXPECT_EQ(TheHook().SaveScalar("x", tensor, 0).GetCode(), Code::kWrongState);
  EXPECT_EQ(TheHook().SaveCustom("x", tensor, {}).GetCode(), Code::kWrongState);
  EXPECT_EQ(TheHook().Flush(Deadline::Never()).GetCode(), Code::kWrongState);
  EXPECT_EQ(TheHook().ExportCollections().GetCode(), Code::kWrongState);
  EXPECT_FALSE(TheHook().Wants("loss"));
  EXPECT_EQ(TheHook().Counts().steps_written, 1);
}

TEST_F(HookLifeTest, WithoutCloseEndedStepsAreWrittenAndTheTrialLooksUnfinished) {
  Step();
  Begin();
  Save("loss", Floats({1}));
  hook_.reset();
  EXPECT_TRUE(At(0).exists);
  EXPECT_FALSE(At(1).exists) << "it did not end";
  EXPECT_FALSE(HasFile(kEnd));
}

// ---- failures ----------------------------------------------------------------------------

TEST_F(HookLifeTest, AFullDiskIsReportedAndTrainingContinues) {
  Step();
  Flush();
  FailAt(Call::kAppend, Code::kNoSpace);
  Begin();
  Save("loss", Floats({1}));
  Status reported = TheHook().EndStep();
  if (reported.IsOk()) reported = TheHook().Flush(Deadline::Never());
  EXPECT_EQ(reported.GetCode(), Code::kNoSpace);
  store_->SetFault({});
  Step();
  Close();
  EXPECT_TRUE(At(0).exists && At(2).exists);
  EXPECT_FALSE(At(1).exists);
  EXPECT_EQ(TheHook().Counts().steps_failed, 1);
  EXPECT_EQ(TheHook().Counts().steps_written, 2);
}

TEST_F(HookLifeTest, ReportedLateAFailureStopsNoTraining) {
  options_.queue.reports_late = true;
  Step();
  Flush();
  FailAt(Call::kAppend, Code::kNoSpace);
  for (int i = 0; i < 20; ++i) {
    Step();
    while (TheHook().Counts().steps_failed <= i) std::this_thread::yield();
  }
  EXPECT_EQ(TheHook().Flush(Deadline::Never()).GetCode(), Code::kNoSpace);
  Flush();
  store_->SetFault({});
  Close();
  EXPECT_EQ(TheHook().Counts().steps_failed, 20);
}

TEST_F(HookLifeTest, ReportedLateADroppedStepIsReportedByClose) {
  options_.queue = {
      .capacity = 100, .policy = QueuePolicy::kDrop, .spill_folder = {}, .reports_late = true};
  options_.include_regexes = {"^w"};
  const auto gate = Gate::Closed();
  store_->SetFault([gate](Call call, const std::string &) {
    if (call == Call::kAppend) gate->Pass();
    return Status::Ok();
  });
  const Floats tensor = Floats::Counting(20);
  for (int i = 0; i < 3; ++i) {
    Begin();
    Save("w", tensor);
    End();
  }
  gate->Open();
  const Status status = TheHook().Close();
  EXPECT_EQ(status.GetCode(), Code::kStepDropped);
  EXPECT_EQ(*status.Detail("step"), "1") << "the first";
  EXPECT_EQ(TheHook().Counts().steps_dropped, 2);
}

TEST_F(HookLifeTest, ADroppedStepIsReportedByTheCallThatEndsIt) {
  options_.queue.capacity = 100;
  options_.queue.policy = QueuePolicy::kDrop;
  options_.include_regexes = {"^w"};
  const auto gate = Gate::Closed();
  store_->SetFault([gate](Call call, const std::string &) {
    if (call == Call::kAppend) gate->Pass();
    return Status::Ok();
  });
  const Floats tensor = Floats::Counting(20);
  Begin();
  Save("w", tensor);
  End();
  Begin();
  Save("w", tensor);
  const Status status = TheHook().EndStep();
  EXPECT_EQ(status.GetCode(), Code::kStepDropped);
  EXPECT_EQ(*status.Detail("step"), "1");
  gate->Open();
  Flush();
  EXPECT_TRUE(At(0).exists);
  EXPECT_FALSE(At(1).exists);
  EXPECT_EQ(TheHook().Counts().steps_dropped, 1);
}

TEST_F(HookLifeTest, ADeadStoreHoldsTheEndUpNoLongerThanAllowed) {
  const auto gate = Gate::Closed();
  store_->SetFault([gate](Call call, const std::string &) {
    if (call == Call::kAppend) gate->Pass();
    return Status::Ok();
  });
  Step();
  clock_.SetOnWait({});
  const auto before = clock_.Monotonic();
  EXPECT_EQ(TheHook().Close().GetCode(), Code::kTimeout);
  EXPECT_EQ(clock_.Monotonic() - before, std::chrono::seconds(30));
  Close();
  hook_.reset();
  EXPECT_EQ(clock_.Monotonic() - before, std::chrono::seconds(30));
  gate->Open();
}

TEST_F(HookLifeTest, ATensorThatCannotBeRecordedLeavesTheStepWhole) {
  options_.saves_all = true;
  Begin();
  Save("a", Floats({1}));
  EXPECT_EQ(TheHook().Save("\xff", Floats({1})).GetCode(), Code::kInvalidArgument);
  Save("b", Floats({2}));
  End();
  Flush();
  EXPECT_THAT(At(0).names, ElementsAre("a", "b"));
  EXPECT_THAT(At(0).floats.at("b"), ElementsAre(2));
}

// ---- jobs that are taken up again --------------------------------------------------------

class ResumedHookTest : public HookLifeTest {
 protected:
  ResumedHookTest() { options_.checkpoint_dir = checkpoints_.Path(); }

  storage::TemporaryFolder checkpoints_;
};

TEST_F(ResumedHookTest, StepsAreCountedOn) {
  checkpoints_.Write(
      "metadata.json",
      R"([{"training-run": 0, "latest-global-step-saved": 10, "latest-global-step-seen": 12, )"
      R"("latest-mode-step": {"TRAIN": 9}}])");
  EXPECT_EQ(TheHook().LastStep(Mode::kGlobal), 12);
  EXPECT_EQ(TheHook().LastStep(Mode::kTrain), 9);
  EXPECT_EQ(TheHook().LastStep(Mode::kEval), 12) << "a mode not seen starts where the job does";
  Step(Mode::kTrain);
  Flush();
  EXPECT_EQ(At(13).index.mode_step, 10);
}

TEST_F(ResumedHookTest, TheStateIsNotedWithEachCheckpoint) {
  Step(Mode::kTrain);
  checkpoints_.Write("model", "weights");
  Step(Mode::kTrain);
  EXPECT_EQ(checkpoints_.Read("metadata.json"),
            R"([{"training-run": 0, "latest-global-step-saved": 0, "latest-global-step-seen": 0, )"
            R"("latest-mode-step": {"TRAIN": 0, "GLOBAL": 0}}])");
  Close();
  hook_.reset();
  options_.store = std::make_shared<MemoryStore>();
  Step(Mode::kTrain);
  EXPECT_EQ(TheHook().LastStep(Mode::kGlobal), 1);
  checkpoints_.Write("model-2", "weights");
  Step(Mode::kTrain);
  EXPECT_THAT(checkpoints_.Read("metadata.json"), HasSubstr(R"("training-run": 1)"));
}

TEST_F(ResumedHookTest, WhatIsLeftDoesNotOverwriteTheStepItGoesOnFrom) {
  checkpoints_.Write(
      "metadata.json",
      R"([{"training-run": 0, "latest-global-step-saved": 10, "latest-global-step-seen": 12, )"
      R"("latest-mode-step": {}}])");
  Expect(TheHook().SaveScalar("x", Floats({1}), 0));
  Close();
  EXPECT_FALSE(At(12).exists);
  EXPECT_TRUE(At(13).exists);
}

TEST_F(ResumedHookTest, AStateThatCannotBeReadIsAnErrorAtOnce) {
  checkpoints_.Write("metadata.json", "nonsense");
  EXPECT_EQ(OpenError().GetCode(), Code::kCorruptData);
}

TEST_F(ResumedHookTest, AStateThatCannotBeWrittenDoesNotStopTheJob) {
  TheHook();
  checkpoints_.Write("model", "weights");
  std::filesystem::create_directories(checkpoints_.Path("metadata.json.tmp/x"));
  Step();
  Close();
  EXPECT_TRUE(At(0).exists);
  EXPECT_THAT(Log(), Contains(HasSubstr("metadata.json")));
}

}  // namespace
}  // namespace smdebug::record::hook_life_test
