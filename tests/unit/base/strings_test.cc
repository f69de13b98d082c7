#include "base/strings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace smdebug::strings_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

TEST(StrCat, JoinsTextsNumbersAndLetters) {
  const std::string text = "b";
  EXPECT_EQ(StrCat("a", text, 'c', 1, std::string_view("d"), int64_t{-2}), "abc1d-2");
  EXPECT_EQ(StrCat(), "");
}

TEST(Trim, RemovesBlanksAtBothEnds) {
  EXPECT_EQ(Trim(" \t\r\n\f\va b\n"), "a b");
  EXPECT_EQ(Trim(" \n"), "");
  EXPECT_EQ(Trim(""), "");
}

TEST(SplitList, TrimsPartsAndOmitsEmptyParts) {
  EXPECT_THAT(SplitList("min, max ,,abs_mean"), ElementsAre("min", "max", "abs_mean"));
  EXPECT_THAT(SplitList("a:b", ':'), ElementsAre("a", "b"));
  EXPECT_THAT(SplitList(" , ,"), IsEmpty());
  EXPECT_THAT(SplitList(""), IsEmpty());
}

TEST(Join, SeparatesEqualParts) {
  EXPECT_EQ(Join({}, ","), "");
  EXPECT_EQ(Join({"a"}, ","), "a");
  EXPECT_EQ(Join({"a", "", "a"}, ", "), "a, , a");
}

TEST(ToLower, ChangesAsciiOnly) { EXPECT_EQ(ToLower("AbZ9É"), "abz9É"); }

TEST(ParseInt, TakesTheWholeText) {
  EXPECT_THAT(ParseInt("42"), Optional(42));
  EXPECT_THAT(ParseInt(" -7\n"), Optional(-7));
  EXPECT_THAT(ParseInt("9223372036854775807"), Optional(std::numeric_limits<int64_t>::max()));
  for (const std::string_view text : {"", " ", "4 2", "42x", "0x2A", "4.0", "1e3", "-", "+-1"}) {
    EXPECT_EQ(ParseInt(text), std::nullopt) << text;
  }
  EXPECT_EQ(ParseInt("9223372036854775808"), std::nullopt);
}

TEST(ParseDouble, TakesTheWholeText) {
  EXPECT_THAT(ParseDouble(" 1.5e-3 "), Optional(0.0015));
  EXPECT_THAT(ParseDouble("-2"), Optional(-2.0));
  EXPECT_EQ(ParseDouble("1.5x"), std::nullopt);
  EXPECT_EQ(ParseDouble("1,5"), std::nullopt);
  EXPECT_EQ(ParseDouble(""), std::nullopt);
}

TEST(ParseBool, AcceptsCommonWordsInAnyCase) {
  for (const std::string_view text : {"true", "True", " 1 ", "YES", "on"}) {
    EXPECT_THAT(ParseBool(text), Optional(true)) << text;
  }
  for (const std::string_view text : {"false", "FALSE", "0", "no", "Off"}) {
    EXPECT_THAT(ParseBool(text), Optional(false)) << text;
  }
  EXPECT_EQ(ParseBool("2"), std::nullopt);
  EXPECT_EQ(ParseBool(""), std::nullopt);
}

TEST(ZeroPadded, NeverCutsDigits) {
  EXPECT_EQ(ZeroPadded(7, 9), "000000007");
  EXPECT_EQ(ZeroPadded(1'234'567'890'123, 12), "1234567890123");
  EXPECT_EQ(ZeroPadded(0, 1), "0");
}

TEST(DidYouMean, SuggestsTheNearestCandidate) {
  EXPECT_EQ(DidYouMean("mim", {"max", "min", "mean"}), "; did you mean 'min'?");
  EXPECT_EQ(DidYouMean("save_intervall", {"save_steps", "save_interval"}),
            "; did you mean 'save_interval'?");
  EXPECT_EQ(DidYouMean("Exploding", {"TensorVariance", "ExplodingTensor"}),
            "; did you mean 'ExplodingTensor'?");
  EXPECT_EQ(DidYouMean("gradient", {"Gradients", "VanishingGradient"}),
            "; did you mean 'Gradients'?");
}

TEST(DidYouMean, SuggestsNothingIfNothingIsSimilar) {
  EXPECT_EQ(DidYouMean("quantile", {"max", "min", "mean"}), "");
  EXPECT_EQ(DidYouMean("min", {}), "");
  EXPECT_EQ(DidYouMean(std::string(100'000, 'x'), {"min"}), "");
}

TEST(WellFormed, ReplacesEachByteThatIsNoUtf8) {
  EXPECT_EQ(WellFormed("a\x7fé€😀"), "a\x7fé€😀");
  EXPECT_EQ(WellFormed("\xff"
                       "é\xc3"),
            "\uFFFDé\uFFFD");
  EXPECT_EQ(WellFormed("\xe2\x82"), "\uFFFD\uFFFD");
}

TEST(IsUtf8, AcceptsWellFormedTextOnly) {
  EXPECT_TRUE(IsUtf8(""));
  EXPECT_TRUE(IsUtf8("a\x7fé€😀"));
  EXPECT_TRUE(IsUtf8("\xf4\x8f\xbf\xbf")) << "U+10FFFF";
  for (const std::string_view text :
       {"\x80", "\xc3", "\xc0\xaf", "\xe0\x9f\xbf", "\xe2\x82", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "a\xc3(", "\xe2(\xa1"}) {
    EXPECT_FALSE(IsUtf8(text)) << testing::PrintToString(text);
  }
}

}  // namespace
}  // namespace smdebug::strings_test
