#include "base/regex.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
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

TEST(Regex, MatchesAnywhere) {
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

// The syntax that differs between Python and PCRE2.
TEST(Regex, UsesTheSyntaxOfPython) {
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

TEST(Regex, SupportsUnicodeLetters) {
  EXPECT_TRUE(IsFound(R"(^\d$)", "٣"));
  EXPECT_TRUE(IsFound(R"(^\w+$)", "épsilon"));
  EXPECT_TRUE(IsFound("(?i)É", "é"));
  EXPECT_TRUE(IsFound("^.$", "😀"));
}

TEST(Regex, RefusesWhatPythonRefuses) {
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

TEST(Regex, ErrorsContainExpressionAndOffset) {
  EXPECT_EQ(CompileError("abc("),
            "regular expression 'abc(': missing closing parenthesis at offset 4");
  EXPECT_EQ(CompileError(R"(ab\h)"), R"(regular expression 'ab\h': bad escape \h at offset 2)");
  EXPECT_THAT(CompileError(R"(a\Zb[z-a])"), HasSubstr("at offset 7"))
      << "an offset in the given text, not in that for PCRE2";
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

TEST(Regex, StopsExcessiveSearches) {
  const std::string text = std::string(40, 'a') + "b";
  for (const std::string_view expression : {"(a+)+$", "(a|aa)+$", R"((a*)*\1$)"}) {
    const Result<Regex> regex = Regex::Compile(expression);
    ASSERT_TRUE(regex.IsOk());
    const Result<bool> found = regex->IsFoundIn(text);
    EXPECT_EQ(found.GetStatus().GetCode(), Code::kInvalidConfig) << expression;
    EXPECT_THAT(found.GetStatus().Message(), HasSubstr(std::string(expression)));
  }
}

// Takes some 20,000 steps of a search.
constexpr std::string_view kCostly = "(?:a|aa){9}c$";
std::string CostlyText(int number) { return std::string(40, 'a') + "cb" + std::to_string(number); }

TEST(RegexBudget, CheapSearchesCostNothing) {
  const Result<Regex> regex = Regex::Compile("^(?!gradient).*weight");
  ASSERT_TRUE(regex.IsOk());
  RegexBudget budget(0);
  for (int i = 0; i < 1000; ++i) {
    const auto found = budget.IsFoundIn(*regex, "net/conv1/weight" + std::to_string(i));
    ASSERT_TRUE(found.IsOk());
    EXPECT_TRUE(*found);
  }
}

TEST(RegexBudget, CostlySearchesFailOnceItIsUsedUp) {
  const Result<Regex> regex = Regex::Compile(kCostly);
  ASSERT_TRUE(regex.IsOk());
  RegexBudget budget(1'000'000);
  int searches = 0;
  Status status;
  for (; status.IsOk() && searches < 1000; ++searches) {
    status = budget.IsFoundIn(*regex, CostlyText(searches)).GetStatus();
  }
  EXPECT_GT(searches, 10);
  EXPECT_LT(searches, 1000);
  EXPECT_EQ(status.GetCode(), Code::kInvalidConfig);
  EXPECT_THAT(status.Message(), HasSubstr("together"));
  EXPECT_THAT(status.Message(), HasSubstr(std::string(kCostly)));
  EXPECT_TRUE(budget.IsFoundIn(*regex, CostlyText(0)).IsOk()) << "its outcome is remembered";
  const Result<Regex> cheap = Regex::Compile("a");
  ASSERT_TRUE(cheap.IsOk());
  EXPECT_TRUE(budget.IsFoundIn(*cheap, "a").IsOk());
}

TEST(RegexBudget, BoundsWhatAHostileFileCosts) {
  std::vector<Regex> regexes;
  for (int i = 0; i < 900; ++i) {
    const auto regex =
        Regex::Compile("(?:a|aa){" + std::to_string(9 + i % 5) + "}" + std::to_string(i) + "$");
    ASSERT_TRUE(regex.IsOk());
    regexes.push_back(*regex);
  }
  RegexBudget budget;
  const auto before = std::chrono::steady_clock::now();
  for (int name = 0; name < 300; ++name) {
    for (const Regex &regex : regexes) (void)budget.IsFoundIn(regex, CostlyText(name) + "x");
  }
  // Without a budget it takes minutes.
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(60));
}

TEST(Regex, LongTextsAreSearchedToTheEnd) {
  const std::string text = std::string(1'000'000, 'a') + "b";
  EXPECT_TRUE(IsFound("b$", text));
  EXPECT_TRUE(IsFound("^a*b", text));
  EXPECT_TRUE(IsFound("^(a|c)*?b", std::string(100'000, 'a') + "b")) << "one level per letter";
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
