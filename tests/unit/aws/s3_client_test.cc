#include "aws/s3_client.h"

#include <thread>

#include "aws/s3_fixture.h"

namespace smdebug::aws::s3_client_test {
namespace {

using testing::HasSubstr;

class S3ClientTest : public S3Fixture {
 protected:
  net::Request Sign(const S3Request &request, std::string_view hash = kEmptyPayloadHash) {
    auto made = Client().Sign(request, hash);
    EXPECT_TRUE(made.IsOk()) << made.GetStatus().Message();
    return made.IsOk() ? std::move(made->request) : net::Request{};
  }
  static std::string HeaderOf(const net::Request &request, std::string_view name) {
    return SentRequest{"", "", request.headers, ""}.Header(name);
  }
  std::string HashOf(const std::vector<ByteSpan> &body) {
    const auto hash = Client().HashPayload(body);
    return hash.IsOk() ? *hash : hash.GetStatus().Message();
  }
};

constexpr std::string_view kHashOfText =
    "982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1";

TEST_F(S3ClientTest, SignsWhatItSends) {
  S3Request request;
  request.key = "a b/c+d";
  request.query = {{"prefix", "x/y"}, {"list-type", "2"}};
  request.headers = {{"range", "bytes=0-1"}};
  request.body = {AsBytes("text")};
  const net::Request made = Sign(request, kHashOfText);
  EXPECT_EQ(made.url, "https://host.test/bucket/a%20b/c%2Bd?list-type=2&prefix=x%2Fy");
  EXPECT_EQ(HeaderOf(made, "host"), "host.test");
  EXPECT_EQ(HeaderOf(made, "range"), "bytes=0-1");
  EXPECT_EQ(HeaderOf(made, "x-amz-content-sha256"), kHashOfText);
  EXPECT_EQ(HeaderOf(made, "x-amz-date"), "19700112T134640Z");
  EXPECT_EQ(HeaderOf(made, "x-amz-security-token"), "TOKENHUSH1");
  const std::string authorization = HeaderOf(made, "authorization");
  EXPECT_THAT(authorization, HasSubstr("Credential=AKID/19700112/us-east-1/s3/aws4_request"));
  EXPECT_THAT(authorization, HasSubstr("SignedHeaders=host;range;x-amz-content-sha256;x-amz-date;"
                                       "x-amz-security-token"));
  ASSERT_EQ(made.body.size(), 1U);
  EXPECT_EQ(AsText(made.body[0]), "text");
}

TEST_F(S3ClientTest, PassesLimitsAndTimeouts) {
  parts_.timeouts.first_byte = std::chrono::seconds(3);
  S3Request request;
  request.body_limit = 17;
  const net::Request made = Sign(request);
  EXPECT_EQ(made.body_limit, 17U);
  EXPECT_EQ(made.timeouts.first_byte, std::chrono::seconds(3));
  EXPECT_EQ(made.url, "https://host.test/bucket/");
}

TEST_F(S3ClientTest, AddressesAwsByVirtualHosts) {
  parts_.settings.endpoint = "";
  S3Request request;
  request.key = "key";
  EXPECT_EQ(Sign(request).url, "https://bucket.s3.us-east-1.amazonaws.com/key");
  EXPECT_EQ(HeaderOf(Sign(request), "host"), "bucket.s3.us-east-1.amazonaws.com");
}

TEST_F(S3ClientTest, SendsNoTokenIfThereIsNone) {
  parts_.credentials = MakeStaticProvider({"AKID", "SECRETHUSH", ""});
  EXPECT_EQ(HeaderOf(Sign({}), "x-amz-security-token"), "(none)");
}

TEST_F(S3ClientTest, RefusesKeysThatNoHeaderCanContain) {
  parts_.credentials = MakeStaticProvider({"AKID", "SECRETHUSH", "TOKENHUSH\r\nx: y"});
  const auto made = Client().Sign({}, kEmptyPayloadHash);
  EXPECT_EQ(made.GetStatus().GetCode(), Code::kCredentials);
  (void)MessageOf(made.GetStatus());
}

TEST_F(S3ClientTest, HashesThePayload) {
  EXPECT_EQ(HashOf({AsBytes("te"), {}, AsBytes("xt")}), kHashOfText);
  EXPECT_EQ(HashOf({}), kEmptyPayloadHash);
  EXPECT_EQ(HashOf({ByteSpan()}), kEmptyPayloadHash);
}

TEST_F(S3ClientTest, LeavesThePayloadUnsignedOverTlsIfRequested) {
  parts_.signs_payload = false;
  EXPECT_EQ(HashOf({AsBytes("text")}), kUnsignedPayload);
  EXPECT_EQ(HashOf({}), kEmptyPayloadHash) << "an empty payload needs no hashing";
}

TEST_F(S3ClientTest, AlwaysSignsThePayloadOverHttp) {
  parts_.signs_payload = false;
  parts_.settings.endpoint = "http://host.test";
  EXPECT_EQ(HashOf({AsBytes("text")}), kHashOfText);
}

TEST_F(S3ClientTest, FormatsLocations) {
  EXPECT_EQ(Client().Bucket(), "bucket");
  EXPECT_EQ(Client().LocationOf(""), "s3://bucket");
  EXPECT_EQ(Client().LocationOf("a/b"), "s3://bucket/a/b");
}

TEST_F(S3ClientTest, RefusesInvalidSettings) {
  parts_.settings.endpoint = "host";
  EXPECT_EQ(S3Client::Open(parts_).GetStatus().GetCode(), Code::kInvalidConfig);
}

TEST_F(S3ClientTest, MovesToAnotherRegion) {
  parts_.settings.endpoint = "";
  EXPECT_FALSE(Client().MoveTo("us-east-1")) << "the region in use";
  EXPECT_TRUE(Client().MoveTo("eu-west-1"));
  EXPECT_FALSE(Client().MoveTo("eu-west-1"));
  EXPECT_FALSE(Client().MoveTo("no region"));
  EXPECT_EQ(Client().Endpoint().host, "bucket.s3.eu-west-1.amazonaws.com");
  EXPECT_THAT(HeaderOf(Sign({}), "authorization"), HasSubstr("/eu-west-1/s3/"));
}

TEST_F(S3ClientTest, StaysAtItsEndpoint) {
  EXPECT_TRUE(Client().MoveTo("eu-west-1"));
  EXPECT_EQ(Client().Endpoint().Base(), "https://host.test/bucket");
}

TEST_F(S3ClientTest, DatesRequestsByTheServicesClock) {
  EXPECT_FALSE(Client().SetTime(1'000'000 + 59)) << "a request may take that long";
  EXPECT_EQ(Client().Skew(), 0);
  EXPECT_TRUE(Client().SetTime(1'000'000 - 3600));
  EXPECT_EQ(Client().Skew(), -3600);
  EXPECT_FALSE(Client().SetTime(1'000'000 - 3600));
  EXPECT_EQ(HeaderOf(Sign({}), "x-amz-date"), "19700112T124640Z");
  clock_.Pass(std::chrono::hours(24));
  EXPECT_EQ(HeaderOf(Sign({}), "x-amz-date"), "19700113T124640Z");
  EXPECT_THAT(HeaderOf(Sign({}), "authorization"), HasSubstr("/19700113/"));
}

// The key is cached, and must never be used for another scope.
TEST_F(S3ClientTest, DerivesAKeyForEachSecretDayAndRegion) {
  const auto signature = [&] { return HeaderOf(Sign({}), "authorization"); };
  const std::string first = signature();
  EXPECT_EQ(signature(), first);
  EXPECT_TRUE(Client().MoveTo("eu-west-1"));
  EXPECT_NE(signature(), first);
  EXPECT_TRUE(Client().MoveTo("us-east-1"));
  EXPECT_EQ(signature(), first);
  clock_.Pass(std::chrono::hours(24));
  EXPECT_NE(signature(), first);
  clock_.Pass(-std::chrono::hours(24));
  EXPECT_EQ(signature(), first);
}

TEST_F(S3ClientTest, IsSafeFromAnyThread) {
  S3Client &client = Client();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 50; ++round) {
        (void)client.MoveTo(i % 2 == 0 ? "eu-west-1" : "us-east-1");
        (void)client.SetTime(1'000'000 + 1000.0 * i);
        (void)client.Skew();
        EXPECT_TRUE(client.Sign({}, kEmptyPayloadHash).IsOk());
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
}

}  // namespace
}  // namespace smdebug::aws::s3_client_test
