#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "aws/provider_fixture.h"
#include "base/json.h"

namespace smdebug::aws::provider_sso_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// printf corp | sha1sum; printf https://x.awsapps.com/start | sha1sum
constexpr const char *kSessionFile = "ee0bfd2552fbd840c02cc48b6e823320543c450f.json";
constexpr const char *kStartUrlFile = "3947de8b16688092197fa616c34e01335f21d256.json";
constexpr const char *kSession =
    "[default]\nsso_session = corp\nsso_account_id = 123456789012\nsso_role_name = the role\n"
    "[sso-session corp]\nsso_region = eu-west-1\nsso_start_url = https://x.awsapps.com/start\n";
constexpr const char *kLegacy =
    "[default]\nsso_start_url = https://x.awsapps.com/start\nsso_region = eu-west-1\n"
    "sso_account_id = 123456789012\nsso_role_name = r\n";
constexpr const char *kAnswer =
    R"({"roleCredentials": {"accessKeyId": "A", "secretAccessKey": "HUSH", "sessionToken": "T",
        "expiration": 1003600000}})";
// The fake clock starts at 1,000,000 s: 1970-01-12T13:46:40Z.
constexpr const char *kFresh = "1970-01-12T14:46:40Z";
constexpr const char *kSoon = "1970-01-12T13:50:00Z";
constexpr const char *kPast = "1970-01-12T13:46:40Z";

class ProviderSsoTest : public ProviderFixture {
 protected:
  void SetUp() override {
    folder_.Write("config", kSession);
    std::filesystem::create_directories(Cache());
    Answering([this](const SentRequest &sent) -> Result<net::Response> {
      return sent.method == "POST" ? renewal_ : portal_;
    });
  }
  ProviderContext Home(Variables::Values values = {}) {
    values.emplace("HOME", folder_.Path("home"));
    return Context(std::move(values));
  }
  std::string Cache() const { return folder_.Path("home/.aws/sso/cache"); }
  Result<Credentials> Get(Variables::Values values = {}) {
    return MakeSsoProvider(Home(std::move(values)))->Get();
  }
  void WriteToken(std::string_view text, std::string_view file = kSessionFile) {
    folder_.Write(StrCat("home/.aws/sso/cache/", file), text);
  }
  static std::string Token(std::string_view expiry, std::string_view more = "") {
    return StrCat(R"({"accessToken": "HUSH-1", "expiresAt": ")", expiry, "\"", more, "}");
  }
  static std::string Renewable(std::string_view expiry, std::string_view registered = kFresh) {
    return Token(expiry, StrCat(R"(, "refreshToken": "HUSH-R", "clientId": "HUSH-C",
        "clientSecret": "HUSH-S", "registrationExpiresAt": ")",
                                registered, "\""));
  }
  std::string Written() const { return folder_.Read(StrCat("home/.aws/sso/cache/", kSessionFile)); }

  net::Response portal_ = Answer(200, kAnswer);
  net::Response renewal_ =
      Answer(200, R"({"accessToken": "HUSH-2", "expiresIn": 28800, "refreshToken": "HUSH-R2"})");
};

TEST_F(ProviderSsoTest, UsesTheCachedTokenOfASession) {
  WriteToken(Token(kFresh));
  const auto found = Get();
  ASSERT_TRUE(found.IsOk()) << MessageOf(found);
  EXPECT_EQ(found->access_key, "A");
  EXPECT_EQ(found->secret_key, "HUSH");
  EXPECT_EQ(found->session_token, "T");
  EXPECT_EQ(found->expires_at, 1'003'600);
  EXPECT_EQ(found->source, "SSO of profile default");
  ASSERT_EQ(http_->Sent().size(), 1U);
  const SentRequest sent = http_->Sent()[0];
  EXPECT_EQ(sent.url,
            "https://portal.sso.eu-west-1.amazonaws.com/federation/credentials"
            "?role_name=the%20role&account_id=123456789012");
  EXPECT_EQ(sent.Header("x-amz-sso_bearer_token"), "HUSH-1");
  EXPECT_EQ(sent.Header("authorization"), "(none)");
}

TEST_F(ProviderSsoTest, UsesTheCachedTokenOfAStartUrl) {
  folder_.Write("config", kLegacy);
  WriteToken(Token("1970-01-12T14:46:40UTC"), kStartUrlFile);
  EXPECT_TRUE(Get().IsOk()) << MessageOf(Get());
  // A start URL's token is never renewed, as with the AWS command line.
  WriteToken(Renewable(kSoon), kStartUrlFile);
  EXPECT_TRUE(Get().IsOk()) << MessageOf(Get());
  for (const SentRequest &sent : http_->Sent()) EXPECT_EQ(sent.method, "GET");
}

