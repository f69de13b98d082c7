#include "aws/provider_fixture.h"

namespace smdebug::aws::provider_role_test {
namespace {

using testing::HasSubstr;

constexpr std::string_view kBase = "[base]\naws_access_key_id=AKBASE\naws_secret_access_key=HUSH\n";

class ProviderRoleTest : public ProviderFixture {
 protected:
  void SetUp() override {
    Answering([](const SentRequest &) { return Answer(200, StsAnswer("AssumeRole", "AKROLE")); });
    folder_.Write("credentials", kBase);
  }

  Result<Credentials> Get(std::string_view config, Variables::Values values = {}) {
    folder_.Write("config", config);
    return MakeRoleProvider(Context(std::move(values)))->Get();
  }
};

TEST_F(ProviderRoleTest, AssumesTheRoleWithKeysOfTheSourceProfile) {
  const auto found =
      Get("[default]\nrole_arn = arn:aws:iam::1:role/r\nsource_profile = base\nexternal_id = e+d\n"
          "role_session_name = me\nduration_seconds = 1800\nregion = eu-west-1\n");
  ASSERT_TRUE(found.IsOk()) << MessageOf(found);
  EXPECT_EQ(found->access_key, "AKROLE");
  EXPECT_EQ(found->secret_key, "ROLEHUSH");
  EXPECT_EQ(found->session_token, "ROLETOKEN");
  EXPECT_EQ(found->expires_at, kStsExpiry);
  EXPECT_EQ(found->source, "role arn:aws:iam::1:role/r of profile default");

  ASSERT_EQ(http_->Sent().size(), 1U);
  const SentRequest sent = http_->Sent()[0];
  EXPECT_EQ(sent.method, "POST");
  EXPECT_EQ(sent.url, "https://sts.eu-west-1.amazonaws.com/");
  EXPECT_EQ(sent.body,
            "Action=AssumeRole&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fr"
            "&RoleSessionName=me&DurationSeconds=1800&ExternalId=e%2Bd");
  EXPECT_EQ(sent.Header("host"), "sts.eu-west-1.amazonaws.com");
  EXPECT_THAT(sent.Header("authorization"),
              HasSubstr("Credential=AKBASE/19700112/eu-west-1/sts/aws4_request, "
                        "SignedHeaders=content-type;host;x-amz-date,"));
}

TEST_F(ProviderRoleTest, FindsNothingWithoutARole) {
  EXPECT_EQ(CodeOf(Get("[default]\nregion = x\n")), Code::kNotFound);
  EXPECT_EQ(CodeOf(Get("[default]\nrole_arn = r\nweb_identity_token_file = /t\n")),
            Code::kNotFound);
}

TEST_F(ProviderRoleTest, RolesOfRoles) {
  const auto found =
      Get("[default]\nrole_arn = outer\nsource_profile = middle\n"
          "[profile middle]\nrole_arn = inner\nsource_profile = base\n");
  ASSERT_TRUE(found.IsOk()) << MessageOf(found);
  ASSERT_EQ(http_->Sent().size(), 2U);
  EXPECT_THAT(http_->Sent()[0].body, HasSubstr("RoleArn=inner"));
  EXPECT_THAT(http_->Sent()[1].body, HasSubstr("RoleArn=outer"));
  EXPECT_THAT(http_->Sent()[1].Header("authorization"), HasSubstr("Credential=AKROLE/"));
  EXPECT_EQ(http_->Sent()[1].Header("x-amz-security-token"), "ROLETOKEN");
}

TEST_F(ProviderRoleTest, MessagesShowLoops) {
  auto found = Get(
      "[default]\nrole_arn = r\nsource_profile = a\n[profile a]\nrole_arn = r\nsource_profile = b\n"
      "[profile b]\nrole_arn = r\nsource_profile = a\n");
  EXPECT_EQ(CodeOf(found), Code::kCredentials);
  EXPECT_THAT(MessageOf(found), HasSubstr("default -> a -> b -> a"));
  found = Get("[default]\nrole_arn = r\nsource_profile = default\n");
  EXPECT_THAT(MessageOf(found), HasSubstr("default -> default"));
  EXPECT_TRUE(http_->Sent().empty());
}

TEST_F(ProviderRoleTest, AProfileWithKeysMayBeItsOwnSource) {
  folder_.Write("credentials", "[default]\naws_access_key_id=OWN\naws_secret_access_key=B\n");
  ASSERT_TRUE(Get("[default]\nrole_arn = r\nsource_profile = default\n").IsOk());
  EXPECT_THAT(http_->Sent()[0].Header("authorization"), HasSubstr("Credential=OWN/"));
}

TEST_F(ProviderRoleTest, OtherSources) {
  const Variables::Values keys = {{"AWS_ACCESS_KEY_ID", "AKENV"}, {"AWS_SECRET_ACCESS_KEY", "B"}};
  constexpr std::string_view kFromEnvironment =
      "[default]\nrole_arn = r\ncredential_source = Environment\n";
  ASSERT_TRUE(Get(kFromEnvironment, keys).IsOk());
  EXPECT_THAT(http_->Sent().back().Header("authorization"), HasSubstr("Credential=AKENV/"));
  const auto none = Get(kFromEnvironment);
  EXPECT_EQ(CodeOf(none), Code::kCredentials);
  EXPECT_THAT(MessageOf(none), HasSubstr("credential_source has no credentials: environment"));
  EXPECT_EQ(CodeOf(Get("[default]\nrole_arn = r\ncredential_source = EcsContainer\n")),
            Code::kCredentials);
  EXPECT_EQ(CodeOf(Get("[default]\nrole_arn = r\ncredential_source = Ec2InstanceMetadata\n",
                       {{"AWS_EC2_METADATA_DISABLED", "true"}})),
            Code::kCredentials);

  ASSERT_TRUE(Get("[default]\nrole_arn = r\nsource_profile = p\n[profile p]\ncredential_process = "
                  "echo '{\"Version\":1,\"AccessKeyId\":\"AKPROC\",\"SecretAccessKey\":\"s\"}'\n")
                  .IsOk());
  EXPECT_THAT(http_->Sent().back().Header("authorization"), HasSubstr("Credential=AKPROC/"));
}

TEST_F(ProviderRoleTest, RefusesInvalidSettings) {
  for (const char *config : {
           "[default]\nrole_arn = r\n",
           "[default]\nrole_arn = r\nsource_profile = none\n",
           "[default]\nrole_arn = r\nsource_profile = base\ncredential_source = Environment\n",
           "[default]\nrole_arn = r\ncredential_source = Cloud\n",
           "[default]\nrole_arn = r\nsource_profile = base\nmfa_serial = m\n",
           "[default]\nrole_arn = r\nsource_profile = base\nduration_seconds = long\n",
           "[default]\nrole_arn = r\nsource_profile = base\nduration_seconds = 1\n",
           "[default]\nrole_arn = r\nsource_profile = base\nregion = evil.com/\n",
           "[default]\nrole_arn = r\nsource_profile = e\n[profile e]\n",
           "[default]\nrole_arn = r\nsource_profile = s\n[profile s]\nsso_session = x\n",
       }) {
    const auto found = Get(config);
    EXPECT_EQ(CodeOf(found), Code::kCredentials) << config;
    MessageOf(found);
  }
  EXPECT_TRUE(http_->Sent().empty());
}

TEST_F(ProviderRoleTest, EndpointsOfStsAndChina) {
  constexpr std::string_view kRole = "[default]\nrole_arn = r\nsource_profile = base\n";
  const auto url = [&](Variables::Values values) {
    EXPECT_TRUE(Get(kRole, std::move(values)).IsOk());
    return http_->Sent().back().url;
  };
  EXPECT_EQ(url({}), "https://sts.us-east-1.amazonaws.com/");
  EXPECT_EQ(url({{"AWS_REGION", "cn-north-1"}}), "https://sts.cn-north-1.amazonaws.com.cn/");
  EXPECT_EQ(url({{"AWS_ENDPOINT_URL", "http://127.0.0.1:5000"}}), "http://127.0.0.1:5000/");
  EXPECT_EQ(url({{"AWS_ENDPOINT_URL", "http://a"}, {"AWS_ENDPOINT_URL_STS", "http://b/c"}}),
            "http://b/c");
  EXPECT_EQ(CodeOf(Get(kRole, {{"AWS_ENDPOINT_URL_STS", "http://user:HUSH@b"}})),
            Code::kCredentials);
}

TEST_F(ProviderRoleTest, ReportsRefusalsOfSts) {
  Answering([](const SentRequest &) {
    return Answer(403,
                  "<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code>"
                  "<Message>User u is not authorized</Message></Error></ErrorResponse>");
  });
  const auto found = Get("[default]\nrole_arn = r\nsource_profile = base\n");
  EXPECT_EQ(CodeOf(found), Code::kCredentials);
  EXPECT_THAT(MessageOf(found), HasSubstr("AccessDenied User u is not authorized"));
  EXPECT_EQ(*found.GetStatus().Detail("sts_code"), "AccessDenied");
  EXPECT_EQ(http_->Sent().size(), 1U);
}

TEST_F(ProviderRoleTest, DoesNotQuoteAServerThatRepeatsSecrets) {
  Answering([](const SentRequest &) {
    return Answer(400,
                  "<ErrorResponse><Error><Code>X</Code><Message>you sent HUSH</Message>"
                  "</Error></ErrorResponse>");
  });
  MessageOf(Get("[default]\nrole_arn = r\nsource_profile = base\n"));
}

TEST_F(ProviderRoleTest, RetriesTransientFailures) {
  int calls = 0;
  Answering([&](const SentRequest &) -> Result<net::Response> {
    if (++calls == 1) return NobodyThere();
    if (calls == 2) {
      return Answer(400, "<ErrorResponse><Error><Code>Throttling</Code></Error></ErrorResponse>");
    }
    return Answer(200, StsAnswer("AssumeRole", "AKROLE"));
  });
  EXPECT_TRUE(Get("[default]\nrole_arn = r\nsource_profile = base\n").IsOk());
  EXPECT_EQ(calls, 3);
}

TEST_F(ProviderRoleTest, ReportsAnOutage) {
  Answering([](const SentRequest &) { return NobodyThere(); });
  const auto found = Get("[default]\nrole_arn = r\nsource_profile = base\n");
  EXPECT_EQ(CodeOf(found), Code::kCredentials);
  EXPECT_EQ(*found.GetStatus().Detail("cause"), "NETWORK");
  EXPECT_EQ(http_->Sent().size(), 3U);
}

TEST_F(ProviderRoleTest, RefusesInvalidAnswers) {
  for (const std::string &body :
       {std::string(), std::string("{}"), std::string("<a/>"), std::string("<a"),
        std::string("<AssumeRoleResponse><AssumeRoleResult><Credentials/></AssumeRoleResult>"
                    "</AssumeRoleResponse>"),
        StsAnswer("AssumeRoleWithWebIdentity", "A"), std::string(100'000, '<')}) {
    Answering([&](const SentRequest &) { return Answer(200, body); });
    const auto found = Get("[default]\nrole_arn = r\nsource_profile = base\n");
    EXPECT_EQ(CodeOf(found), Code::kCredentials);
    MessageOf(found);
  }
}

}  // namespace
}  // namespace smdebug::aws::provider_role_test
