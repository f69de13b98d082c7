#include "base/regex.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace smdebug::regex_test {
namespace {

using testing::HasSubstr;

bool IsFound(std::string_view expression, std::string_view text) {
  const Result<Regex> regex = Regex::Compile(expression);
  if (!regex.IsOk()) {
    ADD_FAILURE() << regex.GetStatus().Message();
    return false;
  }
  const Result<bool> found = regex->IsFoundIn(text);
  EXPECT_TRUE(found.IsOk()) << found.GetStatus().Message();
  return found.IsOk() && *found;
}

std::string CompileError(std::string_view expression) {
  const Status status = Regex::Compile(expression).GetStatus();
  EXPECT_EQ(status.GetCode(), Code::kInvalidConfig) << expression;
  return status.Message();
}

TEST(Regex, IsSearchedForAnywhere) {
  EXPECT_TRUE(IsFound("conv", "net/conv1/weight"));
  EXPECT_TRUE(IsFound("", "anything"));
  EXPECT_FALSE(IsFound("^conv", "net/conv1/weight"));
  EXPECT_FALSE(IsFound("Conv", "net/conv1/weight"));
  EXPECT_TRUE(IsFound("(?i)Conv", "net/conv1/weight"));
}

TEST(Regex, ExpressionsOfTheOriginalsCollectionsWork) {
  EXPECT_TRUE(IsFound("^(?!gradient).*weight", "Net_conv1.weight"));
  EXPECT_FALSE(IsFound("^(?!gradient).*weight", "gradient/Net_conv1.weight"));
  EXPECT_TRUE(IsFound("[Ll]oss_(?!input).*output", "CrossEntropyLoss_output_0"));
  EXPECT_FALSE(IsFound("[Ll]oss_(?!input).*output", "CrossEntropyLoss_input_output"));
  EXPECT_TRUE(IsFound("^[a-zA-z]+-.+(?<!(auc|map))$", "train-rmse"));
  EXPECT_FALSE(IsFound("^[a-zA-z]+-.+(?<!(auc|map))$", "train-auc"));
  EXPECT_FALSE(IsFound("^average_shap/.*[^/bias]$", "average_shap/bias"));
}

// What Python and PCRE2 spell differently.
TEST(Regex, SpellingIsPythons) {
  EXPECT_TRUE(IsFound(R"(a\Z)", "ba"));
  EXPECT_FALSE(IsFound(R"(a\Z)", "a\n"));
  EXPECT_TRUE(IsFound("a$", "a\n"));
  EXPECT_TRUE(IsFound("(?m)^$", "a\n")) << "a line begins after the last newline";
  EXPECT_TRUE(IsFound("(?P<n>a)b(?P=n)", "aba"));
  EXPECT_TRUE(IsFound("(?P<R>a)?(?(R)b|c)", "ab")) << "R is a group here, not a recursion";
  EXPECT_TRUE(IsFound("^a{,2}$", "aa"));
  EXPECT_FALSE(IsFound("^a{,2}$", "aaa"));
  EXPECT_TRUE(IsFound("^a{,}$", "aaa"));
  EXPECT_TRUE(IsFound("a{x}{", "a{x}{"));
  EXPECT_TRUE(IsFound("^[[:alpha:]]+$", ":]]")) << "a class of brackets, then a bracket";
  EXPECT_TRUE(IsFound("^[:alpha:]$", "p")) << "a class of letters and colons";
  EXPECT_TRUE(IsFound("[]a]", "]"));
  EXPECT_FALSE(IsFound("[^]a]", "]"));
  EXPECT_FALSE(IsFound(R"(\v)", "\n")) << "one character, not a class";
  EXPECT_TRUE(IsFound(R"(^\v$)", "\v"));
  EXPECT_TRUE(IsFound(R"(^\u00e9\x41\U0001F600$)", "éA😀"));
  EXPECT_TRUE(IsFound(R"(^\101\0$)", std::string_view("A\0", 2)));
  EXPECT_TRUE(IsFound(R"(^(a)\1$)", "aa"));
  EXPECT_TRUE(IsFound(R"([\b])", "\b"));
  EXPECT_TRUE(IsFound("(?u)a(?u:b)(?-i:c)", "abc"));
  EXPECT_TRUE(IsFound("(?x) a # a [bracket\n b", "ab"));
  EXPECT_TRUE(IsFound("(?#a ] comment)a", "a"));
  EXPECT_TRUE(IsFound("^a*+b$", "aab"));
  EXPECT_TRUE(IsFound("^(?>a*)b$", "aab"));
}

TEST(Regex, LettersAreThoseOfUnicode) {
  EXPECT_TRUE(IsFound(R"(^\d$)", "٣"));
  EXPECT_TRUE(IsFound(R"(^\w+$)", "épsilon"));
  EXPECT_TRUE(IsFound("(?i)É", "é"));
  EXPECT_TRUE(IsFound("^.$", "😀"));
}

TEST(Regex, WhatPythonRefusesIsRefused) {
  for (const std::string_view expression :
       {"(",       ")",       "[",         "[z-a]",         "*",        "a**",
        "(?",      "(?P<",    "(?P<n",     "(?P=n)",        "(?<n>a)",  "(?P>n)",
        "(?R)",    "(?1)",    "(?|a)",     "(*ACCEPT)",     "(*UTF)",   "(?C)",
        "(?)",     "a(?i)b",  "(?z)",      "(?i",           "(?(",      "(?(?=a)b)",
        R"(\)",    R"(\z)",   R"(\h)",     R"(\K)",         R"(\Qa\E)", R"(\p{L})",
        R"(\R)",   R"(\x4)",  R"(\x{41})", R"(\u00e)",      R"(\400)",  R"(\8)",
        R"([\8])", R"([\A])", R"(\11)",    R"(\N{BULLET})", "(?<=a*)b"}) {
    CompileError(expression);
  }
}

TEST(Regex, ErrorsNameExpressionAndOffset) {
  EXPECT_EQ(CompileError("abc("),
            "regular expression 'abc(': missing closing parenthesis at offset 4");
  EXPECT_EQ(CompileError(R"(ab\h)"), R"(regular expression 'ab\h': bad escape \h at offset 2)");
  EXPECT_THAT(CompileError(R"(a\Zb[z-a])"), HasSubstr("at offset 7"))
      << "counted in what was given, not in what PCRE2 sees";
  const Status status = Regex::Compile("abc(").GetStatus();
  EXPECT_EQ(*status.Detail("expression"), "abc(");
  EXPECT_EQ(*status.Detail("offset"), "4");
}

TEST(Regex, HostileExpressionsAreRefused) {
  CompileError("a\xff");
  EXPECT_LT(CompileError(std::string(70'000, 'a')).size(), 300U);
  EXPECT_LT(CompileError(std::string(60'000, '(')).size(), 300U);
  CompileError("((a{1000}){1000}){1000}");
  CompileError("a{65536}");
}

TEST(Regex, SearchesThatRunAwayAreEnded) {
  const std::string text = std::string(40, 'a') + "b";
  for (const std::string_view expression : {"(a+)+$", "(a|aa)+$", R"((a*)*\1$)"}) {
    const Result<Regex> regex = Regex::Compile(expression);
    ASSERT_TRUE(regex.IsOk());
    const Result<bool> found = regex->IsFoundIn(text);
    EXPECT_EQ(found.GetStatus().GetCode(), Code::kInvalidConfig) << expression;
    EXPECT_THAT(found.GetStatus().Message(), HasSubstr(std::string(expression)));
  }
}

TEST(Regex, LongTextsAreSearchedToTheEnd) {
  const std::string text = std::string(1'000'000, 'a') + "b";
  EXPECT_TRUE(IsFound("b$", text));
  EXPECT_TRUE(IsFound("^a*b", text));
  EXPECT_TRUE(IsFound("^(a|c)*?b", std::string(100'000, 'a') + "b")) << "one level a letter";
}

TEST(Regex, BytesThatAreNotUtf8MatchNothing) {
  EXPECT_TRUE(IsFound("bar",
                      "foo\xff"
                      "bar"));
  EXPECT_FALSE(IsFound("foo.bar",
                       "foo\xff"
                       "bar"));
  EXPECT_FALSE(IsFound("foo", "\xff\xfe"));
}

TEST(Regex, CopiesShareTheProgram) {
  Result<Regex> regex = Regex::Compile("^a");
  ASSERT_TRUE(regex.IsOk());
  const Regex copy = *regex;
  regex = InvalidConfig("gone");
  EXPECT_EQ(copy.Expression(), "^a");
  EXPECT_TRUE(*copy.IsFoundIn("ab"));
}

TEST(Regex, MatchesFromManyThreads) {
  const Result<Regex> regex = Regex::Compile("^(?!gradient).*(weight|bias)$");
  ASSERT_TRUE(regex.IsOk());
  std::atomic<int> found{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 1000; ++j) {
        if (*regex->IsFoundIn("net/conv1/weight")) ++found;
        if (*regex->IsFoundIn("gradient/net/conv1/weight")) ++found;
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(found, 4000);
}

}  // namespace
}  // namespace smdebug::regex_test