TEST_F(ProviderSsoTest, OtherProfilesAreNotItsConcern) {
  for (const char *config :
       {"", "[default]\nregion = eu-west-1\n", "[default]\nsso_session = x\n"}) {
    folder_.Write("config", config);
    EXPECT_EQ(CodeOf(Get()), Code::kNotFound) << config;
  }
}

TEST_F(ProviderSsoTest, RefusesIncompleteSettings) {
  const auto message = [&](std::string_view config) {
    folder_.Write("config", config);
    EXPECT_EQ(CodeOf(Get()), Code::kCredentials) << config;
    return MessageOf(Get());
  };
  EXPECT_THAT(message("[default]\nsso_account_id = 1\n"),
              HasSubstr("sso_start_url is missing; run `aws configure sso --profile default`"));
  EXPECT_THAT(message("[default]\nsso_account_id = 1\nsso_session = no\n"),
              HasSubstr("sso_session 'no' does not exist"));
  EXPECT_THAT(message(StrCat("[default]\nsso_region = us-east-1\n", kSession)),
              HasSubstr("sso_region differs from that of its sso_session"));
  EXPECT_THAT(message("[default]\nsso_role_name = r\nsso_session = corp\n[sso-session corp]\n"
                      "sso_start_url = u\nsso_region = r\n"),
              HasSubstr("sso_account_id is missing"));
  EXPECT_THAT(http_->Sent(), IsEmpty());
}

TEST_F(ProviderSsoTest, SaysHowToGetAToken) {
  constexpr const char *kAdvice = "run `aws sso login --profile default`";
  EXPECT_THAT(MessageOf(Get()), AllOf(HasSubstr("there is no SSO token"), HasSubstr(kAdvice)));
  WriteToken(Token(kPast));
  EXPECT_THAT(MessageOf(Get()), AllOf(HasSubstr("has expired"), HasSubstr(kAdvice)));
  WriteToken(Renewable(kPast, kPast));
  EXPECT_THAT(MessageOf(Get()), AllOf(HasSubstr("has expired"), HasSubstr(kAdvice)));
  EXPECT_THAT(http_->Sent(), IsEmpty());
  WriteToken(Token(kFresh));
  portal_ = Answer(401, "HUSH");
  EXPECT_THAT(MessageOf(Get()),
              AllOf(HasSubstr("status 401"), HasSubstr("no longer valid"), HasSubstr(kAdvice)));
  EXPECT_EQ(CodeOf(MakeSsoProvider(Context())->Get()), Code::kCredentials);
  EXPECT_THAT(MessageOf(MakeSsoProvider(Context())->Get()), HasSubstr("HOME is not set"));
}

