#include "storage/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>

#include "base/strings.h"
#include "net/loopback_server.h"
#include "storage/aws_environment.h"

namespace smdebug::storage::doctor_test {
namespace {

using net::Answer;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class DoctorTest : public testing::Test {
 protected:
  // Names of the checks, "!" behind one that failed.
  std::vector<std::string> Examine(std::string_view path) {
    std::vector<std::string> names;
    checks_ = CheckStore(path, options_, Logger(LogLevel::kOff, {}));
    for (const Check &check : checks_) {
      names.push_back(check.name + (check.status.IsOk() ? "" : "!"));
      EXPECT_THAT(check.finding + check.status.Message(), Not(HasSubstr("HUSH")));
    }
    return names;
  }
  std::string FindingOf(std::string_view name) const {
    for (const Check &check : checks_) {
      if (check.name == name) return check.finding;
    }
    return "(none)";
  }
  Status Failure() const {
    for (const Check &check : checks_) {
      if (!check.status.IsOk()) return check.status;
    }
    return Status::Ok();
  }

  AwsEnvironment environment_;
  StoreOptions options_;
  std::vector<Check> checks_;
};

TEST_F(DoctorTest, FindsAFolderWell) {
  const std::string path = environment_.Folder().Path("trial");
  EXPECT_THAT(Examine(" " + path + " "), ElementsAre("address", "write", "read", "remove"));
  EXPECT_THAT(FindingOf("address"), HasSubstr(path + ", which does not exist"));
  EXPECT_FALSE(std::filesystem::exists(path)) << "nothing is left behind";
  std::filesystem::create_directory(path);
  EXPECT_THAT(Examine(path), ElementsAre("address", "write", "read", "remove"));
  EXPECT_EQ(FindingOf("address"), path);
  EXPECT_TRUE(std::filesystem::is_empty(path));
}

TEST_F(DoctorTest, FindsAFolderWhoseParentsDoNotExistEither) {
  const std::string path = environment_.Folder().Path("a");
  EXPECT_THAT(Examine(path + "/b/c"), ElementsAre("address", "write", "read", "remove"));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(DoctorTest, SaysWhatIsWrongWithAFolder) {
  EXPECT_THAT(Examine("/dev/null/trial"), ElementsAre("address", "write!"));
  EXPECT_THAT(Failure().Message(), HasSubstr("/dev/null"));
  EXPECT_THAT(Examine("ftp://host/trial"), ElementsAre("address!"));
  EXPECT_EQ(Failure().GetCode(), Code::kUnsupported);
  EXPECT_THAT(Examine(""), ElementsAre("address!"));
}

TEST_F(DoctorTest, SaysWhatIsWrongWithAnAddress) {
  EXPECT_THAT(Examine("s3://Bucket/trial"), ElementsAre("address!"));
  EXPECT_EQ(Failure().GetCode(), Code::kInvalidArgument);
  options_.endpoint = "nowhere";
  EXPECT_THAT(Examine("s3://bucket/trial"), ElementsAre("address!"));
  EXPECT_EQ(Failure().GetCode(), Code::kInvalidConfig);
}

TEST_F(DoctorTest, SaysWhereItLookedForCredentials) {
  options_.endpoint = "http://127.0.0.1:1";
  EXPECT_THAT(Examine("s3://bucket/trial"), ElementsAre("address", "credentials!"));
  EXPECT_EQ(FindingOf("address"), "http://127.0.0.1:1/bucket");
  EXPECT_EQ(Failure().GetCode(), Code::kCredentials);
}

// A bucket on this machine; on_request_ may answer in its place.
class S3DoctorTest : public DoctorTest {
 protected:
  S3DoctorTest() {
    server_ =
        net::LoopbackServer::Answering([this](const std::string &head, const std::string &body) {
          const std::lock_guard<std::mutex> lock(mutex_);
          const std::string line = head.substr(0, head.find(" HTTP/"));
          lines_.push_back(line);
          const std::string answer = on_request_ ? on_request_(line) : "";
          return answer.empty() ? Serve(line, body) : answer;
        });
    options_.endpoint = StrCat("http://127.0.0.1:", server_->Port());
    options_.access_key = "AKID";
    options_.secret_key = "SECRETHUSH";
    options_.session_token = "TOKENHUSH";
    options_.max_attempts = 1;
  }

  std::string Serve(const std::string &line, const std::string &body) {
    const size_t blank = line.find(' ');
    const std::string method = line.substr(0, blank);
    const std::string key = line.substr(blank + 1);
    if (method == "PUT") objects_[key] = body;
    if (method == "DELETE") objects_.erase(key);
    if (method != "GET") return Answer(200, "");
    if (key.find('?') == std::string::npos) return Answer(200, objects_[key]);
    return Answer(200, StrCat("<ListBucketResult>", listed_, "</ListBucketResult>"));
  }

  using OnRequest = std::function<std::string(const std::string &line)>;
  void SetOnRequest(OnRequest on_request) {
    const std::lock_guard<std::mutex> lock(mutex_);
    on_request_ = std::move(on_request);
  }
  std::vector<std::string> Lines() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return lines_;
  }
  size_t Objects() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return objects_.size();
  }

