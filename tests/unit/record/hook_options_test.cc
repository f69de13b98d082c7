#include "record/hook_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "base/strings.h"

namespace smdebug::record::hook_options_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

class HookOptionsTest : public testing::Test {
 protected:
  void Set(std::string_view name, std::string_view value) {
    const Status status = options_.Set(name, value);
    EXPECT_TRUE(status.IsOk()) << status.Message();
  }
  std::string Refusal(std::string_view name, std::string_view value) {
    const Status status = options_.Set(name, value);
    EXPECT_EQ(status.GetCode(), Code::kInvalidConfig) << name << " = " << value;
    return status.Message();
  }

  HookOptions options_;
};

TEST_F(HookOptionsTest, HaveTheDefaultsThatTheHeaderPromises) {
  EXPECT_EQ(options_.worker, "worker_0");
  EXPECT_EQ(options_.num_workers, 1);
  EXPECT_FALSE(options_.includes_all_workers);
  EXPECT_FALSE(options_.saves_all);
  EXPECT_FALSE(options_.is_dry_run);
  EXPECT_EQ(options_.queue.capacity, 268435456U);
  EXPECT_EQ(options_.queue.policy, QueuePolicy::kBlock);
  EXPECT_EQ(options_.queue.block_time, seconds(5));
  EXPECT_EQ(options_.queue.spill_capacity, 1073741824U);
  EXPECT_FALSE(options_.queue.is_durable);
  EXPECT_FALSE(options_.queue.reports_late);
  EXPECT_EQ(options_.close_time, seconds(30));
  EXPECT_FALSE(options_.checkpoint_dir);
  EXPECT_EQ(options_.reduction_config, config::ReductionConfig::Raw());
}

TEST_F(HookOptionsTest, AreSetByName) {
  Set("out_dir", "/some/folder");
  Set("worker", "worker_3");
  Set("num_workers", "4");
  Set("include_workers", "all");
  Set("include_collections", "weights, biases,,");
  Set("save_all", "True");
  Set("dry_run", "yes");
  Set("queue_bytes", "1000");
  Set("block_seconds", "0.25");
  Set("spill_dir", "/spill");
  Set("spill_bytes", "2000");
  Set("durability", "step");
  Set("checkpoint_dir", "/checkpoints");
  Set("close_seconds", "2");
  EXPECT_EQ(options_.out_dir, "/some/folder");
  EXPECT_EQ(options_.worker, "worker_3");
  EXPECT_EQ(options_.num_workers, 4);
  EXPECT_TRUE(options_.includes_all_workers);
  EXPECT_THAT(options_.include_collections, ElementsAre("weights", "biases"));
  EXPECT_TRUE(options_.saves_all);
  EXPECT_TRUE(options_.is_dry_run);
  EXPECT_EQ(options_.queue.capacity, 1000U);
  EXPECT_EQ(options_.queue.block_time, milliseconds(250));
  EXPECT_EQ(options_.queue.spill_folder, "/spill");
  EXPECT_EQ(options_.queue.spill_capacity, 2000U);
  EXPECT_TRUE(options_.queue.is_durable);
  EXPECT_EQ(options_.checkpoint_dir, "/checkpoints");
  EXPECT_EQ(options_.close_time, seconds(2));
}

TEST_F(HookOptionsTest, TheQueuesPolicyIsOneOfThree) {
  Set("queue_policy", "drop");
  EXPECT_EQ(options_.queue.policy, QueuePolicy::kDrop);
  Set("queue_policy", "spill");
  EXPECT_EQ(options_.queue.policy, QueuePolicy::kSpill);
  Set("queue_policy", "block");
  EXPECT_EQ(options_.queue.policy, QueuePolicy::kBlock);
  EXPECT_THAT(Refusal("queue_policy", "wait"), HasSubstr("'block', 'drop' or 'spill'"));
}

TEST_F(HookOptionsTest, ABadValueIsNamedWithWhatWouldDo) {
  EXPECT_THAT(Refusal("save_all", "maybe"), HasSubstr("save_all is 'maybe'"));
  EXPECT_THAT(Refusal("num_workers", "0"), HasSubstr("from 1 to 65535"));
  EXPECT_THAT(Refusal("num_workers", "two"), HasSubstr("num_workers is 'two'"));
  EXPECT_THAT(Refusal("include_workers", "some"), HasSubstr("'one' or 'all'"));
  EXPECT_THAT(Refusal("queue_bytes", "0"), HasSubstr("1 or more"));
  EXPECT_THAT(Refusal("queue_bytes", "99999999999999999999"), HasSubstr("1 or more"));
  EXPECT_THAT(Refusal("block_seconds", "-1"), HasSubstr("0 to 86400"));
  EXPECT_THAT(Refusal("close_seconds", "nan"), HasSubstr("0 to 86400"));
  EXPECT_THAT(Refusal("durability", "all"), HasSubstr("'none' or 'step'"));
}