TEST_F(ProviderSsoTest, RenewsTheTokenOfASessionAndWritesItBack) {
  for (const char *expiry : {kSoon, kPast}) {
    WriteToken(Renewable(expiry));
    ASSERT_TRUE(Get().IsOk()) << MessageOf(Get());
    const auto sent = http_->Sent();
    const SentRequest &renewal = sent[sent.size() - 2];
    EXPECT_EQ(renewal.url, "https://oidc.eu-west-1.amazonaws.com/token");
    EXPECT_EQ(renewal.Header("content-type"), "application/json");
    EXPECT_EQ(renewal.body,
              R"({"grantType": "refresh_token", "clientId": "HUSH-C", "clientSecret": "HUSH-S", )"
              R"("refreshToken": "HUSH-R"})");
    EXPECT_EQ(sent.back().Header("x-amz-sso_bearer_token"), "HUSH-2");
    const auto document = JsonDocument::Parse(Written());
    const auto text = [&](const char *key) { return *document->Root().Find(key)->Text(); };
    EXPECT_EQ(text("accessToken"), "HUSH-2");
    EXPECT_EQ(text("refreshToken"), "HUSH-R2");
    EXPECT_EQ(text("expiresAt"), "1970-01-12T21:46:40Z");
    EXPECT_EQ(text("startUrl"), "https://x.awsapps.com/start");
    EXPECT_EQ(text("region"), "eu-west-1");
    EXPECT_EQ(text("registrationExpiresAt"), kFresh);
    struct stat facts {};
    ASSERT_EQ(stat(StrCat(Cache(), "/", kSessionFile).c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777U, 0600U);
  }
  const auto names = std::filesystem::directory_iterator(Cache());
  EXPECT_EQ(std::distance(begin(names), end(names)), 1) << "a temporary file is left";
}

TEST_F(ProviderSsoTest, AFailedRenewalMattersOnceTheTokenHasExpired) {
  renewal_ = Answer(400, R"({"error": "invalid_grant", "error_description": "HUSH"})");
  renewal_.headers.push_back({"x-amzn-errortype", "InvalidGrantException"});
  WriteToken(Renewable(kSoon));
  EXPECT_TRUE(Get().IsOk()) << MessageOf(Get());
  EXPECT_EQ(http_->Sent().back().Header("x-amz-sso_bearer_token"), "HUSH-1");
  WriteToken(Renewable(kPast));
  EXPECT_THAT(MessageOf(Get()), AllOf(HasSubstr("CreateToken failed with status 400 Invalid"),
                                      HasSubstr("run `aws sso login --profile default`")));
  // Another process renewed it.
  Answering([&](const SentRequest &sent) -> Result<net::Response> {
    if (sent.method == "POST") WriteToken(Token(kFresh));
    return sent.method == "POST" ? renewal_ : portal_;
  });
  WriteToken(
      R"({"accessToken": "HUSH-0", "expiresAt": "1970-01-12T13:46:40Z", "refreshToken": "R",
          "clientId": "C", "clientSecret": "S", "registrationExpiresAt": "2000-01-01T00:00:00Z"})");
  EXPECT_TRUE(Get().IsOk()) << MessageOf(Get());
  EXPECT_EQ(http_->Sent().back().Header("x-amz-sso_bearer_token"), "HUSH-1");
}

TEST_F(ProviderSsoTest, KeepsATokenThatCannotBeWritten) {
  WriteToken(Renewable(kPast));
  std::vector<std::string> logged;
  ProviderContext context = Home();
  context.logger = Logger(LogLevel::kWarning,
                          [&](LogLevel, const std::string &message) { logged.push_back(message); });
  Answering([&](const SentRequest &sent) -> Result<net::Response> {
    // The folder disappears while the request is in flight; root may write to any folder.
    if (sent.method == "POST") std::filesystem::rename(Cache(), folder_.Path("moved"));
    return sent.method == "POST" ? renewal_ : portal_;
  });
  context.http = http_;
  const ProviderPtr provider = MakeSsoProvider(context);
  EXPECT_TRUE(provider->Get().IsOk());
  EXPECT_TRUE(provider->Get().IsOk()) << "the token is in memory";
  EXPECT_EQ(http_->Sent().size(), 3U);
  ASSERT_EQ(logged.size(), 1U);
  EXPECT_THAT(logged[0], AllOf(HasSubstr("kept in memory"), HasSubstr("aws sso login"),
                               Not(HasSubstr("HUSH"))));
}

TEST_F(ProviderSsoTest, RefusesHostileFiles) {
  for (const std::string &text : {
           std::string(),
           std::string("HUSH"),
           std::string("[]"),
           std::string("{}"),
           std::string(R"({"accessToken": "HUSH"})"),
           std::string(R"({"accessToken": 1, "expiresAt": "1970-01-12T14:46:40Z"})"),
           std::string(R"({"accessToken": "HUSH", "expiresAt": "tomorrow"})"),
           std::string(R"({"accessToken": "HUSH", "expiresAt": "UTC"})"),
           std::string(R"({"accessToken": "HUSH", "expiresAt": 5})"),
           std::string(
               R"({"accessToken": "HUSH\r\nx-evil: 1", "expiresAt": "1970-01-12T14:46:40Z"})"),
           std::string(R"({"accessToken": "HUSH\u0000", "expiresAt": "1970-01-12T14:46:40Z"})"),
           std::string(R"({"accessToken": "HUSH", "expiresAt": "1970-01-12T14:46:40Z",
                           "refreshToken": []})"),
           std::string("{\"accessToken\": \"HU\0SH\"}", 24),
           Token(kFresh, StrCat(", \"x\": \"", std::string(70000, 'x'), "\"")),
       }) {
    WriteToken(text);
    const auto found = Get();
    EXPECT_EQ(CodeOf(found), Code::kCredentials) << text.substr(0, 99);
    EXPECT_THAT(MessageOf(found), HasSubstr("run `aws sso login --profile default`"));
  }
  EXPECT_THAT(http_->Sent(), IsEmpty());
}

