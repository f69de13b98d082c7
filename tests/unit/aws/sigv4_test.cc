#include "aws/sigv4.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace smdebug::aws::sigv4_test {
namespace {

using testing::HasSubstr;
using testing::Not;

const Credentials kCredentials{"AKIDEXAMPLE", "SECRET", ""};

SigningOptions Options() {
  SigningOptions options;
  options.region = "eu-west-1";
  options.service = "s3";
  options.time = 1'369'353'600;
  return options;
}

SigningRequest Get(std::string_view path) { return {.method = "GET", .path = path, .host = "h"}; }

std::string Find(const Signature &signature, std::string_view name) {
  for (const net::Header &header : signature.headers) {
    if (header.name == name) return header.value;
  }
  return "(none)";
}

TEST(SigningTimeTest, IsUtcWithoutFractions) {
  EXPECT_EQ(SigningTime(0), "19700101T000000Z");
  EXPECT_EQ(SigningTime(1'369'353'600.999), "20130524T000000Z");
  EXPECT_EQ(SigningTime(951'827'696), "20000229T123456Z");
  EXPECT_EQ(SigningTime(253'402'300'799), "99991231T235959Z");
}

TEST(SigV4Test, S3PathsAreSignedAsTheyAreSent) {
  const auto signature = SignHeaders(Get("/a//../%20b/./"), kCredentials, Options());
  EXPECT_THAT(signature->canonical_request, HasSubstr("GET\n/a//../%20b/./\n"));
}

TEST(SigV4Test, TheQueryIsSortedByItsEncodedForm) {
  const std::array<QueryParameter, 5> query = {
      {{"b", "2"}, {"a b", "/+&="}, {"b", "10"}, {"list-type", ""}, {"B", "~"}}};
  SigningRequest request = Get("/");
  request.query = query;
  const auto signature = SignHeaders(request, kCredentials, Options());
  EXPECT_EQ(signature->query, "B=~&a%20b=%2F%2B%26%3D&b=10&b=2&list-type=");
}

TEST(SigV4Test, APrecomputedKeyGivesTheSameSignature) {
  const auto derived = SignHeaders(Get("/x"), kCredentials, Options());
  const auto key = DeriveSigningKey("SECRET", "20130524", "eu-west-1", "s3");
  SigningOptions options = Options();
  options.key = &*key;
  Credentials no_secret = kCredentials;
  no_secret.secret_key.clear();
  EXPECT_EQ(SignHeaders(Get("/x"), no_secret, options)->hex, derived->hex);
}

TEST(SigV4Test, TheSessionTokenIsSignedOrAddedAfter) {
  Credentials credentials = kCredentials;
  credentials.session_token = "TOKEN";
  SigningOptions options = Options();
  auto signature = SignHeaders(Get("/"), credentials, options);
  EXPECT_EQ(Find(*signature, "x-amz-security-token"), "TOKEN");
  EXPECT_THAT(Find(*signature, "authorization"), HasSubstr(";x-amz-security-token,"));
  options.sign_session_token = false;
  signature = SignHeaders(Get("/"), credentials, options);
  EXPECT_EQ(Find(*signature, "x-amz-security-token"), "TOKEN");
  EXPECT_THAT(Find(*signature, "authorization"), Not(HasSubstr("x-amz-security-token")));
}

TEST(SigV4Test, HeadersThatProxiesChangeAreNotSigned) {
  const std::array<net::Header, 3> headers = {
      {{"User-Agent", "x"}, {"Connection", "close"}, {"Range", "bytes=0-9"}}};
  SigningRequest request = Get("/");
  request.headers = headers;
  EXPECT_THAT(Find(*SignHeaders(request, kCredentials, Options()), "authorization"),
              HasSubstr("SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,"));
}

TEST(SigV4Test, RefusesKeysThatNoHeaderCanContainAndHidesThem) {
  for (const char *bad :
       {"", "SENSITIVE\r\nX-Evil: 1", "SENSITIVE\n", "SENSI TIVE", "SENSITIVE\x7f"}) {
    Credentials credentials = kCredentials;
    credentials.access_key = bad;
    const Status status = SignHeaders(Get("/"), credentials, Options()).GetStatus();
    EXPECT_EQ(status.GetCode(), Code::kCredentials) << bad;
    EXPECT_THAT(status.Message(), Not(HasSubstr("SENSI")));
  }
  Credentials credentials = kCredentials;
  credentials.session_token = "SENSITIVE\nX-Evil: 1";
  const Status status = SignQuery(Get("/"), credentials, Options(), 60).GetStatus();
  EXPECT_EQ(status.GetCode(), Code::kCredentials);
  EXPECT_THAT(status.Message(), Not(HasSubstr("SENSI")));
}

}  // namespace
}  // namespace smdebug::aws::sigv4_test
