#include "aws/provider_fixture.h"

namespace smdebug::aws::provider_instance_test {
namespace {

using testing::HasSubstr;

class ProviderInstanceTest : public ProviderFixture {
 protected:
  void SetUp() override {
    Answering([this](const SentRequest &sent) -> Result<net::Response> {
      if (sent.method == "PUT") return Answer(token_status_, token_);
      if (sent.url.ends_with("/security-credentials/")) return Answer(list_status_, names_);
      return Answer(200, document_);
    });
  }
  Result<Credentials> Get(Variables::Values values = {}) {
    return MakeInstanceProvider(Context(std::move(values)))->Get();
  }

  int token_status_ = 200;
  std::string token_ = "IMDS";
  int list_status_ = 200;
  std::string names_ = "my role\nother\n";
  std::string document_ = R"({"Code": "Success", "AccessKeyId": "A", "SecretAccessKey": "B",
      "Token": "C", "Expiration": "1970-01-12T14:46:40Z"})";
};

TEST_F(ProviderInstanceTest, TokenThenRoleThenKeys) {
  const auto found = Get();
  ASSERT_TRUE(found.IsOk()) << MessageOf(found);
  EXPECT_EQ(found->access_key, "A");
  EXPECT_EQ(found->expires_at, kStsExpiry);
  EXPECT_TRUE(found->may_outlive_expiry);
  const std::vector<SentRequest> sent = http_->Sent();
  ASSERT_EQ(sent.size(), 3U);
  EXPECT_EQ(sent[0].method, "PUT");
  EXPECT_EQ(sent[0].url, "http://169.254.169.254/latest/api/token");
  EXPECT_EQ(sent[0].Header("x-aws-ec2-metadata-token-ttl-seconds"), "21600");
  EXPECT_EQ(sent[1].Header("x-aws-ec2-metadata-token"), "IMDS");
  EXPECT_EQ(sent[2].url,
            "http://169.254.169.254/latest/meta-data/iam/security-credentials/my%20role");
  for (const SentRequest &request : sent) EXPECT_FALSE(request.may_use_proxy);
}

TEST_F(ProviderInstanceTest, NeverVersionOne) {
  for (const int status : {403, 404, 405}) {
    token_status_ = status;
    EXPECT_EQ(CodeOf(Get()), Code::kNotFound);
  }
  for (const SentRequest &sent : http_->Sent()) EXPECT_EQ(sent.method, "PUT");
}

TEST_F(ProviderInstanceTest, OtherEndpoints) {
  const auto first = [&](Variables::Values values) {
    EXPECT_TRUE(Get(std::move(values)).IsOk());
    return http_->Sent()[http_->Sent().size() - 3].url;
  };
  EXPECT_EQ(first({{"AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:1338/"}}),
            "http://127.0.0.1:1338/latest/api/token");
  EXPECT_EQ(first({{"AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE", "IPv6"}}),
            "http://[fd00:ec2::254]/latest/api/token");
  for (const char *url : {"x", "http://u:HUSH@h", "http://h?q", "http://h\r\n"}) {
    const auto found = Get({{"AWS_EC2_METADATA_SERVICE_ENDPOINT", url}});
    EXPECT_EQ(CodeOf(found), Code::kCredentials) << url;
    MessageOf(found);
  }
}

TEST_F(ProviderInstanceTest, WithoutAServer) {
  EXPECT_EQ(CodeOf(Get({{"AWS_EC2_METADATA_DISABLED", "True"}})), Code::kNotFound);
  EXPECT_TRUE(http_->Sent().empty());
  list_status_ = 404;
  EXPECT_EQ(CodeOf(Get()), Code::kNotFound);
  list_status_ = 200;
  names_ = "\n";
  EXPECT_EQ(CodeOf(Get()), Code::kNotFound);
  Answering([](const SentRequest &) { return NobodyThere(); });
  EXPECT_EQ(CodeOf(Get()), Code::kNotFound);
  EXPECT_EQ(http_->Sent().size(), 1U) << "outside AWS each attempt costs a second";
}

TEST_F(ProviderInstanceTest, UnusableAnswers) {
  for (const char *token : {"", "a\r\nX: y", "\n"}) {
    token_ = token;
    EXPECT_EQ(CodeOf(Get()), Code::kCredentials);
  }
  token_ = "t";
  token_status_ = 500;
  EXPECT_EQ(CodeOf(Get()), Code::kCredentials);
  token_status_ = 200;
  list_status_ = 503;
  EXPECT_EQ(CodeOf(Get()), Code::kCredentials);
  list_status_ = 200;
  document_ = R"({"Code": "AssumeRoleUnauthorizedAccess", "Message": "no trust"})";
  const auto found = Get();
  EXPECT_EQ(CodeOf(found), Code::kCredentials);
  EXPECT_THAT(MessageOf(found), HasSubstr("AssumeRoleUnauthorizedAccess no trust"));
  document_ = "HUSH";
  EXPECT_EQ(CodeOf(Get()), Code::kCredentials);
  MessageOf(Get());
}

TEST_F(ProviderInstanceTest, EncodesTheNameOfTheRole) {
  names_ = "../../user-data?x#y";
  ASSERT_TRUE(Get().IsOk());
  EXPECT_THAT(http_->Sent().back().url,
              HasSubstr("security-credentials/..%2F..%2Fuser-data%3Fx%23y"));
}

}  // namespace
}  // namespace smdebug::aws::provider_instance_test
