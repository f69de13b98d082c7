// The hook in a real folder that is removed, renamed or replaced while it records, or that holds
// what a killed job left.
#include "record/out_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/strings.h"
#include "format/paths.h"
#include "record/hook.h"
#include "record/tensors.h"
#include "storage/local_store.h"
#include "storage/stuck_process.h"
#include "storage/temporary_folder.h"

namespace smdebug::record::out_dir_test {
namespace {

using testing::HasSubstr;

constexpr const char *kCollections = "collections/000000000/worker_0_collections.json";
constexpr const char *kEnd = "training_job_end.ts";

// With durability or without, alone or as one of several workers.
class OutDirTest : public testing::TestWithParam<std::tuple<bool, bool>> {
 protected:
  OutDirTest() {
    options_.out_dir = folder_.Path("run");
    options_.saves_all = true;
    options_.save_config.SetAll({.interval = 1, .end = {}, .steps = {}});
    options_.queue.is_durable = std::get<0>(GetParam());
    options_.queue.reports_late = true;
    if (std::get<1>(GetParam())) {
      options_.num_workers = 2;
      options_.includes_all_workers = true;
    }
    options_.logger = Logger(LogLevel::kError, [](LogLevel, const std::string &) {});
  }
  std::shared_ptr<Hook> Open() {
    auto opened = Hook::Open(options_);
    EXPECT_TRUE(opened.IsOk()) << opened.GetStatus().Message();
    return *std::move(opened);
  }
  static void Step(Hook &hook) {
    EXPECT_TRUE(hook.BeginStep().IsOk());
    EXPECT_TRUE(hook.Save("w", Floats({1, 2})).IsOk());
    EXPECT_TRUE(hook.EndStep().IsOk());
  }
  static Status Flush(Hook &hook) { return hook.Flush(Deadline::Never()); }
  // A step, after which what went wrong is reported once, and one that is recorded again.
  static void ExpectRecovery(Hook &hook) {
    Step(hook);
    const Status failed = Flush(hook);
    EXPECT_EQ(failed.GetCode(), Code::kIo);
    EXPECT_THAT(failed.Message(), HasSubstr("removed, renamed or replaced"));
    Step(hook);
    EXPECT_TRUE(Flush(hook).IsOk());
  }
  bool HasStep(const std::string &run, int64_t step) const {
    return folder_.Has(run + "/" + format::IndexFileName(step, "worker_0")) &&
           folder_.Has(run + "/" + format::EventFileName(step, "worker_0"));
  }
  // What a reader needs, and none of the steps from before.
  void ExpectReadable(const std::string &run) const {
    EXPECT_TRUE(folder_.Has(run + "/" + kCollections));
    EXPECT_TRUE(folder_.Has(run + "/" + kEnd));
    EXPECT_FALSE(HasStep(run, 0));
    EXPECT_TRUE(HasStep(run, 2));
    for (int64_t step = 0; step < 3; ++step) {
      EXPECT_EQ(folder_.Has(run + "/" + format::IndexFileName(step, "worker_0")),
                folder_.Has(run + "/" + format::EventFileName(step, "worker_0")));
    }
  }

