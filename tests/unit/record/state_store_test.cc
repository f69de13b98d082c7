#include "record/state_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>

#include "storage/temporary_folder.h"

namespace smdebug::record::state_store_test {
namespace {

using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

class StateStoreTest : public testing::Test {
 protected:
  std::unique_ptr<StateStore> Open() {
    auto states = StateStore::Open(folder_.Path());
    EXPECT_TRUE(states.IsOk()) << states.GetStatus().Message();
    return *std::move(states);
  }
  Status OpenError() { return StateStore::Open(folder_.Path()).GetStatus(); }

  storage::TemporaryFolder folder_;
};

// The example of the format: what a spot job of the original left.
constexpr std::string_view kStates =
    R"([{"training-run": 0, "latest-global-step-saved": 4, "latest-global-step-seen": 5,)"
    R"( "latest-mode-step": {"TRAIN": 3, "EVAL": 1}},)"
    R"( {"training-run": 1, "latest-global-step-saved": null, "latest-global-step-seen": 2,)"
    R"( "latest-mode-step": {}}])";

TEST_F(StateStoreTest, TheEntryWithTheLargestStepSeenCounts) {
  folder_.Write("metadata.json", kStates);
  const auto state = Open()->Latest();
  ASSERT_TRUE(state);
  EXPECT_EQ(state->training_run, 0);
  EXPECT_EQ(state->last_saved, 4);
  EXPECT_EQ(state->last_seen, 5);
  EXPECT_THAT(state->mode_steps, UnorderedElementsAre(Pair(Mode::kTrain, 3), Pair(Mode::kEval, 1)));
}

TEST_F(StateStoreTest, WithoutAFileThereIsNothingToGoOnFrom) {
  EXPECT_FALSE(Open()->Latest());
  EXPECT_TRUE(StateStore::Open(folder_.Path("missing")).IsOk());
}

TEST_F(StateStoreTest, NotesTheStateWhenCheckpointsChange) {
  const auto states = Open();
  ASSERT_TRUE(states->Update({0, 1, 2, {{Mode::kTrain, 2}}}).IsOk());
  EXPECT_FALSE(folder_.Has("metadata.json")) << "there is no checkpoint yet";
  folder_.Write("model-1", "weights");
  ASSERT_TRUE(states->Update({0, 2, 3, {{Mode::kTrain, 3}}}).IsOk());
  EXPECT_EQ(folder_.Read("metadata.json"),
            R"([{"training-run": 0, "latest-global-step-saved": 2, "latest-global-step-seen": 3, )"
            R"("latest-mode-step": {"TRAIN": 3}}])");
  ASSERT_TRUE(states->Update({0, 2, 4, {}}).IsOk());
  EXPECT_EQ(Open()->Latest()->last_seen, 3) << "nothing has changed since";
  folder_.Write("model-1", "more weights");
  ASSERT_TRUE(states->Update({0, {}, 5, {}}).IsOk());
  EXPECT_EQ(Open()->Latest()->last_seen, 5);
  EXPECT_FALSE(Open()->Latest()->last_saved);
}

// As "last.pt" is, of a model whose size stays.
TEST_F(StateStoreTest, ACheckpointMayBeWrittenAgainUnderItsName) {
  const auto states = Open();
  const std::filesystem::path last = folder_.Path("last.pt");
  folder_.Write("last.pt", "weights");
  ASSERT_TRUE(states->Update({0, {}, 1, {}}).IsOk());
  std::filesystem::last_write_time(
      last, std::filesystem::last_write_time(last) + std::chrono::milliseconds(3));
  ASSERT_TRUE(states->Update({0, {}, 2, {}}).IsOk());
  EXPECT_EQ(Open()->Latest()->last_seen, 2);
}

TEST_F(StateStoreTest, FilesBelowCountAndItsOwnDoNot) {
  const auto states = Open();
  folder_.Write("epoch-1/model", "weights");
  ASSERT_TRUE(states->Update({0, {}, 1, {}}).IsOk());
  folder_.Write("x.sagemaker-uploaded", "");
  ASSERT_TRUE(states->Update({0, {}, 2, {}}).IsOk());
  EXPECT_EQ(Open()->Latest()->last_seen, 1);
}

TEST_F(StateStoreTest, WhatWasThereAtFirstIsNoChange) {
  folder_.Write("model-1", "weights");
  const auto states = Open();
  ASSERT_TRUE(states->Update({0, {}, 1, {}}).IsOk());
  EXPECT_FALSE(folder_.Has("metadata.json"));
}

TEST_F(StateStoreTest, AFileOfSomethingElseIsCorrupt) {
  for (const char *text :
       {"", "nonsense", "{}", "[1]", "[{}]", R"([{"training-run": 0}])",
        R"([{"training-run": "x", "latest-global-step-seen": 1, "latest-mode-step": {}}])",
        R"([{"training-run": 0, "latest-global-step-seen": 1, "latest-mode-step": {"X": 1}}])",
        R"([{"training-run": 0, "latest-global-step-seen": 9223372036854775807,)"
        R"( "latest-mode-step": {}}])",
        R"([{"training-run": 0, "latest-global-step-seen": -2, "latest-mode-step": {}}])",
        R"([{"training-run": 9223372036854775807, "latest-global-step-seen": 1,)"
        R"( "latest-mode-step": {}}])",
        R"([{"training-run": 0, "latest-global-step-seen": 1,)"
        R"( "latest-mode-step": {"TRAIN": 9223372036854775807}}])"}) {
    folder_.Write("metadata.json", text);
    const Status status = OpenError();
    EXPECT_EQ(status.GetCode(), Code::kCorruptData) << text;
    EXPECT_THAT(status.Message(), HasSubstr("metadata.json")) << text;
  }
}

// ---- the service's configuration ---------------------------------------------------------

class ConfiguredFolderTest : public StateStoreTest {
 protected:
  ConfiguredFolderTest() {
    setenv("CHECKPOINT_CONFIG_FILE_PATH", folder_.Path("config.json").c_str(), 1);
  }
  ~ConfiguredFolderTest() override { unsetenv("CHECKPOINT_CONFIG_FILE_PATH"); }
};

TEST_F(ConfiguredFolderTest, IsTheOneTheConfigurationNames) {
  folder_.Write("config.json", R"({"S3Uri": "s3://b", "LocalPath": "/opt/ml/checkpoints"})");
  EXPECT_EQ(**StateStore::ConfiguredFolder(), "/opt/ml/checkpoints");
}

TEST_F(ConfiguredFolderTest, IsNoneWithoutAFileOrAPath) {
  EXPECT_FALSE(*StateStore::ConfiguredFolder());
  folder_.Write("config.json", "{}");
  EXPECT_FALSE(*StateStore::ConfiguredFolder());
}

TEST_F(ConfiguredFolderTest, AConfigurationThatIsNoneIsAnError) {
  folder_.Write("config.json", "nonsense");
  const Status status = StateStore::ConfiguredFolder().GetStatus();
  EXPECT_EQ(status.GetCode(), Code::kInvalidConfig);
  EXPECT_THAT(status.Message(), HasSubstr("config.json"));
  folder_.Write("config.json", R"({"LocalPath": 5})");
  EXPECT_EQ(StateStore::ConfiguredFolder().GetStatus().GetCode(), Code::kInvalidConfig);
}

}  // namespace
}  // namespace smdebug::record::state_store_test
