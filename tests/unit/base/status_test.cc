#include "base/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <set>
#include <string>

#include "base/result.h"

namespace smdebug::status_test {
namespace {

using testing::HasSubstr;
using testing::Pointee;
using testing::StartsWith;

TEST(Status, SuccessIsEmpty) {
  const Status status;
  EXPECT_TRUE(status.IsOk());
  EXPECT_EQ(status.GetCode(), Code::kOk);
  EXPECT_EQ(status.Message(), "");
  EXPECT_TRUE(status.With("path", "x").IsOk());
  EXPECT_EQ(status.With("path", "x").Detail("path"), nullptr);
}

TEST(Status, FailureHasCodeMessageAndDetails) {
  const Status status = InvalidConfig("save_interval is 0").With("key", "save_interval");
  EXPECT_FALSE(status.IsOk());
  EXPECT_EQ(status.GetCode(), Code::kInvalidConfig);
  EXPECT_EQ(status.Message(), "save_interval is 0");
  EXPECT_THAT(status.Detail("key"), Pointee(std::string("save_interval")));
  EXPECT_EQ(status.Detail("step"), nullptr);
}

TEST(Status, CopiesDoNotSeeLaterDetails) {
  const Status status = WrongState("closed");
  const Status copy = status;
  const Status detailed = status.With("step", "3").With("worker", "worker_0");
  EXPECT_EQ(copy.Detail("step"), nullptr);
  EXPECT_THAT(detailed.Detail("step"), Pointee(std::string("3")));
  EXPECT_THAT(detailed.Detail("worker"), Pointee(std::string("worker_0")));
}

TEST(Status, OnlyTransientFailuresAreRetryable) {
  EXPECT_TRUE(Status(Code::kNetwork, "").IsRetryable());
  EXPECT_TRUE(Status(Code::kStepNotYet, "").IsRetryable());
  EXPECT_FALSE(Status(Code::kInvalidConfig, "").IsRetryable());
  EXPECT_FALSE(Status(Code::kCorruptData, "").IsRetryable());
  EXPECT_FALSE(Status::Ok().IsRetryable());
}

TEST(Status, EveryCodeHasADistinctName) {
  std::set<std::string> names;
  int known = 0;
  for (int32_t number = 0; number < 128; ++number) {
    const std::string name = CodeName(static_cast<Code>(number));
    if (name == "UNKNOWN") continue;
    ++known;
    names.insert(name);
  }
  EXPECT_EQ(known, 37);
  EXPECT_EQ(names.size(), 37U);
  EXPECT_STREQ(CodeName(Code::kCorruptData), "CORRUPT_DATA");
}

TEST(CorruptData, BeginsWithThePath) {
  const Status status = CorruptData("index/000000000/x.json", "not valid JSON");
  EXPECT_EQ(status.GetCode(), Code::kCorruptData);
  EXPECT_EQ(status.Message(), "index/000000000/x.json: not valid JSON");
  EXPECT_THAT(status.Detail("path"), Pointee(std::string("index/000000000/x.json")));
}

TEST(SystemError, CodeMatchesTheErrno) {
  EXPECT_EQ(SystemError("open", "/x", ENOENT).GetCode(), Code::kNotFound);
  EXPECT_EQ(SystemError("open", "/x", EACCES).GetCode(), Code::kPermission);
  EXPECT_EQ(SystemError("write", "/x", ENOSPC).GetCode(), Code::kNoSpace);
  EXPECT_EQ(SystemError("write", "/x", ENOMEM).GetCode(), Code::kOutOfMemory);
  EXPECT_EQ(SystemError("write", "/x", EIO).GetCode(), Code::kIo);
}

TEST(SystemError, SaysWhatFailedWhereAndWhatToDo) {
  const Status status = SystemError("write", "/data/x.tmp", ENOSPC);
  EXPECT_THAT(status.Message(), StartsWith("/data/x.tmp: write failed: "));
  EXPECT_THAT(status.Message(), HasSubstr("free space"));
  EXPECT_THAT(status.Detail("errno"), Pointee(std::to_string(ENOSPC)));
}

Result<int> Half(int number) {
  if (number % 2 != 0) return InvalidArgument("odd");
  return number / 2;
}

Result<int> Quarter(int number) {
  SMD_ASSIGN_OR_RETURN(const int half, Half(number));
  return Half(half);
}

Status CheckQuarter(int number) {
  SMD_RETURN_IF_ERROR(Quarter(number).GetStatus());
  return Status::Ok();
}

TEST(Result, IsAValueOrAStatus) {
  EXPECT_EQ(*Quarter(12), 3);
  EXPECT_TRUE(Quarter(12).GetStatus().IsOk());
  EXPECT_FALSE(Quarter(6).IsOk());
  EXPECT_EQ(Quarter(6).GetStatus().Message(), "odd");
  EXPECT_EQ(CheckQuarter(5).GetCode(), Code::kInvalidArgument);
}

TEST(Result, SupportsMoveOnlyValues) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(5);
  ASSERT_TRUE(result.IsOk());
  const std::unique_ptr<int> value = *std::move(result);
  EXPECT_EQ(*value, 5);
}

TEST(Result, FromSuccessWithoutAValueIsInternal) {
  const Result<int> result = Status::Ok();
  EXPECT_FALSE(result.IsOk());
  EXPECT_EQ(result.GetStatus().GetCode(), Code::kInternal);
}

}  // namespace
}  // namespace smdebug::status_test
