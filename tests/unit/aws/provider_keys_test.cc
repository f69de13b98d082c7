// Static keys: explicit, in the environment, in files; and the refusal of sign-ons.
#include "aws/provider_fixture.h"

namespace smdebug::aws::provider_keys_test {
namespace {

using testing::HasSubstr;

using ProviderKeysTest = ProviderFixture;

TEST_F(ProviderKeysTest, Static) {
  const auto found = MakeStaticProvider({"A", "B", "C"})->Get();
  EXPECT_EQ(found->access_key, "A");
  EXPECT_EQ(found->secret_key, "B");
  EXPECT_EQ(found->session_token, "C");
}

TEST_F(ProviderKeysTest, Environment) {
  const auto get = [](Variables::Values values) {
    return MakeEnvironmentProvider(Variables::Of(std::move(values)))->Get();
  };
  const auto found =
      get({{"AWS_ACCESS_KEY_ID", "A"}, {"AWS_SECRET_ACCESS_KEY", "B"}, {"AWS_SESSION_TOKEN", "C"}});
  ASSERT_TRUE(found.IsOk());
  EXPECT_EQ(found->access_key, "A");
  EXPECT_EQ(found->secret_key, "B");
  EXPECT_EQ(found->session_token, "C");
  EXPECT_EQ(found->source, "environment");
  EXPECT_EQ(found->expires_at, std::nullopt);

  EXPECT_EQ(CodeOf(get({})), Code::kNotFound);
  EXPECT_EQ(CodeOf(get({{"AWS_SESSION_TOKEN", "C"}})), Code::kNotFound);
  const auto half = get({{"AWS_SECRET_ACCESS_KEY", "HUSH"}});
  EXPECT_EQ(CodeOf(half), Code::kCredentials);
  EXPECT_THAT(MessageOf(half), HasSubstr("AWS_ACCESS_KEY_ID is not"));
  EXPECT_EQ(CodeOf(get({{"AWS_ACCESS_KEY_ID", "A"}})), Code::kCredentials);
}

TEST_F(ProviderKeysTest, EachFileHasAProvider) {
  folder_.Write("credentials",
                "[default]\naws_access_key_id=A\naws_secret_access_key=B\naws_session_token=C\n");
  folder_.Write("config", "[profile x]\naws_access_key_id=D\naws_secret_access_key=E\n");
  const auto keys = MakeCredentialsFileProvider(Context())->Get();
  ASSERT_TRUE(keys.IsOk());
  EXPECT_EQ(keys->access_key, "A");
  EXPECT_EQ(keys->session_token, "C");
  EXPECT_EQ(keys->source, "profile default in " + folder_.Path("credentials"));
  EXPECT_EQ(CodeOf(MakeConfigFileProvider(Context())->Get()), Code::kNotFound);

  const ProviderContext other = Context({{"AWS_PROFILE", "x"}});
  EXPECT_EQ(CodeOf(MakeCredentialsFileProvider(other)->Get()), Code::kNotFound);
  EXPECT_EQ(MakeConfigFileProvider(other)->Get()->secret_key, "E");
}

TEST_F(ProviderKeysTest, ReadsRenewedFiles) {
  const ProviderPtr provider = MakeCredentialsFileProvider(Context());
  EXPECT_EQ(CodeOf(provider->Get()), Code::kNotFound);
  folder_.Write("credentials", "[default]\naws_access_key_id=A\naws_secret_access_key=B\n");
  EXPECT_EQ(provider->Get()->access_key, "A");
}

TEST_F(ProviderKeysTest, RefusesHalfAPairOfKeys) {
  folder_.Write("credentials", "[default]\naws_secret_access_key=HUSH\n");
  const auto found = MakeCredentialsFileProvider(Context())->Get();
  EXPECT_EQ(CodeOf(found), Code::kCredentials);
  EXPECT_THAT(MessageOf(found), HasSubstr("aws_access_key_id is missing"));
}

TEST_F(ProviderKeysTest, RefusesBrokenFilesAndUnknownProfiles) {
  folder_.Write("credentials", "[default]\nHUSH\n");
  auto found = MakeCredentialsFileProvider(Context())->Get();
  EXPECT_EQ(CodeOf(found), Code::kCredentials);
  EXPECT_THAT(MessageOf(found), HasSubstr("credentials:2: "));
  EXPECT_EQ(*found.GetStatus().Detail("cause"), "INVALID_CONFIG");
  folder_.Write("credentials", "[default]\n");
  found = MakeCredentialsFileProvider(Context({}, "defalt"))->Get();
  EXPECT_EQ(CodeOf(found), Code::kCredentials);
  EXPECT_THAT(MessageOf(found), HasSubstr("did you mean 'default'?"));
}

TEST_F(ProviderKeysTest, RefusesProfilesThatRequireASignOn) {
  EXPECT_EQ(CodeOf(MakeSignOnRefusal(Context())->Get()), Code::kNotFound);
  const auto message = [&](const char *key) {
    folder_.Write("config", StrCat("[default]\n", key, " = x\n"));
    const auto found = MakeSignOnRefusal(Context())->Get();
    EXPECT_EQ(CodeOf(found), Code::kCredentials);
    return MessageOf(found);
  };
  for (const char *key : {"sso_session", "sso_start_url"}) {
    EXPECT_THAT(message(key), HasSubstr("neither sso_account_id nor sso_role_name"));
  }
  EXPECT_THAT(message("login_session"), HasSubstr("not supported"));
  EXPECT_THAT(message("login_session"), HasSubstr("aws configure export-credentials"));
}

}  // namespace
}  // namespace smdebug::aws::provider_keys_test