  storage::TemporaryFolder folder_;
  HookOptions options_;
};

TEST_P(OutDirTest, IsRemoved) {
  const auto hook = Open();
  Step(*hook);
  EXPECT_TRUE(Flush(*hook).IsOk());
  std::filesystem::remove_all(folder_.Path("run"));
  ExpectRecovery(*hook);
  EXPECT_TRUE(hook->Close().IsOk());
  ExpectReadable("run");
}

TEST_P(OutDirTest, IsEmptied) {
  const auto hook = Open();
  Step(*hook);
  EXPECT_TRUE(Flush(*hook).IsOk());
  for (const auto &entry : std::filesystem::directory_iterator(folder_.Path("run"))) {
    std::filesystem::remove_all(entry.path());
  }
  ExpectRecovery(*hook);
  EXPECT_EQ(folder_.Has("run/claim.smd"), !std::get<1>(GetParam()));
  EXPECT_TRUE(hook->Close().IsOk());
  EXPECT_FALSE(folder_.Has("run/claim.smd"));
  ExpectReadable("run");
}

TEST_P(OutDirTest, IsRenamed) {
  const auto hook = Open();
  Step(*hook);
  EXPECT_TRUE(Flush(*hook).IsOk());
  std::filesystem::rename(folder_.Path("run"), folder_.Path("moved"));
  ExpectRecovery(*hook);
  EXPECT_TRUE(hook->Close().IsOk());
  ExpectReadable("run");
  EXPECT_TRUE(HasStep("moved", 0));
  EXPECT_FALSE(folder_.Has("moved/claim.smd"));
}

TEST_P(OutDirTest, IsReplaced) {
  const auto hook = Open();
  Step(*hook);
  EXPECT_TRUE(Flush(*hook).IsOk());
  std::filesystem::rename(folder_.Path("run"), folder_.Path("moved"));
  folder_.Write("run/notes.txt", "of somebody");
  ExpectRecovery(*hook);
  EXPECT_TRUE(hook->Close().IsOk());
  ExpectReadable("run");
  EXPECT_EQ(folder_.Read("run/notes.txt"), "of somebody");
}

TEST_P(OutDirTest, IsRemovedBeforeTheEnd) {
  const auto hook = Open();
  Step(*hook);
  EXPECT_TRUE(Flush(*hook).IsOk());
  std::filesystem::remove_all(folder_.Path("run"));
  EXPECT_EQ(hook->Close().GetCode(), Code::kIo);
  EXPECT_TRUE(folder_.Has(std::string("run/") + kCollections));
  EXPECT_TRUE(folder_.Has(std::string("run/") + kEnd));
}

TEST_P(OutDirTest, IsAnothersNow) {
  if (std::get<1>(GetParam())) return;  // workers hold no claim
  const auto hook = Open();
  Step(*hook);
  EXPECT_TRUE(Flush(*hook).IsOk());
  std::filesystem::rename(folder_.Path("run"), folder_.Path("moved"));
  const auto other = Open();
  Step(*other);
  EXPECT_TRUE(Flush(*other).IsOk());
  Step(*hook);
  const Status failed = Flush(*hook);
  EXPECT_THAT(failed.Message(), HasSubstr("Another process records there now"));
  Step(*hook);
  EXPECT_FALSE(hook->IsRecording());
  EXPECT_TRUE(hook->Close().IsOk());
  EXPECT_FALSE(folder_.Has(std::string("run/") + kEnd));
  EXPECT_FALSE(folder_.Has("run/" + format::IndexFileName(1, "worker_0")));
  EXPECT_TRUE(HasStep("run", 0));
  EXPECT_TRUE(other->Close().IsOk());
  EXPECT_TRUE(folder_.Has(std::string("run/") + kEnd));
}

TEST_P(OutDirTest, HoldsWhatAKilledJobLeft) {
  const std::string leftovers[] = {
      format::EventFileName(7, "worker_0") + ".tmp", format::IndexFileName(7, "worker_0") + ".tmp",
      format::OtherEventFileName(8, "worker_0") + ".tmp", std::string(kCollections) + ".tmp"};
  const std::string of_others[] = {format::EventFileName(7, "worker_1") + ".tmp",
                                   format::IndexFileName(7, "worker_1") + ".tmp",
                                   format::CollectionsFileName("worker_1") + ".tmp",
                                   "tensorboard/train/000000000007_12_host.tfevents.tmp"};
  const std::string others[] = {"events/000000000007/notes.tmp",
                                "tensorboard/train/000000000007_worker_0.tfevents.tmp",
                                "tensorboard/train/000000000007_12_host.json.tmp",
                                "events/7/7_worker_0.tfevents.tmp",
                                "index/draft.tmp",
                                "notes/000000000007_worker_0.json.tmp",
                                "000000000007_worker_0.json.tmp",
                                "notes.tmp"};
  for (const std::string &name : leftovers) folder_.Write("run/" + name, "half");
  for (const std::string &name : of_others) folder_.Write("run/" + name, "half");
  for (const std::string &name : others) folder_.Write("run/" + name, "of somebody");
  const auto hook = Open();
  EXPECT_TRUE(folder_.Has("run/" + leftovers[0])) << "a hook that records nothing removes nothing";
  Step(*hook);
  EXPECT_TRUE(Flush(*hook).IsOk());
  for (const std::string &name : leftovers) EXPECT_FALSE(folder_.Has("run/" + name)) << name;
  // Without the claim, other workers may be alive.
  const bool is_shared = std::get<1>(GetParam());
  for (const std::string &name : of_others)
    EXPECT_EQ(folder_.Has("run/" + name), is_shared) << name;
  for (const std::string &name : others) EXPECT_EQ(folder_.Read("run/" + name), "of somebody");
  EXPECT_TRUE(hook->Close().IsOk());
}

TEST_P(OutDirTest, OfALiveJobIsNotSwept) {
  if (std::get<1>(GetParam())) return;  // a worker's name stands for one process
  const auto hook = Open();
  Step(*hook);
  EXPECT_TRUE(Flush(*hook).IsOk());  // it has swept
  const std::string name = "run/" + format::EventFileName(7, "worker_0") + ".tmp";
  folder_.Write(name, "half");
  const auto second = Open();
  Step(*second);
  EXPECT_FALSE(second->IsRecording());
  EXPECT_TRUE(second->Close().IsOk());
  EXPECT_TRUE(folder_.Has(name));
  EXPECT_TRUE(hook->Close().IsOk());
}

TEST_P(OutDirTest, OnlyFilesOfDeadProcessesAreSwept) {
  const std::string names[] = {format::EventFileName(7, "worker_0"),
                               format::EventFileName(7, "worker_1"),
                               "tensorboard/train/000000000007_12_host.tfevents"};
  for (const std::string &name : names) {
    std::unique_ptr<storage::FileWriter> file;
    storage::StuckProcess writer([&] {
      auto created = storage::LocalStore(folder_.Path("run")).Create(name);
      if (created.IsOk()) file = *std::move(created);
      return file != nullptr;
    });
    const std::string temporary = StrCat("run/", name, ".tmp");
    for (const bool is_alive : {true, false}) {
      if (!is_alive) writer.Kill();
      ASSERT_TRUE(folder_.Has(temporary));
      OutDir out_dir(std::make_shared<storage::LocalStore>(folder_.Path("run")), "worker_0", false);
      ASSERT_TRUE(*out_dir.Acquire());
      out_dir.Sweep();
      EXPECT_EQ(folder_.Has(temporary), is_alive) << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(DurableSeveral, OutDirTest,
                         testing::Combine(testing::Bool(), testing::Bool()));

}  // namespace
}  // namespace smdebug::record::out_dir_test
