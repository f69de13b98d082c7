#include "aws/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace smdebug::aws::endpoint_test {
namespace {

using testing::HasSubstr;

Profiles Config(std::string_view config) {
  return {IniFile{}, *ParseIni(config, "config"), "default"};
}

std::string Base(std::string_view bucket, const S3Settings &settings) {
  const auto endpoint = ResolveS3Endpoint(bucket, settings);
  return endpoint.IsOk() ? endpoint->Base() : endpoint.GetStatus().Message();
}

S3Settings At(std::string_view endpoint, Addressing addressing = Addressing::kAutomatic) {
  S3Settings settings;
  settings.endpoint = endpoint;
  settings.addressing = addressing;
  return settings;
}

TEST(S3UrlTest, BucketAndPrefix) {
  const auto location = ParseS3Url("s3://my-bucket/a/b c/");
  ASSERT_TRUE(location.IsOk());
  EXPECT_EQ(location->bucket, "my-bucket");
  EXPECT_EQ(location->prefix, "a/b c");
  EXPECT_EQ(ParseS3Url("s3://abc")->prefix, "");
  EXPECT_EQ(ParseS3Url("s3://abc//x//")->prefix, "x");
}

TEST(S3UrlTest, RefusesOtherTexts) {
  for (const char *url : {"", "s3:/abc", "S3://abc", "s3://", "s3:///x", "/tmp/x", "s3://a@b/x",
                          "s3://evil.com:80/x"}) {
    EXPECT_EQ(ParseS3Url(url).GetStatus().GetCode(), Code::kInvalidArgument) << url;
  }
}

TEST(BucketNameTest, TheRules) {
  for (const char *name : {"abc", "a-b", "a.b.c", "123", "1.2.3", "xn-x"}) {
    EXPECT_TRUE(CheckBucketName(name).IsOk()) << name;
  }
  EXPECT_TRUE(CheckBucketName(std::string(63, 'a')).IsOk());
  for (const std::string &name :
       {std::string("ab"), std::string(64, 'a'), std::string("Abc"), std::string("a_b"),
        std::string("-abc"), std::string("abc-"), std::string(".abc"), std::string("a..b"),
        std::string("10.0.0.1"), std::string("a/b"), std::string("a b"), std::string("a\r\nb"),
        std::string("a\0b", 3), std::string("b\xC3\xBC"), std::string("x@evil.com")}) {
    const Status status = CheckBucketName(name);
    EXPECT_EQ(status.GetCode(), Code::kInvalidArgument) << name;
    EXPECT_THAT(status.Message(), HasSubstr("bucket '"));
  }
}

TEST(BucketNameTest, RefusesOtherKindsOfBuckets) {
  for (const char *name : {"x--use1-az4--x-s3", "x-1--xa-s3", "x--op-s3", "mfzwi23gnjvgw.mrap"}) {
    EXPECT_EQ(CheckBucketName(name).GetCode(), Code::kUnsupported) << name;
  }
  EXPECT_TRUE(CheckBucketName("my-point-hrzrlukc5m36ft7okagglf3gmwluquse1b-s3alias").IsOk());
}

constexpr const char *kArn = "arn:aws:s3:eu-west-1:123456789012:accesspoint:my-point";

TEST(AccessPointTest, BucketAndPrefix) {
  constexpr const char *kWithSlash = "s3://arn:aws:s3:eu-west-1:123456789012:accesspoint/my-point";
  for (const std::string &arn : {std::string("s3://") + kArn, std::string(kWithSlash)}) {
    EXPECT_EQ(ParseS3Url(arn)->bucket, kArn);
    EXPECT_EQ(ParseS3Url(arn)->prefix, "");
    EXPECT_EQ(ParseS3Url(arn + "/")->prefix, "");
    EXPECT_EQ(ParseS3Url(arn + "/a/b:c/")->bucket, kArn);
    EXPECT_EQ(ParseS3Url(arn + "/a/b:c/")->prefix, "a/b:c");
  }
}

TEST(AccessPointTest, TheArnDeterminesHostAndRegion) {
  S3Settings settings;
  settings.region = "us-east-1";
  EXPECT_EQ(Base(kArn, settings),
            "https://my-point-123456789012.s3-accesspoint.eu-west-1.amazonaws.com");
  EXPECT_EQ(ResolveS3Endpoint(kArn, settings)->region, "eu-west-1");
  EXPECT_EQ(Base("arn:aws-cn:s3:cn-north-1:123456789012:accesspoint/abc", settings),
            "https://abc-123456789012.s3-accesspoint.cn-north-1.amazonaws.com.cn");
  EXPECT_EQ(Base("arn:aws-us-gov:s3:us-gov-west-1:123456789012:accesspoint/abc", settings),
            "https://abc-123456789012.s3-accesspoint.us-gov-west-1.amazonaws.com");
  EXPECT_EQ(Base(kArn, At("http://localhost:7070/base/")),
            "http://my-point-123456789012.localhost:7070/base");
  EXPECT_THAT(Base(kArn, At("http://127.0.0.1:9000")), HasSubstr("no access points"));
  settings.uses_arn_region = false;
  EXPECT_THAT(Base(kArn, settings), HasSubstr("use_arn_region is false"));
  settings.region = "eu-west-1";
  EXPECT_TRUE(ResolveS3Endpoint(kArn, settings).IsOk());
  EXPECT_THAT(Base(kArn, At("", Addressing::kPath)), HasSubstr("no path addressing"));
}

TEST(AccessPointTest, OthersAreRefusedWithTheReason) {
  const auto refusal = [](std::string_view arn, Code code) {
    const Status status = CheckBucketName(arn);
    EXPECT_EQ(status.GetCode(), code) << arn;
    EXPECT_EQ(ParseS3Url("s3://" + std::string(arn)).GetStatus().GetCode(), code) << arn;
    return status.Message();
  };
  EXPECT_THAT(refusal("arn:aws:s3-outposts:us-west-2:123456789012:outpost/op-1/accesspoint/abc",
                      Code::kUnsupported),
              HasSubstr("Outposts"));
  EXPECT_THAT(refusal("arn:aws:s3-object-lambda:us-west-2:123456789012:accesspoint/abc",
                      Code::kUnsupported),
              HasSubstr("Object Lambda"));
  EXPECT_THAT(refusal("arn:aws:s3::123456789012:accesspoint/abc.mrap", Code::kUnsupported),
              HasSubstr("signatures of version 4A"));
  EXPECT_THAT(refusal("arn:aws:s3:::abc", Code::kInvalidArgument), HasSubstr("write s3://abc"));
  for (const char *arn :
       {"arn:", "arn:::::", "arn:aws:s3", "arn:aws:sns:eu-west-1:123456789012:abc",
        "arn:aws:s3:eu-west-1:123456789012:accesspoint", "arn:aws:s3:eu-west-1:1:accesspoint/abc",
        "arn:aws:s3:eu-west-1:123456789012:accesspoint/",
        "arn:aws:s3:eu-west-1:123456789012:accesspoint/ab",
        "arn:aws:s3:eu-west-1:123456789012:accesspoint/-abc",
        "arn:aws:s3:eu-west-1:123456789012:accesspoint/a.evil.com",
        "arn:aws:s3:eu-west-1:123456789012:accesspoint:abc:x",
        "arn:aws:s3:eu-west-1:12345678901a:accesspoint/abc",
        "arn:aws:s3:evil.com:123456789012:accesspoint/abc",
        "arn:aws:s3:cn-north-1:123456789012:accesspoint/abc",
        "arn:aws-cn:s3:eu-west-1:123456789012:accesspoint/abc",
        "arn:aws:s3:eu-west-1:123456789012:accesspoint/abc\r\nX: y",
        "arn:aws:s3:eu-west-1:123456789012:job/abc"}) {
    EXPECT_THAT(refusal(arn, Code::kInvalidArgument), HasSubstr("access point '"));
  }
}

TEST(EndpointTest, UsesVirtualHostsOnAws) {
  S3Settings settings;
  EXPECT_EQ(Base("abc", settings), "https://abc.s3.us-east-1.amazonaws.com");
  settings.region = "eu-west-1";
  EXPECT_EQ(Base("abc", settings), "https://abc.s3.eu-west-1.amazonaws.com");
  settings.region = "cn-north-1";
  EXPECT_EQ(Base("abc", settings), "https://abc.s3.cn-north-1.amazonaws.com.cn");
  const auto endpoint = ResolveS3Endpoint("abc", settings);
  EXPECT_TRUE(endpoint->is_aws);
  EXPECT_TRUE(endpoint->IsTls());
  EXPECT_EQ(endpoint->host, "abc.s3.cn-north-1.amazonaws.com.cn");
  EXPECT_EQ(endpoint->region, "cn-north-1");
}

TEST(EndpointTest, UsesPathsForDotsOverTls) {
  S3Settings settings;
  EXPECT_EQ(Base("a.b.c", settings), "https://s3.us-east-1.amazonaws.com/a.b.c");
  settings.addressing = Addressing::kVirtualHost;
  EXPECT_EQ(Base("a.b.c", settings), "https://a.b.c.s3.us-east-1.amazonaws.com");
}

TEST(EndpointTest, UsesACustomEndpoint) {
  EXPECT_EQ(Base("abc", At("http://127.0.0.1:9000")), "http://127.0.0.1:9000/abc");
  EXPECT_EQ(Base("abc", At("https://minio.local/")), "https://minio.local/abc");
  EXPECT_EQ(Base("abc", At("https://host/base/")), "https://host/base/abc");
  EXPECT_EQ(Base("abc", At("http://[::1]:9000")), "http://[::1]:9000/abc");
  EXPECT_EQ(Base("abc", At("http://localhost:80")), "http://localhost/abc");
  EXPECT_EQ(Base("abc", At("http://localhost:7070", Addressing::kVirtualHost)),
            "http://abc.localhost:7070");
  EXPECT_FALSE(ResolveS3Endpoint("abc", At("http://localhost"))->is_aws);
}

TEST(EndpointTest, RefusesInvalidEndpoints) {
  for (const char *text :
       {"localhost:9000", "ftp://x", "http://", "https://user:SECRET@host", "https://host?x=SECRET",
        "https://ho st", "https://host#x", "http://host:99999", "http://h\r\nX: y"}) {
    const Status status = ResolveS3Endpoint("abc", At(text)).GetStatus();
    EXPECT_EQ(status.GetCode(), Code::kInvalidConfig) << text;
    EXPECT_THAT(status.Message(), HasSubstr("S3 endpoint"));
    EXPECT_THAT(status.Message(), testing::Not(HasSubstr("SECRET")));
  }
}

TEST(EndpointTest, AddressesHaveNoVirtualHosts) {
  for (const char *text : {"http://127.0.0.1:9000", "http://[::1]"}) {
    const Status status = ResolveS3Endpoint("abc", At(text, Addressing::kVirtualHost)).GetStatus();
    EXPECT_EQ(status.GetCode(), Code::kInvalidConfig);
    EXPECT_THAT(status.Message(), HasSubstr("choose path addressing"));
  }
}

// A region becomes part of the host that receives the signature.
TEST(EndpointTest, RefusesInvalidRegions) {
  for (const char *region : {"evil.com/", "a.b", "US-EAST-1", "-a", "a-", "a b", "a\n", "@x"}) {
    S3Settings settings;
    settings.region = region;
    EXPECT_EQ(ResolveS3Endpoint("abc", settings).GetStatus().GetCode(), Code::kInvalidConfig);
    EXPECT_EQ(FindS3Settings({}, Variables::Of({{"AWS_REGION", region}}), Config(""))
                  .GetStatus()
                  .GetCode(),
              Code::kInvalidConfig);
  }
}

TEST(S3SettingsTest, RegionOrder) {
  const auto region = [](const S3Settings &given, Variables::Values v) {
    return FindS3Settings(given, Variables::Of(std::move(v)), Config("[default]\nregion=d\n"))
        ->region;
  };
  S3Settings given;
  given.region = "a";
  EXPECT_EQ(region(given, {{"AWS_REGION", "b"}}), "a");
  EXPECT_EQ(region({}, {{"AWS_REGION", "b"}, {"AWS_DEFAULT_REGION", "c"}}), "b");
  EXPECT_EQ(region({}, {{"AWS_DEFAULT_REGION", "c"}}), "c");
  EXPECT_EQ(region({}, {}), "d");
  EXPECT_EQ(FindS3Settings({}, Variables(), Config(""))->region, "");
}

constexpr std::string_view kEndpoints =
    "[default]\nendpoint_url = http://profile\nservices = s\n"
    "[services s]\ns3 =\n  endpoint_url = http://services\n";

TEST(S3SettingsTest, EndpointOrder) {
  const auto endpoint = [](const S3Settings &given, std::string_view config, Variables::Values v) {
    return FindS3Settings(given, Variables::Of(std::move(v)), Config(config))->endpoint;
  };
  EXPECT_EQ(endpoint(At("http://given"), kEndpoints, {{"AWS_ENDPOINT_URL_S3", "http://own"}}),
            "http://given");
  EXPECT_EQ(endpoint({}, kEndpoints,
                     {{"AWS_ENDPOINT_URL_S3", "http://own"}, {"AWS_ENDPOINT_URL", "http://all"}}),
            "http://own");
  EXPECT_EQ(endpoint({}, kEndpoints, {{"AWS_ENDPOINT_URL", "http://all"}}), "http://all");
  EXPECT_EQ(endpoint({}, kEndpoints, {}), "http://services");
  EXPECT_EQ(endpoint({}, "[default]\nendpoint_url = http://profile\n", {}), "http://profile");
}

TEST(S3SettingsTest, ConfiguredEndpointsCanBeIgnored) {
  const Variables ignoring = Variables::Of(
      {{"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true"}, {"AWS_ENDPOINT_URL", "http://all"}});
  EXPECT_EQ(FindS3Settings({}, ignoring, Config(kEndpoints))->endpoint, "");
  EXPECT_EQ(FindS3Settings(At("http://given"), ignoring, Config(kEndpoints))->endpoint,
            "http://given");
  const Profiles profile =
      Config("[default]\nignore_configured_endpoint_urls=true\nendpoint_url=http://p\n");
  EXPECT_EQ(FindS3Settings({}, Variables(), profile)->endpoint, "");
  const Variables not_ignoring = Variables::Of({{"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "false"}});
  EXPECT_EQ(FindS3Settings({}, not_ignoring, profile)->endpoint, "http://p");
}

TEST(S3SettingsTest, AddressingAndCertificates) {
  const Profiles profile =
      Config("[default]\nca_bundle = ~/p.pem\ns3 =\n  addressing_style = PATH\n");
  const auto settings = FindS3Settings({}, Variables::Of({{"HOME", "/h"}}), profile);
  EXPECT_EQ(settings->addressing, Addressing::kPath);
  EXPECT_EQ(settings->ca_bundle, "/h/p.pem");
  EXPECT_EQ(FindS3Settings({}, Variables::Of({{"AWS_CA_BUNDLE", "/e.pem"}}), profile)->ca_bundle,
            "/e.pem");
  const Profiles own = Config("[default]\ns3 =\n  use_arn_region = False\n");
  EXPECT_FALSE(FindS3Settings({}, Variables(), own)->uses_arn_region);
  EXPECT_TRUE(
      FindS3Settings({}, Variables::Of({{"AWS_S3_USE_ARN_REGION", "true"}}), own)->uses_arn_region);
  EXPECT_TRUE(settings->uses_arn_region);
  const Profiles wrong = Config("[default]\ns3 =\n  addressing_style = paht\n");
  EXPECT_EQ(FindS3Settings({}, Variables(), wrong).GetStatus().GetCode(), Code::kInvalidConfig);
}

}  // namespace
}  // namespace smdebug::aws::endpoint_test