TEST_F(HookOptionsTest, AWorkersNameMustFitIntoAFilesName) {
  EXPECT_EQ(options_.Set("worker", "../x").GetCode(), Code::kInvalidArgument);
  EXPECT_EQ(options_.Set("worker", "").GetCode(), Code::kInvalidArgument);
  EXPECT_EQ(options_.worker, "worker_0");
}

TEST_F(HookOptionsTest, AnUnknownNameIsReportedWithTheNearest) {
  const Status status = options_.Set("queue_byte", "1");
  EXPECT_EQ(status.GetCode(), Code::kInvalidArgument);
  EXPECT_THAT(status.Message(), HasSubstr("did you mean 'queue_bytes'?"));
}

TEST_F(HookOptionsTest, AreGivenOutAsTheyAreSet) {
  const std::pair<const char *, const char *> settings[] = {
      {"out_dir", "/some/folder"},
      {"worker", "worker_3"},
      {"num_workers", "4"},
      {"include_workers", "all"},
      {"include_collections", "weights,biases"},
      {"save_all", "true"},
      {"dry_run", "true"},
      {"queue_bytes", "1000"},
      {"queue_policy", "spill"},
      {"block_seconds", "0.25"},
      {"spill_dir", "/spill"},
      {"spill_bytes", "2000"},
      {"durability", "step"},
      {"report_errors", "late"},
      {"builtin_collections", "false"},
      {"keep_output_numbers", "true"},
      {"row_files", "false"},
      {"export_tensorboard", "true"},
      {"tensorboard_dir", "/board"},
      {"checkpoint_dir", "/checkpoints"},
      {"close_seconds", "2"},
  };
  for (const auto &[name, value] : settings) {
    EXPECT_NE(*options_.Get(name), value) << name;
    Set(name, value);
    EXPECT_EQ(*options_.Get(name), value) << name;
  }
  EXPECT_THAT(options_.Get("queue_byte").GetStatus().Message(),
              HasSubstr("did you mean 'queue_bytes'?"));
  EXPECT_FALSE(options_.Get("s3_secret_key").IsOk());
}

TEST_F(HookOptionsTest, TensorboardsFolderIsInTheTrialsUnlessOneIsGiven) {
  Set("out_dir", "/run");
  EXPECT_EQ(options_.TensorboardFolder(), "");
  Set("export_tensorboard", "true");
  EXPECT_EQ(options_.TensorboardFolder(), "/run/tensorboard");
  Set("export_tensorboard", "false");
  Set("tensorboard_dir", "/board");
  EXPECT_EQ(options_.TensorboardFolder(), "/board");
}

// ---- the service's configuration ---------------------------------------------------------

class HookOptionsLoadTest : public HookOptionsTest {
 protected:
  ~HookOptionsLoadTest() override {
    unsetenv("SMDEBUG_CONFIG_FILE_PATH");
    unsetenv("SMDEBUG_STRICT_CONFIG");
    std::remove(path_.c_str());
  }
  void Write(std::string_view json) { std::ofstream(path_) << json; }

  const std::string path_ = StrCat(testing::TempDir(), "/hook_config_", getpid(), ".json");
};

TEST_F(HookOptionsLoadTest, TakesWhatTheFileSays) {
  Write(R"({"LocalPath": "/tmp/run", "HookParameters": {"save_interval": 3, "save_all": true},
            "CollectionConfigurations": [{"CollectionName": "weights"}, {"CollectionName": "mine",
              "CollectionParameters": {"include_regex": "^mine"}}]})");
  ASSERT_TRUE(options_.Load(path_).IsOk());
  EXPECT_EQ(options_.out_dir, "/tmp/run");
  EXPECT_TRUE(options_.saves_all);
  EXPECT_EQ(options_.save_config.Of(Mode::kTrain)->interval, 3);
  EXPECT_THAT(options_.include_collections, ElementsAre("weights", "mine"));
  ASSERT_EQ(options_.collections.size(), 2U);
  EXPECT_THAT(options_.collections[0]->Regexes(), ElementsAre("^(?!gradient).*weight"));
}

TEST_F(HookOptionsLoadTest, TheCallersCollectionIsTheOneItNames) {
  const auto mine = std::make_shared<config::Collection>("mine");
  options_.collections.push_back(mine);
  Write(R"({"CollectionConfigurations": [{"CollectionName": "mine",
            "CollectionParameters": {"include_regex": "^mine"}}]})");
  ASSERT_TRUE(options_.Load(path_).IsOk());
  EXPECT_THAT(options_.collections, ElementsAre(mine));
  EXPECT_THAT(mine->Regexes(), ElementsAre("^mine"));
}

