#include "aws/ini.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/small_file.h"
#include "storage/temporary_folder.h"

namespace smdebug::aws::ini_test {
namespace {

using storage::TemporaryFolder;
using testing::HasSubstr;
using testing::Not;
using testing::Pointee;
using testing::StartsWith;

std::string Value(std::string_view text, std::string_view section, std::string_view key) {
  const auto file = ParseIni(text, "f");
  if (!file.IsOk()) return file.GetStatus().Message();
  const IniSection *found = file->Find(section);
  const std::string *value = found == nullptr ? nullptr : found->Find(key);
  return value == nullptr ? "(none)" : *value;
}

TEST(IniTest, SectionsAndSettings) {
  constexpr std::string_view kText =
      "# a comment\n"
      "[default]\r\n"
      "aws_access_key_id = AK=ID\n"
      "Region:eu-west-1   \n"
      "; another\n"
      "empty =\n"
      "\n"
      "[ profile a b ] # behind\n"
      "region=x # not a comment\n";
  EXPECT_EQ(Value(kText, "default", "aws_access_key_id"), "AK=ID");
  EXPECT_EQ(Value(kText, "default", "region"), "eu-west-1");
  EXPECT_EQ(Value(kText, "default", "empty"), "(none)");
  EXPECT_EQ(Value(kText, "profile a b", "region"), "x # not a comment");
  EXPECT_EQ(Value(kText, "profile c", "region"), "(none)");
}

TEST(IniTest, AcceptsAByteOrderMarkAndAMissingLastNewline) {
  EXPECT_EQ(Value("\xEF\xBB\xBF[a]\nb=c", "a", "b"), "c");
}

TEST(IniTest, NestedSettings) {
  const auto file = ParseIni(
      "[profile x]\n"
      "s3 =\n"
      "    addressing_style = path\n"
      "\n"
      "    # between\n"
      "    Max_Queue = 1\n"
      "region = y\n",
      "f");
  ASSERT_TRUE(file.IsOk());
  const IniSection *section = file->Find("profile x");
  EXPECT_THAT(section->FindNested("s3", "addressing_style"), Pointee(std::string("path")));
  EXPECT_THAT(section->FindNested("s3", "max_queue"), Pointee(std::string("1")));
  EXPECT_THAT(section->Find("region"), Pointee(std::string("y")));
  EXPECT_EQ(section->FindNested("s3", "region"), nullptr);
  EXPECT_EQ(section->FindNested("region", "y"), nullptr);
}

TEST(IniTest, ContinuedValuesKeepTheirLines) {
  EXPECT_EQ(Value("[a]\nb = c\n   d\n  [e]\nf = g", "a", "b"), "c\nd\n[e]");
  EXPECT_EQ(Value("[a]\nb = c\n   d\n  [e]\nf = g", "a", "f"), "g");
}

TEST(IniTest, IndentedSectionsAreNotContinuations) {
  EXPECT_EQ(Value("  [a]\n  b = c\n  d = e\n", "a", "b"), "c");
  EXPECT_EQ(Value("  [a]\n  b = c\n  d = e\n", "a", "d"), "e");
}

TEST(IniTest, MergesRepeatedSectionsAndKeys) {
  constexpr std::string_view kText = "[a]\nb=1\nc=2\n[d]\n[a]\nb=3\n";
  EXPECT_EQ(Value(kText, "a", "b"), "3");
  EXPECT_EQ(Value(kText, "a", "c"), "2");
}

TEST(IniTest, ErrorsNameTheLineAndNeverAValue) {
  for (const char *text : {
           "[a]\n\nSENSITIVE\n",
           "\n\nb = SENSITIVE\n",
           "[a]\nb=1\n= SENSITIVE\n",
           "[a]\nb=1\n[SENSITIVE\n",
           "[a]\nb=1\n[ ]\n",
           "[a]\nb=\n  SENSITIVE\n",
       }) {
    const Status status = ParseIni(text, "/h/config").GetStatus();
    EXPECT_EQ(status.GetCode(), Code::kInvalidConfig) << text;
    EXPECT_THAT(status.Message(), StartsWith("/h/config:3: ")) << text;
    EXPECT_THAT(status.Message(), Not(HasSubstr("SENSITIVE")));
  }
  EXPECT_THAT(ParseIni(std::string_view("[a]\nb=\0c", 8), "f").GetStatus().Message(),
              HasSubstr("NUL"));
}

TEST(IniTest, SurvivesHostileTexts) {
  for (const std::string &piece :
       {std::string("["), std::string("]\n"), std::string("[a]\n"), std::string("[a]\nb=\n c=\n"),
        std::string(" \n"), std::string("=\n"), std::string("\x80\xFF")}) {
    std::string text;
    while (text.size() < 100'000) text.append(piece);
    const auto file = ParseIni(text, "f");
    EXPECT_TRUE(file.IsOk() || file.GetStatus().GetCode() == Code::kInvalidConfig);
  }
}

TEST(IniTest, AMissingFileCountsAsEmpty) {
  const TemporaryFolder folder;
  EXPECT_TRUE(ReadIni(folder.Path("none"))->sections.empty());
  EXPECT_TRUE(ReadIni("")->sections.empty());
  EXPECT_TRUE(ReadIni("/dev/null")->sections.empty());
  folder.Write("config", "[a]\nb=c\n");
  EXPECT_NE(ReadIni(folder.Path("config"))->Find("a"), nullptr);
}

TEST(SmallFileTest, ReadsOnlySmallRegularFiles) {
  const TemporaryFolder folder;
  EXPECT_EQ(ReadSmallFile(folder.Path()).GetStatus().GetCode(), Code::kInvalidConfig);
  EXPECT_EQ(ReadSmallFile("/dev/zero").GetStatus().GetCode(), Code::kInvalidConfig);
  folder.Write("f", std::string(100, 'x'));
  EXPECT_EQ(ReadSmallFile(folder.Path("f"), 100)->size(), 100U);
  EXPECT_THAT(ReadSmallFile(folder.Path("f"), 99).GetStatus().Message(),
              StartsWith(folder.Path("f") + ": is longer than 99 bytes"));
  EXPECT_EQ(ReadSmallFile(folder.Path("g")).GetStatus().GetCode(), Code::kNotFound);
}

}  // namespace
}  // namespace smdebug::aws::ini_test
