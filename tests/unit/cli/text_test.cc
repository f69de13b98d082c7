// How text is broken into lines, and the words for checks.
#include "text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "check_words.h"

namespace smdebug::cli::text_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(TextTest, LinesBreakBetweenWords) {
  EXPECT_THAT(Wrap("one two three", 7), ElementsAre("one two", "three"));
  EXPECT_THAT(Wrap("one\ntwo three", 20), ElementsAre("one", "two three"));
  EXPECT_THAT(Wrap("", 5), IsEmpty());
  EXPECT_THAT(Wrap("a b", 0), ElementsAre("a", "b"));
}

TEST(TextTest, ANumberStaysWithItsPercentSign) {
  EXPECT_THAT(Wrap("at most 10 % of it", 10), ElementsAre("at most", "10 % of it"));
  EXPECT_THAT(Wrap("limit is 100 %", 12), ElementsAre("limit is", "100 %"));
  EXPECT_THAT(Wrap("%", 1), ElementsAre("%"));
}

TEST(TextTest, LongWordsAreKeptOrSplitAtSeparators) {
  EXPECT_THAT(Wrap("in model.layer.weight now", 12),
              ElementsAre("in", "model.layer.weight", "now"));
  EXPECT_THAT(Wrap("in model.layer.weight now", 12, LongWords::kSplit),
              ElementsAre("in", "model.layer.", "weight now"));
  EXPECT_THAT(Wrap("abcdefghij", 4, LongWords::kSplit), ElementsAre("abcd", "efgh", "ij"));
  EXPECT_THAT(Wrap("a_bcdefghij", 6, LongWords::kSplit), ElementsAre("a_bcde", "fghij"));
  EXPECT_THAT(Wrap("ab", 0, LongWords::kSplit), ElementsAre("ab"));
}

TEST(TextTest, WideCharactersTakeTwoColumns) {
  EXPECT_EQ(WidthOf("run"), 3U);
  EXPECT_EQ(WidthOf("実験-1"), 6U);
  EXPECT_EQ(WidthOf("e\xCC\x81t\xC3\xA9"), 3U);  // a mark that combines
  EXPECT_EQ(WidthOf("\xff\xfe"), 2U);
  EXPECT_EQ(Padded("実験", 6), "実験  ");
  EXPECT_EQ(Padded("実験", 6, true), "  実験");
  EXPECT_EQ(Shortened("実験の結果", 10), "実験の結果");
  EXPECT_EQ(Shortened("実験の結果", 9), "実験…結果");
  EXPECT_EQ(Shortened("実験の結果", 8), "実験…果");
  EXPECT_EQ(Shortened("実験の結果", 3), "…");
  EXPECT_THAT(Wrap("実験の結果", 4, LongWords::kSplit), ElementsAre("実験", "の結", "果"));
  EXPECT_THAT(Wrap("実験", 1, LongWords::kSplit), ElementsAre("実", "験"));
}

TEST(TextTest, SplittingKeepsCharactersWhole) {
  EXPECT_THAT(Wrap("\u00e4\u00f6\u00fc\u00df", 3, LongWords::kSplit),
              ElementsAre("\u00e4\u00f6\u00fc", "\u00df"));
  std::string joined;
  const std::string name(64 * 1024, 'x');
  for (const std::string &line : Wrap(name, 60, LongWords::kSplit)) joined += line;
  EXPECT_EQ(joined, name);
}

TEST(CheckWordsTest, ChecksHavePlainWords) {
  EXPECT_EQ(CheckWords("not_updated"), "not updated");
  EXPECT_EQ(CheckWords("small"), "too small");
  EXPECT_EQ(CheckWords("gradients+loss"), "gradients and loss");
  EXPECT_EQ(CheckWords("a_new_check+nan"), "a new check and NaN");
  EXPECT_EQ(CheckWords(""), "");
}

TEST(CheckWordsTest, MeasuresHaveUnits) {
  EXPECT_EQ(MeasureOf("AllZero", "").unit, "%");
  EXPECT_EQ(MeasureOf("UpdateNotApplied", "not_updated").what, "time without a change");
  EXPECT_EQ(MeasureOf("Confusion", "min_diag").what, "share that is right");
  EXPECT_EQ(MeasureOf("DeadExpert", "load").unit, "steps");
  EXPECT_EQ(MeasureOf("UpdateNotApplied", "another").what, "");
  EXPECT_EQ(MeasureOf("MyRule", "").what, "");
}

}  // namespace
}  // namespace smdebug::cli::text_test
