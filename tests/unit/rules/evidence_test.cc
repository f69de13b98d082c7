#include "rules/evidence.h"

#include <gtest/gtest.h>

#include "base/strings.h"

namespace smdebug::rules::evidence_test {
namespace {

Finding FindingOf(std::string rule, std::string check, std::string tensor, int64_t step) {
  Finding finding;
  finding.rule = std::move(rule);
  finding.check = std::move(check);
  finding.tensor = std::move(tensor);
  finding.place.step = step;
  return finding;
}

TEST(EvidenceLogTest, KeepsTheFirstFindingOfEachTensorAndCountsTheOthers) {
  EvidenceLog log;
  log.Note(FindingOf("A", "x", "w", 3));
  log.Note(FindingOf("A", "x", "v", 3));
  log.Note(FindingOf("A", "x", "w", 4));
  log.Note(FindingOf("A", "y", "w", 5));
  ASSERT_EQ(log.All().size(), 3u);
  EXPECT_EQ(log.All()[0].first.place.step, 3);
  EXPECT_EQ(log.All()[0].count, 2);
  EXPECT_EQ(log.All()[1].count, 1);
  EXPECT_EQ(log.All()[2].first.check, "y");
}

TEST(EvidenceLogTest, OneThatIsMoreThanWorthALookCounts) {
  EvidenceLog log;
  Finding look = FindingOf("A", "x", "w", 3);
  look.level = Level::kWorthALook;
  log.Note(look);
  EXPECT_FALSE(log.All()[0].is_sure);
  log.Note(FindingOf("A", "x", "w", 4));
  EXPECT_TRUE(log.All()[0].is_sure);
  log.Note(look);
  EXPECT_TRUE(log.All()[0].is_sure);
}

TEST(EvidenceLogTest, AClueIsNoFinding) {
  EvidenceLog log;
  log.Note(FindingOf("A", "x", "w", 3));
  log.NoteClue(FindingOf("A", "y", "w", 3));
  ASSERT_EQ(log.All().size(), 2u);
  EXPECT_FALSE(log.All()[0].is_clue);
  EXPECT_TRUE(log.All()[1].is_clue);
}

TEST(EvidenceLogTest, NamesAreNotTakenForEachOther) {
  EvidenceLog log;
  log.Note(FindingOf("A", "1:", "w", 0));
  log.Note(FindingOf("A", "1", ":w", 0));
  log.Note(FindingOf("A1", "", ":w", 0));
  EXPECT_EQ(log.All().size(), 3u);
}

TEST(EvidenceLogTest, AJobThatInventsNamesDoesNotFillTheMemory) {
  EvidenceLog log;
  for (int i = 0; i < 10'000; ++i) log.Note(FindingOf("A", "x", StrCat("w", i), i));
  EXPECT_EQ(log.All().size(), 4096u);
  log.Note(FindingOf("A", "x", "w0", 10'000));
  EXPECT_EQ(log.All()[0].count, 2);
}

}  // namespace
}  // namespace smdebug::rules::evidence_test
