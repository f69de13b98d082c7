#include "aws/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "storage/temporary_folder.h"

namespace smdebug::aws::profile_test {
namespace {

using storage::TemporaryFolder;
using testing::HasSubstr;

std::optional<std::string> Text(const char *text) { return std::string(text); }

Profiles Parsed(std::string_view credentials, std::string_view config,
                const char *selected = "default") {
  return {*ParseIni(credentials, "/credentials"), *ParseIni(config, "/config"), selected};
}

TEST(ProfilesTest, TheCredentialsFileTakesPrecedence) {
  const Profiles profiles = Parsed("[x]\nregion=a\n", "[profile x]\nregion=b\noutput=c\n");
  EXPECT_EQ(profiles.Find("x", "region"), Text("a"));
  EXPECT_EQ(profiles.Find("x", "output"), Text("c"));
  EXPECT_EQ(profiles.Find("y", "output"), std::nullopt);
}

TEST(ProfilesTest, NamesInTheConfigFile) {
  const Profiles profiles = Parsed("",
                                   "[default]\nregion=a\n[profile \"two words\"]\nregion=b\n"
                                   "[profile\tz]\nregion=c\n[plain]\nregion=d\n[profilex]\n");
  EXPECT_EQ(profiles.Find("default", "region"), Text("a"));
  EXPECT_EQ(profiles.Find("two words", "region"), Text("b"));
  EXPECT_EQ(profiles.Find("z", "region"), Text("c"));
  EXPECT_FALSE(profiles.Has("plain"));
  EXPECT_FALSE(profiles.Has("x"));
}

TEST(ProfilesTest, ProfileDefaultHidesDefault) {
  const Profiles profiles = Parsed("", "[default]\nregion=a\n[profile default]\nregion=b\n");
  EXPECT_EQ(profiles.Find("default", "region"), Text("b"));
}

TEST(ProfilesTest, NestedAndServiceSettings) {
  const Profiles profiles = Parsed("",
                                   "[profile x]\ns3 =\n  addressing_style = path\n"
                                   "services = local\n"
                                   "[services local]\ns3 =\n  endpoint_url = http://s\n",
                                   "x");
  EXPECT_EQ(profiles.FindNested("s3", "addressing_style"), Text("path"));
  EXPECT_EQ(profiles.FindForService("s3", "endpoint_url"), Text("http://s"));
  EXPECT_EQ(profiles.FindForService("sts", "endpoint_url"), std::nullopt);
}

TEST(ProfilesTest, SuggestsTheNearestProfile) {
  const Profiles profiles = Parsed("[training]\n", "[profile other]\n");
  EXPECT_TRUE(profiles.Check("default").IsOk());
  EXPECT_TRUE(profiles.Check("other").IsOk());
  const Status status = profiles.Check("trainin");
  EXPECT_EQ(status.GetCode(), Code::kInvalidConfig);
  EXPECT_THAT(status.Message(), HasSubstr("/credentials"));
  EXPECT_THAT(status.Message(), HasSubstr("[profile trainin], in /config"));
  EXPECT_THAT(status.Message(), HasSubstr("did you mean 'training'?"));
}

TEST(ProfileFilesTest, FindsThePaths) {
  const ProfileFiles usual(Variables::Of({{"HOME", "/h"}}), "");
  EXPECT_EQ(usual.CredentialsPath(), "/h/.aws/credentials");
  EXPECT_EQ(usual.ConfigPath(), "/h/.aws/config");
  EXPECT_EQ(usual.Selected(), "default");

  const Variables variables = Variables::Of({{"HOME", "/h"},
                                             {"AWS_SHARED_CREDENTIALS_FILE", "/c"},
                                             {"AWS_CONFIG_FILE", "~/d"},
                                             {"AWS_PROFILE", "p"}});
  const ProfileFiles named(variables, "");
  EXPECT_EQ(named.CredentialsPath(), "/c");
  EXPECT_EQ(named.ConfigPath(), "/h/d");
  EXPECT_EQ(named.Selected(), "p");
  EXPECT_EQ(ProfileFiles(variables, "q").Selected(), "q");
}

TEST(ProfileFilesTest, HasNoPathsWithoutHome) {
  const auto profiles = ProfileFiles(Variables(), "").Read();
  ASSERT_TRUE(profiles.IsOk());
  EXPECT_FALSE(profiles->Has("default"));
}

TEST(ProfileFilesTest, AreReadEachTime) {
  const TemporaryFolder folder;
  const ProfileFiles files(
      Variables::Of({{"AWS_CONFIG_FILE", folder.Path("config")}, {"HOME", folder.Path()}}), "");
  EXPECT_FALSE(files.Read()->Has("default"));
  folder.Write("config", "[default]\nregion = a\n");
  EXPECT_EQ(files.Read()->Find("default", "region"), Text("a"));
  folder.Write("config", "broken");
  EXPECT_EQ(files.Read().GetStatus().GetCode(), Code::kInvalidConfig);
}

}  // namespace
}  // namespace smdebug::aws::profile_test
