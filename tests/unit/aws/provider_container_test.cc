#include "aws/provider_fixture.h"

namespace smdebug::aws::provider_container_test {
namespace {

using testing::HasSubstr;

constexpr const char *kDocument =
    R"({"AccessKeyId": "A", "SecretAccessKey": "B", "Token": "C",
        "Expiration": "1970-01-12T14:46:40Z", "RoleArn": "r"})";

class ProviderContainerTest : public ProviderFixture {
 protected:
  void SetUp() override {
    Answering([](const SentRequest &) { return Answer(200, kDocument); });
  }
  Result<Credentials> Get(Variables::Values values) {
    return MakeContainerProvider(Context(std::move(values)))->Get();
  }
};

TEST_F(ProviderContainerTest, TheRelativeUriComesFirst) {
  const auto found = Get({{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/x?id=1"},
                          {"AWS_CONTAINER_CREDENTIALS_FULL_URI", "https://other/"}});
  ASSERT_TRUE(found.IsOk()) << MessageOf(found);
  EXPECT_EQ(found->access_key, "A");
  EXPECT_EQ(found->session_token, "C");
  EXPECT_EQ(found->expires_at, kStsExpiry);
  const SentRequest sent = http_->Sent()[0];
  EXPECT_EQ(sent.url, "http://169.254.170.2/v2/x?id=1");
  EXPECT_EQ(sent.Header("authorization"), "(none)");
  EXPECT_FALSE(sent.may_use_proxy);
}

TEST_F(ProviderContainerTest, TokensAndTheirFile) {
  Variables::Values values = {{"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.23/v1"},
                              {"AWS_CONTAINER_AUTHORIZATION_TOKEN", "one"}};
  ASSERT_TRUE(Get(values).IsOk());
  EXPECT_EQ(http_->Sent()[0].Header("authorization"), "one");
  folder_.Write("token", "two");
  values["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = folder_.Path("token");
  ASSERT_TRUE(Get(values).IsOk());
  EXPECT_EQ(http_->Sent()[1].Header("authorization"), "two");
}

TEST_F(ProviderContainerTest, RefusesTokensThatNoHeaderCanContain) {
  const Variables::Values uri = {{"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://localhost/"}};
  for (const char *token : {"HUSH\r\nX: y", "HUSH\n", "\rHUSH"}) {
    Variables::Values values = uri;
    values["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = token;
    EXPECT_EQ(CodeOf(Get(values)), Code::kCredentials);
    MessageOf(Get(values));
    folder_.Write("token", token);
    values = uri;
    values["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = folder_.Path("token");
    EXPECT_EQ(CodeOf(Get(values)), Code::kCredentials);
    MessageOf(Get(values));
  }
  Variables::Values values = uri;
  values["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = folder_.Path("none");
  EXPECT_EQ(CodeOf(Get(values)), Code::kCredentials);
  EXPECT_TRUE(http_->Sent().empty());
}

TEST_F(ProviderContainerTest, AcceptsOnlyTrustedServers) {
  for (const char *url :
       {"https://anywhere.example/x", "http://localhost:8080/", "http://LOCALHOST/",
        "http://127.0.0.1/", "http://127.9.9.9:1/x", "http://169.254.170.2/",
        "http://169.254.170.23/v1/credentials", "http://[::1]/", "http://[fd00:ec2::23]/v1"}) {
    EXPECT_TRUE(CheckContainerUrl(url).IsOk()) << url;
  }
  for (const char *url : {"http://anywhere.example/",
                          "http://169.254.169.254/",
                          "http://169.254.170.3/",
                          "http://10.0.0.1/",
                          "http://127.1/",
                          "http://0x7f.0.0.1/",
                          "http://2130706433/",
                          "http://0177.0.0.1/",
                          "http://127.0.0.1.example.com/",
                          "http://localhost.example.com/",
                          "http://localhost@example.com/",
                          "http://127.0.0.1@example.com/",
                          "http://example.com#@127.0.0.1/",
                          "http://example.com\\@127.0.0.1/",
                          "http://[::2]/",
                          "http://[::ffff:127.0.0.1]/",
                          "https://user:HUSH@host/",
                          "ftp://127.0.0.1/",
                          "localhost",
                          "",
                          "http://127.0.0.1\r\nX: y",
                          "http://127.0.0.1 /"}) {
    const Status status = CheckContainerUrl(url);
    EXPECT_FALSE(status.IsOk()) << url;
    EXPECT_THAT(status.Message(), testing::Not(HasSubstr("HUSH")));
    const auto found = Get({{"AWS_CONTAINER_CREDENTIALS_FULL_URI", url}});
    EXPECT_EQ(CodeOf(found), *url == '\0' ? Code::kNotFound : Code::kCredentials) << url;
  }
  EXPECT_TRUE(http_->Sent().empty());
}

TEST_F(ProviderContainerTest, RelativeUrisStayOnTheServer) {
  for (const char *uri : {"@example.com/", "x", ":80@example.com", "http://example.com/",
                          ".example.com/", "/a b", "/a\r\nX: y"}) {
    EXPECT_EQ(CodeOf(Get({{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", uri}})), Code::kCredentials)
        << uri;
  }
  EXPECT_TRUE(http_->Sent().empty());
}

TEST_F(ProviderContainerTest, Failures) {
  EXPECT_EQ(CodeOf(Get({})), Code::kNotFound);
  const Variables::Values uri = {{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/x"}};
  for (const int status : {204, 301, 302, 307, 400, 403, 404, 500}) {
    Answering([=](const SentRequest &) { return Answer(status, kDocument); });
    const auto found = Get(uri);
    EXPECT_EQ(CodeOf(found), Code::kCredentials);
    EXPECT_THAT(MessageOf(found), HasSubstr(StrCat("status ", status)));
    EXPECT_EQ(http_->Sent().size(), status == 500 ? 3U : 1U);
  }
  Answering([](const SentRequest &) { return NobodyThere(); });
  EXPECT_EQ(CodeOf(Get(uri)), Code::kCredentials);
  Answering([](const SentRequest &) { return Answer(200, "HUSH"); });
  EXPECT_EQ(CodeOf(Get(uri)), Code::kCredentials);
  MessageOf(Get(uri));
}

}  // namespace
}  // namespace smdebug::aws::provider_container_test