  // Refuses requests that begin so.
  void Refuse(const std::string &begin, const std::string &answer) {
    SetOnRequest([=](const std::string &line) { return line.starts_with(begin) ? answer : ""; });
  }
  static std::string Error(int status, std::string_view code, std::string_view headers = "") {
    return Answer(status, StrCat("<Error><Code>", code, "</Code></Error>"), headers);
  }

  std::mutex mutex_;
  std::vector<std::string> lines_;
  std::map<std::string, std::string> objects_;
  std::string listed_;
  OnRequest on_request_;
  std::unique_ptr<net::LoopbackServer> server_;
};

TEST_F(S3DoctorTest, FindsABucketWell) {
  EXPECT_THAT(Examine("s3://bucket/a/trial"),
              ElementsAre("address", "credentials", "list", "clock", "write", "read", "remove"));
  EXPECT_EQ(FindingOf("address"), options_.endpoint + "/bucket");
  EXPECT_THAT(FindingOf("credentials"), testing::StartsWith("from "));
  EXPECT_EQ(FindingOf("list"), "region us-east-1, nothing is there yet");
  EXPECT_EQ(FindingOf("clock"), "right");
  const std::vector<std::string> lines = Lines();
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_THAT(lines[0], HasSubstr("max-keys=1&prefix=a%2Ftrial%2F"));
  EXPECT_THAT(lines[1], testing::StartsWith("PUT /bucket/a/trial/.smdebug-check-"));
  EXPECT_EQ(Objects(), 0U) << "nothing is left";
}

TEST_F(S3DoctorTest, SeesWhetherSomethingIsThere) {
  listed_ = "<Contents><Key>a/trial/x</Key></Contents>";
  Examine("s3://bucket/a/trial");
  EXPECT_EQ(FindingOf("list"), "region us-east-1, something is there already");
}

TEST_F(S3DoctorTest, TakesAWholeBucket) {
  EXPECT_EQ(Examine("s3://bucket").size(), 7U);
  EXPECT_THAT(Lines()[0], testing::EndsWith("&prefix="));
  EXPECT_THAT(Lines()[1], testing::StartsWith("PUT /bucket/.smdebug-check-"));
}

TEST_F(S3DoctorTest, StopsAtWhatFails) {
  Refuse("GET /bucket/?", Error(404, "NoSuchBucket"));
  EXPECT_THAT(Examine("s3://bucket/trial"), ElementsAre("address", "credentials", "list!"));
  EXPECT_EQ(Failure().GetCode(), Code::kBucketNotFound);
  Refuse("PUT", Error(403, "AccessDenied"));
  EXPECT_THAT(Examine("s3://bucket/trial"),
              ElementsAre("address", "credentials", "list", "clock", "write!"));
  EXPECT_EQ(Failure().GetCode(), Code::kPermission);
  Refuse("DELETE", Error(403, "AccessDenied"));
  EXPECT_THAT(Examine("s3://bucket/trial"),
              ElementsAre("address", "credentials", "list", "clock", "write", "read", "remove!"));
}

TEST_F(S3DoctorTest, RemovesWhatItCannotRead) {
  Refuse("GET /bucket/trial/", Error(403, "AccessDenied"));
  EXPECT_THAT(Examine("s3://bucket/trial"),
              ElementsAre("address", "credentials", "list", "clock", "write", "read!"));
  EXPECT_EQ(Failure().GetCode(), Code::kPermission);
  EXPECT_EQ(Objects(), 0U);
  Refuse("GET /bucket/trial/", Answer(200, "something else"));
  EXPECT_EQ(Examine("s3://bucket/trial").back(), "read!");
  EXPECT_EQ(Failure().GetCode(), Code::kCorruptData);
  EXPECT_EQ(Objects(), 0U);
}

TEST_F(S3DoctorTest, TellsThatTheClockIsWrongAndGoesOn) {
  for (const char *date : {"Fri, 24 May 2013 00:00:00 GMT", "Wed, 24 May 2113 00:00:00 GMT"}) {
    SetOnRequest([=, is_first = true](const std::string &) mutable {
      if (!std::exchange(is_first, false)) return std::string();
      return Error(403, "RequestTimeTooSkewed", StrCat("Date: ", date, "\r\n"));
    });
    EXPECT_THAT(Examine("s3://bucket/trial"),
                ElementsAre("address", "credentials", "list", "clock!", "write", "read", "remove"));
    EXPECT_EQ(Failure().GetCode(), Code::kClockSkewed);
    const bool is_ahead = std::string_view(date).find("2013") != std::string_view::npos;
    EXPECT_THAT(Failure().Message(), HasSubstr(is_ahead ? "seconds ahead of" : "seconds behind"));
  }
}

}  // namespace
}  // namespace smdebug::storage::doctor_test
