#include "aws/s3_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"

namespace smdebug::aws::s3_error_test {
namespace {

using testing::HasSubstr;
using testing::Not;

Status Failure(const S3Error &error) {
  return S3Failure("reading", "s3://bucket/key", "profile x", error);
}

Code CodeOf(int http_status, std::string code = "") {
  return Failure({http_status, std::move(code)}).GetCode();
}

TEST(S3Error, HasACodeForEachServiceError) {
  EXPECT_EQ(CodeOf(403, "AccessDenied"), Code::kPermission);
  EXPECT_EQ(CodeOf(403, "InvalidAccessKeyId"), Code::kCredentialsRefused);
  EXPECT_EQ(CodeOf(403, "SignatureDoesNotMatch"), Code::kCredentialsRefused);
  EXPECT_EQ(CodeOf(403, "NotSignedUp"), Code::kCredentialsRefused);
  EXPECT_EQ(CodeOf(400, "ExpiredToken"), Code::kCredentialsExpired);
  EXPECT_EQ(CodeOf(403, "RequestTimeTooSkewed"), Code::kClockSkewed);
  EXPECT_EQ(CodeOf(400, "AuthorizationHeaderMalformed"), Code::kWrongRegion);
  EXPECT_EQ(CodeOf(404, "NoSuchBucket"), Code::kBucketNotFound);
  EXPECT_EQ(CodeOf(404, "NoSuchKey"), Code::kNotFound);
  EXPECT_EQ(CodeOf(503, "SlowDown"), Code::kThrottled);
  EXPECT_EQ(CodeOf(200, "InternalError"), Code::kNetwork);
  EXPECT_EQ(CodeOf(400, "RequestTimeout"), Code::kTimeout);
}

TEST(S3Error, UsesTheStatusIfTheServiceReportsNoCode) {
  EXPECT_EQ(CodeOf(301), Code::kWrongRegion);
  EXPECT_EQ(CodeOf(302), Code::kIo);
  EXPECT_EQ(CodeOf(307), Code::kWrongRegion);
  EXPECT_EQ(CodeOf(400, "NobodyKnows"), Code::kIo);
  EXPECT_EQ(CodeOf(401), Code::kPermission);
  EXPECT_EQ(CodeOf(403, "NobodyKnows"), Code::kPermission);
  EXPECT_EQ(CodeOf(404), Code::kNotFound);
  EXPECT_EQ(CodeOf(408), Code::kTimeout);
  EXPECT_EQ(CodeOf(429), Code::kThrottled);
  EXPECT_EQ(CodeOf(500), Code::kNetwork);
  EXPECT_EQ(CodeOf(599), Code::kNetwork);
}

TEST(S3Error, SaysWhereWhatAndWhatToDo) {
  EXPECT_EQ(Failure({403, "AccessDenied", "Access Denied."}).Message(),
            "s3://bucket/key: reading failed: AccessDenied (HTTP 403): Access Denied; these "
            "credentials do not permit this request: see the policy in docs/s3.md");
  EXPECT_EQ(Failure({500}).Message(), "s3://bucket/key: reading failed: HTTP 500");
  EXPECT_THAT(Failure({403, "InvalidAccessKeyId"}).Message(), HasSubstr("of profile x"));
  EXPECT_THAT(Failure({400, "ExpiredToken"}).Message(),
              HasSubstr("renew the credentials of profile x"));
  EXPECT_THAT(Failure({403, "RequestTimeTooSkewed"}).Message(), HasSubstr("set it (chrony"));
  EXPECT_THAT(Failure({301}).Message(), HasSubstr("set the region"));
  EXPECT_THAT(Failure({301, "", "", "eu-west-1"}).Message(),
              HasSubstr("set the region to eu-west-1"));
  EXPECT_THAT(Failure({404, "NoSuchBucket"}).Message(), HasSubstr("no such bucket"));
  EXPECT_THAT(Failure({503, "SlowDown"}).Message(), HasSubstr("limits requests"));
}

TEST(S3Error, KeepsItsPartsAsDetails) {
  const Status full = Failure({301, "PermanentRedirect", "m", "eu-west-1", "R1"});
  EXPECT_EQ(*full.Detail("path"), "s3://bucket/key");
  EXPECT_EQ(*full.Detail("http_status"), "301");
  EXPECT_EQ(*full.Detail("s3_code"), "PermanentRedirect");
  EXPECT_EQ(*full.Detail("region"), "eu-west-1");
  EXPECT_EQ(*full.Detail("request_id"), "R1");
  const Status bare = Failure({500});
  for (const char *name : {"s3_code", "region", "request_id"})
    EXPECT_EQ(bare.Detail(name), nullptr);
}

TEST(S3Error, IsOneLineWithoutControlCharacters) {
  const std::string message = Failure({400, "A\nB", "c\r\n\x1b[31md\0e..."}).Message();
  EXPECT_THAT(message, HasSubstr("A B (HTTP 400): c   [31md"));
  for (const char letter : message) EXPECT_GE(letter, ' ');
}

TEST(S3Error, StaysShort) {
  const std::string endless(1 << 20, 'x');
  const Status status = Failure({400, endless, endless, endless, endless});
  EXPECT_LT(status.Message().size(), 500U);
  for (const char *name : {"s3_code", "region", "request_id"}) {
    EXPECT_LE(status.Detail(name)->size(), 64U) << name;
  }
}

TEST(S3Error, IsNotCutWithinACharacter) {
  for (size_t before = 190; before <= 201; ++before) {
    std::string text(before, 'x');
    for (int i = 0; i < 10; ++i) text += "\xE2\x82\xAC";
    EXPECT_TRUE(IsUtf8(Failure({400, "Code", text}).Message())) << before;
  }
  EXPECT_TRUE(IsUtf8(Failure({400, std::string(500, '\xBF')}).Message()))
      << "continuation bytes alone are cut to nothing";
}

}  // namespace
}  // namespace smdebug::aws::s3_error_test
