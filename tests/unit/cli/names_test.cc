#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "natural_order.h"
#include "suggestions.h"

namespace smdebug::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(NaturalOrder, ComparesRunsOfDigitsAsNumbers) {
  EXPECT_THAT(InNaturalOrder({"fc10", "fc2", "fc1", "a"}), ElementsAre("a", "fc1", "fc2", "fc10"));
  EXPECT_THAT(InNaturalOrder({"2.10", "2.9", "10.1"}), ElementsAre("2.9", "2.10", "10.1"));
  EXPECT_THAT(InNaturalOrder({"rate=0.2", "rate=0.05", "rate=0.25", "rate=1.10", "rate=1.9"}),
              ElementsAre("rate=0.05", "rate=0.2", "rate=0.25", "rate=1.9", "rate=1.10"));
  EXPECT_THAT(InNaturalOrder({"b", "", "a1b", "a"}), ElementsAre("", "a", "a1b", "b"));
}

TEST(NaturalOrder, TakesNumbersOfAnyLength) {
  const std::string nines(400, '9');
  EXPECT_TRUE(NaturalLess(nines, "1" + nines));
  EXPECT_FALSE(NaturalLess("1" + nines, nines));
}

TEST(NaturalOrder, IsTotal) {
  const std::vector<std::string> names = {"a1",   "a01", "a001", "a", "A1",
                                          "\xff", "a1b", "a01b", "0"};
  for (const std::string &a : names) {
    EXPECT_FALSE(NaturalLess(a, a));
    for (const std::string &b : names) {
      EXPECT_TRUE(a == b || NaturalLess(a, b) != NaturalLess(b, a)) << a << " " << b;
    }
  }
}

TEST(Suggestions, AreTheMostSimilarNames) {
  EXPECT_THAT(Similar("los", {"accuracy", "loss", "lost", "lot", "cost"}),
              ElementsAre("loss", "lost", "lot"));
  EXPECT_THAT(Similar("wieghts", {"weights", "biases"}), ElementsAre("weights"));
  EXPECT_THAT(Similar("LOSS", {"loss"}), ElementsAre("loss"));
  EXPECT_THAT(Similar("fc1", {"fc1.weight", "fc2.weight"}), ElementsAre("fc1.weight"));
}

TEST(Suggestions, AreNoneIfNothingIsSimilar) {
  EXPECT_THAT(Similar("zzz", {"loss", "w"}), IsEmpty());
  EXPECT_THAT(Similar("", {"loss"}), IsEmpty());
  EXPECT_THAT(Similar(std::string(100000, 'x'), {std::string(100000, 'x')}), IsEmpty());
  EXPECT_EQ(DidYouMean("zzz", {"loss"}), "");
}

TEST(Suggestions, AreOneSentence) {
  EXPECT_EQ(DidYouMean("shwo", {"show"}), "; did you mean 'show'?");
  EXPECT_EQ(DidYouMean("fc", {"fa", "fb", "fd", "fe"}), "; did you mean 'fa', 'fb' or 'fd'?");
  EXPECT_EQ(DidYouMean("lo\x1bs", {"lo\x1bss"}), "; did you mean 'lo\\x1bss'?");
}

}  // namespace
}  // namespace smdebug::cli
