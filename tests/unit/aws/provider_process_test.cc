#include "aws/process.h"
#include "aws/provider_fixture.h"

namespace smdebug::aws::provider_process_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(SplitCommandTest, SplitsLikeAShell) {
  EXPECT_THAT(*SplitCommand("  a\tb  'c d' \"e \\\" \\f\" g\\ h '' i'j'\"k\" "),
              ElementsAre("a", "b", "c d", "e \" \\f", "g h", "", "ijk"));
  EXPECT_THAT(*SplitCommand("a $HOME `x` *; b | c"),
              ElementsAre("a", "$HOME", "`x`", "*;", "b", "|", "c"));
}

TEST(SplitCommandTest, RefusesInvalidCommands) {
  for (const char *text : {"", "  ", "''", "a 'HUSH", "a \"HUSH\\\"", "HUSH\\"}) {
    const Status status = SplitCommand(text).GetStatus();
    EXPECT_EQ(status.GetCode(), Code::kInvalidConfig) << text;
    EXPECT_THAT(status.Message(), Not(HasSubstr("HUSH")));
  }
}

std::vector<std::string> Shell(const char *script) { return {"/bin/sh", "-c", script}; }

TEST(RunProcessTest, ReturnsTheOutput) {
  EXPECT_EQ(*RunProcess({"echo", "a b", "c"}), "a b c\n");
  EXPECT_EQ(*RunProcess(Shell("cat; echo HUSH >&2; printf x")), "x");
}

TEST(RunProcessTest, MessagesOmitArguments) {
  for (const char *script : {"exit 3 # HUSH", "echo HUSH >&2; kill -9 $$"}) {
    const Status status = RunProcess(Shell(script)).GetStatus();
    EXPECT_EQ(status.GetCode(), Code::kIo);
    EXPECT_THAT(status.Message(), HasSubstr("/bin/sh"));
    EXPECT_THAT(status.Message(), Not(HasSubstr("HUSH")));
  }
  const Status status = RunProcess({"/nonexistent/program", "HUSH"}).GetStatus();
  EXPECT_EQ(status.GetCode(), Code::kNotFound);
  EXPECT_THAT(status.Message(), Not(HasSubstr("HUSH")));
}

TEST(RunProcessTest, LimitsOfTimeAndOutput) {
  const ProcessLimits limits{std::chrono::milliseconds(50), 1000};
  EXPECT_EQ(RunProcess(Shell("sleep 60 & sleep 60"), limits).GetStatus().GetCode(), Code::kTimeout);
  EXPECT_EQ(RunProcess(Shell("exec >&-; exec sleep 60"), limits).GetStatus().GetCode(),
            Code::kTimeout);
  EXPECT_EQ(RunProcess(Shell("while :; do echo x; done"), {std::chrono::seconds(20), 1000})
                .GetStatus()
                .GetCode(),
            Code::kCorruptData);
}

class ProviderProcessTest : public ProviderFixture {
 protected:
  // Gets the credentials of a program that writes `json`.
  Result<Credentials> Get(std::string_view json) {
    folder_.Write("out.json", json);
    folder_.Write("config", StrCat("[default]\ncredential_process = cat \"",
                                   folder_.Path("out.json"), "\"\n"));
    return MakeProcessProvider(Context())->Get();
  }
};

TEST_F(ProviderProcessTest, VersionOne) {
  const auto found = Get(
      R"({"Version": 1, "AccessKeyId": "A", "SecretAccessKey": "B", "SessionToken": "C",
          "Expiration": "1970-01-12T14:46:40Z", "More": {}})");
  ASSERT_TRUE(found.IsOk()) << MessageOf(found);
  EXPECT_EQ(found->access_key, "A");
  EXPECT_EQ(found->session_token, "C");
  EXPECT_EQ(found->expires_at, kStsExpiry);
  EXPECT_EQ(found->source, "credential_process of profile default");
}

TEST_F(ProviderProcessTest, WithoutATokenOrExpiry) {
  const auto found = Get(R"({"Version": 1, "AccessKeyId": "A", "SecretAccessKey": "B"})");
  ASSERT_TRUE(found.IsOk());
  EXPECT_EQ(found->session_token, "");
  EXPECT_EQ(found->expires_at, std::nullopt);
}

TEST_F(ProviderProcessTest, RefusesInvalidOutput) {
  for (const char *json : {
           "",
           "HUSH",
           "[\"HUSH\"]",
           "{\"Version\": 1, \"SecretAccessKey\": \"HUSH\"",
           R"({"AccessKeyId": "A", "SecretAccessKey": "HUSH"})",
           R"({"Version": 2, "AccessKeyId": "A", "SecretAccessKey": "HUSH"})",
           R"({"Version": "HUSH", "AccessKeyId": "A", "SecretAccessKey": "HUSH"})",
           R"({"Version": 1, "SecretAccessKey": "HUSH"})",
           R"({"Version": 1, "AccessKeyId": "A", "SecretAccessKey": ["HUSH"]})",
           R"({"Version": 1, "AccessKeyId": "A", "SecretAccessKey": "B", "Expiration": "HUSH"})",
       }) {
    const auto found = Get(json);
    EXPECT_EQ(CodeOf(found), Code::kCredentials) << json;
    MessageOf(found);
  }
}

TEST_F(ProviderProcessTest, CommandsThatCannotRun) {
  EXPECT_EQ(CodeOf(MakeProcessProvider(Context())->Get()), Code::kNotFound);
  for (const char *command : {"/nonexistent HUSH", "'HUSH", "false HUSH"}) {
    folder_.Write("config", StrCat("[default]\ncredential_process = ", command, "\n"));
    const auto found = MakeProcessProvider(Context())->Get();
    EXPECT_EQ(CodeOf(found), Code::kCredentials);
    MessageOf(found);
  }
}

}  // namespace
}  // namespace smdebug::aws::provider_process_test
