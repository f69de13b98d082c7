#include "aws/provider_fixture.h"

namespace smdebug::aws::provider_web_identity_test {
namespace {

using testing::HasSubstr;
using testing::Not;

class ProviderWebIdentityTest : public ProviderFixture {
 protected:
  void SetUp() override {
    Answering([](const SentRequest &) {
      return Answer(200, StsAnswer("AssumeRoleWithWebIdentity", "AKWEB"));
    });
    folder_.Write("token", "eyJ.a+b\n");
  }
  Variables::Values Values() const {
    return {{"AWS_WEB_IDENTITY_TOKEN_FILE", folder_.Path("token")},
            {"AWS_ROLE_ARN", "r"},
            {"AWS_ROLE_SESSION_NAME", "me"}};
  }
};

TEST_F(ProviderWebIdentityTest, ReadsTheEnvironment) {
  const auto found = MakeWebIdentityProvider(Context(Values()))->Get();
  ASSERT_TRUE(found.IsOk()) << MessageOf(found);
  EXPECT_EQ(found->access_key, "AKWEB");
  EXPECT_EQ(found->expires_at, kStsExpiry);
  const SentRequest sent = http_->Sent()[0];
  EXPECT_EQ(sent.body,
            "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=r&RoleSessionName=me"
            "&WebIdentityToken=eyJ.a%2Bb");
  EXPECT_EQ(sent.Header("authorization"), "(none)");
}

TEST_F(ProviderWebIdentityTest, TheTokenIsReadEachTime) {
  const ProviderPtr provider = MakeWebIdentityProvider(Context(Values()));
  ASSERT_TRUE(provider->Get().IsOk());
  folder_.Write("token", "next");
  ASSERT_TRUE(provider->Get().IsOk());
  EXPECT_THAT(http_->Sent()[1].body, HasSubstr("WebIdentityToken=next"));
}

TEST_F(ProviderWebIdentityTest, ReadsTheProfile) {
  folder_.Write(
      "config",
      StrCat("[profile p]\nrole_arn = q\nweb_identity_token_file = ", folder_.Path("token"), "\n"));
  ProviderContext context = Context(Values(), "p");
  context.is_profile_given = true;
  const auto found = MakeWebIdentityProvider(context)->Get();
  ASSERT_TRUE(found.IsOk()) << MessageOf(found);
  EXPECT_THAT(http_->Sent()[0].body, HasSubstr("RoleArn=q&RoleSessionName=smdebug-1000000"));
}

TEST_F(ProviderWebIdentityTest, ReportsMissingSettings) {
  EXPECT_EQ(CodeOf(MakeWebIdentityProvider(Context())->Get()), Code::kNotFound);
  EXPECT_EQ(CodeOf(MakeWebIdentityProvider(Context({{"AWS_ROLE_ARN", "r"}}))->Get()),
            Code::kNotFound);
  Variables::Values values = Values();
  values.erase("AWS_ROLE_ARN");
  EXPECT_EQ(CodeOf(MakeWebIdentityProvider(Context(values))->Get()), Code::kCredentials);

  for (const char *token : {"", " \n"}) {
    folder_.Write("token", token);
    EXPECT_EQ(CodeOf(MakeWebIdentityProvider(Context(Values()))->Get()), Code::kCredentials);
  }
  values = Values();
  values["AWS_WEB_IDENTITY_TOKEN_FILE"] = folder_.Path("none");
  const auto found = MakeWebIdentityProvider(Context(values))->Get();
  EXPECT_EQ(CodeOf(found), Code::kCredentials);
  EXPECT_THAT(MessageOf(found), HasSubstr(folder_.Path("none")));
  EXPECT_TRUE(http_->Sent().empty());
}

TEST_F(ProviderWebIdentityTest, TheTokenIsNeverShown) {
  Answering([](const SentRequest &) {
    return Answer(400,
                  "<ErrorResponse><Error><Code>InvalidIdentityToken</Code>"
                  "<Message>bad: eyJ.a+b</Message></Error></ErrorResponse>");
  });
  const auto found = MakeWebIdentityProvider(Context(Values()))->Get();
  EXPECT_EQ(CodeOf(found), Code::kCredentials);
  EXPECT_THAT(MessageOf(found), Not(HasSubstr("eyJ")));
}

}  // namespace
}  // namespace smdebug::aws::provider_web_identity_test
