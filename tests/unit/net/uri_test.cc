#include "net/uri.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smdebug::net::uri_test {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

Uri Parsed(std::string_view text) {
  auto uri = ParseUri(text);
  EXPECT_TRUE(uri.IsOk()) << text << ": " << uri.GetStatus().Message();
  return uri.IsOk() ? *uri : Uri{};
}

TEST(Uri, HasItsParts) {
  const Uri uri = Parsed("HTTPS://Bucket.S3.Example:8443/a%2fb//..?x=1&y=?/");
  EXPECT_EQ(uri.scheme, "https");
  EXPECT_EQ(uri.host, "bucket.s3.example");
  EXPECT_EQ(uri.port, 8443);
  EXPECT_EQ(uri.path, "/a%2fb//..") << "as given";
  EXPECT_EQ(uri.query, "x=1&y=?/");
  EXPECT_FALSE(uri.has_user_info);
  EXPECT_TRUE(uri.IsTls());
  EXPECT_EQ(uri.HostAndPort(), "bucket.s3.example:8443");
  EXPECT_EQ(uri.Authority(), "bucket.s3.example:8443");
}

TEST(Uri, FillsInMissingParts) {
  const Uri plain = Parsed("http://a");
  EXPECT_EQ(plain.port, 80);
  EXPECT_EQ(plain.path, "/");
  EXPECT_EQ(plain.query, "");
  EXPECT_EQ(plain.Authority(), "a");
  EXPECT_EQ(plain.HostAndPort(), "a:80");
  const Uri tls = Parsed("https://a:?x");
  EXPECT_EQ(tls.port, 443);
  EXPECT_EQ(tls.path, "/");
  EXPECT_EQ(tls.query, "x");
  EXPECT_EQ(Parsed("https://a:443").Authority(), "a");
  EXPECT_EQ(Parsed("https://a:80").Authority(), "a:80");
}

TEST(Uri, SupportsIpv6) {
  EXPECT_EQ(Parsed("http://[FD00:ec2::23]/x").host, "[fd00:ec2::23]");
  EXPECT_EQ(Parsed("http://[::1]:9000").port, 9000);
  EXPECT_EQ(Parsed("http://[::1]:9000").Authority(), "[::1]:9000");
}

TEST(Uri, ReportsUserInfo) {
  const Uri uri = Parsed("http://user:p@ss@host/x");
  EXPECT_TRUE(uri.has_user_info);
  EXPECT_EQ(uri.host, "host");
  EXPECT_FALSE(Parsed("http://host/x@y").has_user_info);
}

TEST(Uri, RefusesInvalidUrls) {
  for (const std::string_view text : {"",
                                      "/x",
                                      "a",
                                      "a:80",
                                      "ftp://a/",
                                      "http:/a",
                                      "http:a",
                                      "://a",
                                      "http://",
                                      "http:///x",
                                      "http://:80/",
                                      "http://?x",
                                      "http://u@/",
                                      "http://a:0/",
                                      "http://a:65536/",
                                      "http://a:8x/",
                                      "http://a:-1/",
                                      "http://a:999999/",
                                      "http://a b/",
                                      "http://a/ ",
                                      "http://a/\r\nX: y",
                                      "http://a\n/",
                                      "http://a/\t",
                                      "http://a/\x7F",
                                      "http://a/\xC3\xA9",
                                      "http://a/#x",
                                      "http://a/%",
                                      "http://a/%2",
                                      "http://a/%zz",
                                      "http://a\\b/",
                                      "http://a/<x>",
                                      "http://[::1",
                                      "http://[::g]/",
                                      "http://[]/",
                                      "http://::1/",
                                      "http://[::1]x/",
                                      "http://a:80:80/",
                                      "http://%61/",
                                      "http://a;b/",
                                      "http://[fe80::1%25lo]/"}) {
    const auto uri = ParseUri(text);
    EXPECT_EQ(uri.GetStatus().GetCode(), Code::kInvalidArgument) << text;
    EXPECT_THAT(uri.GetStatus().Message(), StartsWith("the URL has")) << text;
  }
  EXPECT_FALSE(ParseUri(std::string_view("http://a/\0", 10)).IsOk());
  EXPECT_FALSE(ParseUri("http://a/" + std::string(70000, 'x')).IsOk());
  EXPECT_FALSE(ParseUri("http://" + std::string(300, 'x')).IsOk());
}

TEST(Uri, KeepsSecretsOutOfMessages) {
  const auto uri = ParseUri("http://user:secret@host/\x01?secret");
  EXPECT_THAT(uri.GetStatus().Message(), Not(HasSubstr("secret")));
  EXPECT_THAT(uri.GetStatus().Message(), HasSubstr("byte 24"));
}

TEST(PercentEncode, KeepsOnlyUnreservedCharacters) {
  const std::string kept = "AZaz09-._~";
  EXPECT_EQ(PercentEncode(kept), kept);
  EXPECT_EQ(PercentEncode(" /+*%=&\xC3\xA9"), "%20%2F%2B%2A%25%3D%26%C3%A9");
  EXPECT_EQ(PercentEncode("a/b c", Slashes::kKept), "a/b%20c");
  EXPECT_EQ(PercentEncode(""), "");
}

TEST(PercentDecode, DecodesAllBytes) {
  std::string all;
  for (int i = 0; i < 256; ++i) all.push_back(static_cast<char>(i));
  EXPECT_EQ(*PercentDecode(PercentEncode(all)), all);
  EXPECT_EQ(*PercentDecode("a%2fb+c"), "a/b+c");
  EXPECT_EQ(*PercentDecode("a+b%2Bc", Pluses::kAreSpaces), "a b+c");
}

TEST(PercentDecode, RefusesIncompleteEscapes) {
  for (const char *text : {"%", "a%2", "%g0", "%0g", "100%"}) {
    EXPECT_EQ(PercentDecode(text).GetStatus().GetCode(), Code::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace smdebug::net::uri_test
