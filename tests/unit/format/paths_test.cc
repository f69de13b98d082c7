#include "format/paths.h"

#include <gtest/gtest.h>

#include "base/step.h"
#include "base/strings.h"

namespace smdebug::format::paths_test {
namespace {

using namespace std::string_literals;

constexpr std::string_view kDevice = "/job:worker/replica:0/task:1/device:GPU:6";
constexpr std::string_view kDeviceFile = "_job-worker_replica-0_task-1_device-GPU-6";

TEST(PathsTest, NamesAreThoseOfTheOriginal) {
  EXPECT_EQ(EventFileName(12, "worker_0"), "events/000000000012/000000000012_worker_0.tfevents");
  EXPECT_EQ(IndexFileName(12, "worker_0"), "index/000000000/000000000012_worker_0.json");
  EXPECT_EQ(IndexFileName(1000, "worker_0"), "index/000000001/000000001000_worker_0.json");
  EXPECT_EQ(IndexBucket(999), "index/000000000");
  EXPECT_EQ(IndexBucket(1234567), "index/000001234");
  EXPECT_EQ(CollectionsFileName("worker_0"), "collections/000000000/worker_0_collections.json");
}

TEST(PathsTest, LargeStepsGetMoreDigits) {
  EXPECT_EQ(EventFileName(1234567890123, "w"), "events/1234567890123/1234567890123_w.tfevents");
  EXPECT_EQ(IndexFileName(1234567890123, "w"), "index/1234567890/1234567890123_w.json");
}

TEST(PathsTest, DeviceNamesHaveAFileForm) {
  EXPECT_EQ(WorkerToFile(kDevice), kDeviceFile);
  EXPECT_EQ(WorkerToFile(kDeviceFile), kDeviceFile);
  EXPECT_EQ(WorkerToFile("worker_0"), "worker_0");
  EXPECT_EQ(WorkerToFile(""), "");
  EXPECT_EQ(IndexFileName(499, kDevice),
            StrCat("index/000000000/000000000499_", kDeviceFile, ".json"));
  EXPECT_EQ(CollectionsFileName(kDevice),
            StrCat("collections/000000000/", kDeviceFile, "_collections.json"));
}

TEST(PathsTest, StepFileNamesAreRead) {
  for (const std::string name :
       {"000000000012_worker_0.json", "index/000000000/000000000012_worker_0.json",
        "events/000000000012/000000000012_worker_0.tfevents", "12_worker_0.csv",
        "a__b/000000000012_worker_0.json"}) {
    const auto file = ParseStepFileName(name);
    ASSERT_TRUE(file.has_value()) << name;
    EXPECT_EQ(file->step, 12) << name;
    EXPECT_EQ(file->worker, "worker_0") << name;
  }
}

TEST(PathsTest, StepFileNamesGoThereAndBack) {
  for (const int64_t step : {int64_t{0}, int64_t{999}, kMaxStep}) {
    for (const std::string_view worker : {std::string_view("worker_0"), kDevice}) {
      for (const std::string &name : {EventFileName(step, worker), IndexFileName(step, worker)}) {
        const auto file = ParseStepFileName(name);
        ASSERT_TRUE(file.has_value()) << name;
        EXPECT_EQ(file->step, step);
        EXPECT_EQ(file->worker, worker);
      }
    }
  }
}

TEST(PathsTest, ANameWithAStepBeyondTheLastIsNoStepFile) {
  for (const std::string_view name :
       {"9223372036854775807_worker_0.json", "index/9/9223372036854775808_worker_0.json",
        "99999999999999999999_worker_0.tfevents"}) {
    EXPECT_FALSE(ParseStepFileName(name).has_value()) << name;
    EXPECT_TRUE(HasStepBeyondLast(name)) << name;
  }
  for (const std::string &name :
       {EventFileName(0, "worker_0"), IndexFileName(kMaxStep, "worker_0"), ""s, "_x.json"s,
        "99999999999999999999.json"s, "99999999999999999999_.json"s,
        "99999999999999999999_x.json.tmp"s, "-99999999999999999999_x.json"s}) {
    EXPECT_FALSE(HasStepBeyondLast(name)) << name;
  }
}

TEST(PathsTest, OtherNamesAreNoStepFiles) {
  for (const std::string &name :
       {""s, "/"s, ".json"s, "12.json"s, "12_.json"s, "_worker_0.json"s, "worker_0.json"s,
        "-1_worker_0.json"s, "+1_worker_0.json"s, " 1_worker_0.json"s, "12_worker_0.json.tmp"s,
        "12_worker_0.txt"s, "12_worker_0.json/"s, "12worker_0.json"s, "12_worker\n0.json"s,
        "12_worker\0.json"s, "12_worker\xFF.json"s, "99999999999999999999_worker_0.json"s,
        "training_job_end.ts"s}) {
    EXPECT_FALSE(ParseStepFileName(name).has_value()) << name;
  }
}

TEST(PathsTest, CollectionsFileNamesAreRead) {
  EXPECT_EQ(ParseCollectionsFileName("worker_0_collections.json"), "worker_0");
  EXPECT_EQ(ParseCollectionsFileName(CollectionsFileName("worker_0")), "worker_0");
  EXPECT_EQ(ParseCollectionsFileName(CollectionsFileName(kDevice)), kDevice);
  for (const std::string_view name :
       {"", "_collections.json", "collections.json", "worker_0_collections.json.tmp",
        "worker_0_collections.ts", "a/worker_0_collections.json/"}) {
    EXPECT_FALSE(ParseCollectionsFileName(name).has_value()) << name;
  }
}

TEST(PathsTest, WorkerNamesMustFitFileNames) {
  for (const std::string &worker :
       {"worker_0"s, std::string(kDevice), "\xC3\xA9"s, "a b"s, std::string(200, 'w')}) {
    EXPECT_TRUE(CheckWorkerName(worker).IsOk()) << worker;
  }
  for (const std::string &worker :
       {""s, "a/b"s, "a\0b"s, "a\nb"s, "a\x7F"s, "/job\t"s, std::string(201, 'w')}) {
    EXPECT_EQ(CheckWorkerName(worker).GetCode(), Code::kInvalidArgument) << worker;
  }
}

TEST(PathsTest, NamesMustStayInsideTheTrial) {
  for (const std::string_view name :
       {"a", "events/0/0_w.tfevents", "a/..b", "a/b..", "...", "a\\..\\b"}) {
    EXPECT_TRUE(IsInsideTrial(name)) << name;
  }
  for (const std::string &name : {""s, "/"s, "/etc/passwd"s, ".."s, "."s, "../a"s, "a/.."s,
                                  "a/../b"s, "a/./b"s, "./a"s, "a//b"s, "a/"s, "a\0b"s}) {
    EXPECT_FALSE(IsInsideTrial(name)) << name;
  }
}

}  // namespace
}  // namespace smdebug::format::paths_test