TEST_F(HookOptionsLoadTest, TheFolderIsTheServicesUnlessOneIsGiven) {
  Write("{}");
  ASSERT_TRUE(options_.Load(path_).IsOk());
  EXPECT_EQ(options_.out_dir, "/opt/ml/output/tensors");
  options_.out_dir = "given";
  ASSERT_TRUE(options_.Load(path_).IsOk());
  EXPECT_EQ(options_.out_dir, "given");
}

TEST_F(HookOptionsLoadTest, TheEnvironmentSaysWhichFile) {
  Write(R"({"LocalPath": "named by the environment"})");
  setenv("SMDEBUG_CONFIG_FILE_PATH", path_.c_str(), 1);
  ASSERT_TRUE(options_.Load("").IsOk());
  EXPECT_EQ(options_.out_dir, "named by the environment");
}

TEST_F(HookOptionsLoadTest, AMissingFileIsNotFound) {
  const Status status = options_.Load("/nowhere/hook.json");
  EXPECT_EQ(status.GetCode(), Code::kNotFound);
  EXPECT_THAT(status.Message(), HasSubstr("/nowhere/hook.json"));
}

TEST_F(HookOptionsLoadTest, WarnsOfUnknownKeysAndBadValues) {
  std::vector<std::string> lines;
  options_.logger =
      Logger(LogLevel::kWarning, [&](LogLevel, const std::string &line) { lines.push_back(line); });
  Write(R"({"LocalPath": "there", "S3Path": "s3://b/p", "HookParameters": {"save_all": 1}})");
  EXPECT_TRUE(options_.Load(path_).IsOk());
  EXPECT_EQ(options_.out_dir, "there");
  EXPECT_TRUE(options_.saves_all);
  EXPECT_THAT(
      lines,
      ElementsAre(path_ + ": the document has the unknown key 'S3Path'; it is ignored",
                  path_ + ": HookParameters.save_all: expected true or false, found 1; it is read "
                          "as true"));
}

TEST_F(HookOptionsLoadTest, RefusesThemInStrictMode) {
  Write(R"({"LocalPath": "there", "Profiler": {}, "HookParameters": {"save_all": 1}})");
  setenv("SMDEBUG_STRICT_CONFIG", "1", 1);
  const Status status = options_.Load(path_);
  EXPECT_EQ(status.GetCode(), Code::kInvalidConfig);
  EXPECT_THAT(status.Message(), HasSubstr("the unknown key 'Profiler'; "));
  EXPECT_THAT(status.Message(), HasSubstr("HookParameters.save_all: expected true or false"));
  setenv("SMDEBUG_STRICT_CONFIG", "0", 1);
  EXPECT_TRUE(options_.Load(path_).IsOk());
}

TEST_F(HookOptionsLoadTest, SaysWhatIsNeverSaved) {
  std::vector<std::string> lines;
  options_.logger =
      Logger(LogLevel::kInfo, [&](LogLevel, const std::string &line) { lines.push_back(line); });
  Write(R"({"CollectionConfigurations": [{"CollectionName": "losses",
            "CollectionParameters": {"end_step": 0}}, {"CollectionName": "weights",
            "CollectionParameters": {"train.end_step": 0, "eval.end_step": 4}}]})");
  ASSERT_TRUE(options_.Load(path_).IsOk());
  options_.LogWhatIsNeverSaved();
  EXPECT_THAT(lines, ElementsAre("nothing of collection 'losses' is saved in mode TRAIN, EVAL, "
                                 "PREDICT, GLOBAL: end_step is not after start_step",
                                 "nothing of collection 'weights' is saved in mode TRAIN: end_step "
                                 "is not after start_step"));
}

TEST_F(HookOptionsLoadTest, TensorboardIsTheConfigurationsButInAJobOfTheService) {
  Write(R"({"HookParameters": {"export_tensorboard": true, "tensorboard_dir": "/mine"}})");
  ASSERT_TRUE(options_.Load(path_).IsOk());
  EXPECT_EQ(options_.TensorboardFolder(), "/mine");

  const std::string board = path_ + ".board";
  setenv("TRAINING_JOB_NAME", "job", 1);
  setenv("TENSORBOARD_CONFIG_FILE_PATH", board.c_str(), 1);
  HookOptions without;
  EXPECT_TRUE(without.Load(path_).IsOk());
  EXPECT_EQ(without.TensorboardFolder(), "");
  std::ofstream(board) << R"({"LocalPath": "/service"})";
  HookOptions with;
  EXPECT_TRUE(with.Load(path_).IsOk());
  EXPECT_EQ(with.TensorboardFolder(), "/service");
  std::remove(board.c_str());
  unsetenv("TRAINING_JOB_NAME");
  unsetenv("TENSORBOARD_CONFIG_FILE_PATH");
}

}  // namespace
}  // namespace smdebug::record::hook_options_test