TEST_F(ProviderSsoTest, RefusesHostileAnswers) {
  WriteToken(Token(kFresh));
  for (
      const char *body :
      {"", "HUSH", "[]", "{}", R"({"roleCredentials": 1})", R"({"roleCredentials": {}})",
       R"({"roleCredentials": {"accessKeyId": "A", "secretAccessKey": "HUSH", "sessionToken": "T"}})",
       R"({"roleCredentials": {"accessKeyId": "A", "secretAccessKey": "HUSH", "sessionToken": 5,
            "expiration": 1003600000}})",
       R"({"roleCredentials": {"accessKeyId": "A", "secretAccessKey": "HUSH", "sessionToken": "T",
            "expiration": "soon"}})",
       R"({"roleCredentials": {"accessKeyId": "A", "secretAccessKey": "HUSH", "sessionToken": "T",
            "expiration": -1}})"}) {
    portal_ = Answer(200, body);
    EXPECT_EQ(CodeOf(Get()), Code::kCredentials) << body;
    MessageOf(Get());
  }
  portal_ = Answer(403, "HUSH");
  portal_.headers.push_back({"x-amzn-errortype", "HUSH-1:http://x"});
  EXPECT_THAT(MessageOf(Get()), HasSubstr("GetRoleCredentials failed with status 403"));
  WriteToken(Renewable(kPast));
  for (const char *body :
       {"", "{}", R"({"accessToken": "HUSH", "expiresIn": 0})", R"({"expiresIn": 60})",
        R"({"accessToken": "HUSH\r\nx: y", "expiresIn": 60})",
        R"({"accessToken": "HUSH", "expiresIn": 1e300})",
        R"({"accessToken": "HUSH", "expiresIn": 60, "refreshToken": 7})"}) {
    renewal_ = Answer(200, body);
    EXPECT_EQ(CodeOf(Get()), Code::kCredentials) << body;
    MessageOf(Get());
  }
  EXPECT_EQ(Written(), Renewable(kPast)) << "a bad answer is not written";
}

TEST_F(ProviderSsoTest, EndpointsOfPartitionsAndOfTests) {
  WriteToken(Renewable(kPast));
  const auto urls = [&](std::string_view region, Variables::Values values) {
    std::string config = kSession;
    config.replace(config.find("eu-west-1"), 9, region);
    folder_.Write("config", config);
    WriteToken(Renewable(kPast));
    const size_t before = http_->Sent().size();
    const auto found = Get(std::move(values));
    if (!found.IsOk()) return MessageOf(found);
    const auto sent = http_->Sent();
    const std::string &portal = sent[before + 1].url;
    return StrCat(sent[before].url, " ", portal.substr(0, portal.find("/federation")));
  };
  EXPECT_EQ(urls("cn-north-1", {}),
            "https://oidc.cn-north-1.amazonaws.com.cn/token "
            "https://portal.sso.cn-north-1.amazonaws.com.cn");
  EXPECT_EQ(urls("us-gov-west-1", {}),
            "https://oidc.us-gov-west-1.amazonaws.com/token "
            "https://portal.sso.us-gov-west-1.amazonaws.com");
  EXPECT_EQ(urls("eusc-de-east-1", {}),
            "https://oidc.eusc-de-east-1.amazonaws.eu/token "
            "https://portal.sso.eusc-de-east-1.amazonaws.eu");
  EXPECT_EQ(urls("us-east-1", {{"AWS_ENDPOINT_URL_SSO", "http://127.0.0.1:81/"},
                               {"AWS_ENDPOINT_URL_SSO_OIDC", "http://localhost:82/base"}}),
            "http://localhost:82/base/token http://127.0.0.1:81");
  EXPECT_FALSE(http_->Sent().back().may_use_proxy);
  EXPECT_THAT(urls("us-east-1", {{"AWS_ENDPOINT_URL", "http://10.0.0.1:9000"}}),
              HasSubstr("would expose the SSO token; use https"));
  EXPECT_THAT(urls("us-east-1", {{"AWS_ENDPOINT_URL_SSO_OIDC", "https://user:HUSH@x"}}),
              HasSubstr("without a user"));
  EXPECT_THAT(urls("evil.com/", {}), HasSubstr("sso_region"));
}

}  // namespace
}  // namespace smdebug::aws::provider_sso_test
