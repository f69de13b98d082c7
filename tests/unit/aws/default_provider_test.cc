#include "aws/default_provider.h"

#include "aws/provider_fixture.h"

namespace smdebug::aws::default_provider_test {
namespace {

using testing::HasSubstr;

class DefaultProviderTest : public ProviderFixture {
 protected:
  Result<Credentials> Get(const CredentialsOptions &options = {}, Variables::Values values = {}) {
    values.emplace("AWS_EC2_METADATA_DISABLED", "true");
    const auto provider =
        MakeDefaultProvider(options, Context(std::move(values)).variables, http_, clock_);
    if (!provider.IsOk()) return provider.GetStatus();
    return (*provider)->Get();
  }
  std::string Key(const CredentialsOptions &options = {}, Variables::Values values = {}) {
    const auto found = Get(options, std::move(values));
    return found.IsOk() ? found->access_key : found.GetStatus().Message();
  }
};

const Variables::Values kEnvironmentKeys = {{"AWS_ACCESS_KEY_ID", "ENV"},
                                            {"AWS_SECRET_ACCESS_KEY", "S"}};

TEST_F(DefaultProviderTest, ExplicitKeysAccessNothingElse) {
  folder_.Write("config", "broken");
  EXPECT_EQ(Key({.access_key = "A", .secret_key = "B"}, kEnvironmentKeys), "A");
}

TEST_F(DefaultProviderTest, SearchesInOrder) {
  folder_.Write("credentials", "[default]\naws_access_key_id=FILE\naws_secret_access_key=S\n");
  folder_.Write("config",
                "[default]\naws_access_key_id=CONFIG\naws_secret_access_key=S\n"
                "[profile p]\naws_access_key_id=P\naws_secret_access_key=S\nsso_session=x\n"
                "[profile process]\naws_access_key_id=CONFIG\naws_secret_access_key=S\n"
                "credential_process = echo {\\\"Version\\\":1,\\\"AccessKeyId\\\":\\\"PROC\\\","
                "\\\"SecretAccessKey\\\":\\\"s\\\"}\n"
                "[profile sso]\nsso_session = x\n");
  EXPECT_EQ(Key({}, kEnvironmentKeys), "ENV");
  EXPECT_EQ(Key(), "FILE");
  EXPECT_EQ(Key({.profile = "p"}, kEnvironmentKeys), "P") << "a given profile takes precedence";
  Variables::Values with_profile = kEnvironmentKeys;
  with_profile["AWS_PROFILE"] = "p";
  EXPECT_EQ(Key({}, with_profile), "ENV");
  EXPECT_EQ(Key({.profile = "process"}), "PROC");
  EXPECT_THAT(Key({.profile = "sso"}), HasSubstr("neither sso_account_id nor"));
}

TEST_F(DefaultProviderTest, ListsAllPlacesIfNoneHasCredentials) {
  const auto found = Get();
  EXPECT_EQ(CodeOf(found), Code::kCredentials);
  for (const char *place :
       {"environment (AWS_ACCESS_KEY_ID", "role of profile default", "web identity",
        "credential_process of profile default", "profile default in ", "container (AWS_CONTAINER",
        "instance metadata (AWS_EC2_METADATA_DISABLED)", "run `aws configure`"}) {
    EXPECT_THAT(MessageOf(found), HasSubstr(place));
  }
  EXPECT_THAT(MessageOf(found), HasSubstr(folder_.Path("credentials")));
  EXPECT_THAT(MessageOf(found), HasSubstr(folder_.Path("config")));
}

TEST_F(DefaultProviderTest, StopsAtAnUnusablePlace) {
  folder_.Write("config", "[default]\nrole_arn = r\nsource_profile = none\n");
  EXPECT_THAT(Key({}, {{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/x"}}),
              HasSubstr("profile 'none'"));
  EXPECT_TRUE(http_->Sent().empty());
}

TEST_F(DefaultProviderTest, RefusesInvalidSettings) {
  EXPECT_EQ(CodeOf(Get({.access_key = "A"})), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf(Get({.secret_key = "HUSH"})), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf(Get({}, {{"AWS_MAX_ATTEMPTS", "x"}})), Code::kInvalidConfig);
}

}  // namespace
}  // namespace smdebug::aws::default_provider_test
