#include "record/spill_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/stuck_process.h"
#include "storage/temporary_folder.h"

namespace smdebug::record::spill_folder_test {
namespace {

class SpillFolderTest : public testing::Test {
 protected:
  SpillFolderTest() : spill_(*SpillFolder::Open(folder_.Path("spill"), 10)) {}

  static Batch BatchOf(std::string_view first, std::string_view second) {
    Batch batch;
    batch.Add({nullptr, AsBytes(first)});
    batch.Add({nullptr, AsBytes(second)});
    return batch;
  }
  // Counts the spilled files, or all.
  size_t Files(std::string_view ending = ".spill") const {
    size_t count = 0;
    for (const auto &entry : std::filesystem::directory_iterator(folder_.Path("spill"))) {
      if (entry.path().string().ends_with(ending)) ++count;
    }
    return count;
  }

  storage::TemporaryFolder folder_;
  std::unique_ptr<SpillFolder> spill_;
};

TEST_F(SpillFolderTest, GivesBackWhatWasParked) {
  Batch batch = BatchOf("abc", "de");
  const auto name = spill_->Park(batch);
  ASSERT_TRUE(name.IsOk()) << name.GetStatus().Message();
  EXPECT_EQ(Files(), 1U);
  batch.pieces.clear();
  ASSERT_TRUE(spill_->Fetch(*name, &batch).IsOk());
  ASSERT_EQ(batch.pieces.size(), 1U);
  EXPECT_EQ(AsText(batch.pieces[0].bytes), "abcde");
  EXPECT_EQ(Files(), 0U);
}

TEST_F(SpillFolderTest, IsBounded) {
  Batch batch = BatchOf("abcd", "efgh");
  const auto name = spill_->Park(batch);
  ASSERT_TRUE(name.IsOk());
  EXPECT_FALSE(name->empty());
  EXPECT_EQ(*spill_->Park(BatchOf("abc", "")), "");
  EXPECT_EQ(Files(), 1U);
  EXPECT_NE(*spill_->Park(BatchOf("ab", "")), "");
  ASSERT_TRUE(spill_->Fetch(*name, &batch).IsOk());
  EXPECT_NE(*spill_->Park(BatchOf("abcd", "efgh")), "");
}

TEST_F(SpillFolderTest, ForgetsAFileThatNobodyFetched) {
  const auto name = spill_->Park(BatchOf("abcd", "efgh"));
  ASSERT_TRUE(name.IsOk());
  ASSERT_TRUE(spill_->Forget(*name, 8).IsOk());
  EXPECT_EQ(Files(), 0U);
  EXPECT_NE(*spill_->Park(BatchOf("abcd", "efgh")), "");
}

TEST_F(SpillFolderTest, RemovesFilesThatNobodyFetched) {
  ASSERT_TRUE(spill_->Park(BatchOf("a", "b")).IsOk());
  ASSERT_TRUE(spill_->Park(BatchOf("c", "d")).IsOk());
  EXPECT_EQ(Files(), 2U);
  spill_.reset();
  EXPECT_EQ(Files(), 0U);
}

TEST_F(SpillFolderTest, RemovesFilesOfDeadProcessesOnly) {
  ASSERT_TRUE(spill_->Park(BatchOf("a", "b")).IsOk());
  folder_.Write("spill/smdebug-1-2-0.spill", "by a version without claims");
  std::unique_ptr<SpillFolder> other;
  storage::StuckProcess process([&] {
    other = *SpillFolder::Open(folder_.Path("spill"), 10);
    return other->Park(BatchOf("c", "d")).IsOk() && other->Park(BatchOf("e", "f")).IsOk();
  });
  EXPECT_EQ(Files(), 4U);
  SpillFolder::RemoveLeftovers(folder_.Path("spill"));
  EXPECT_EQ(Files(), 4U) << "the process lives";
  EXPECT_EQ(Files(".lock"), 2U);
  process.Kill();
  SpillFolder::RemoveLeftovers(folder_.Path("spill"));
  EXPECT_EQ(Files(), 2U);
  EXPECT_EQ(Files(".lock"), 1U);
  EXPECT_TRUE(folder_.Has("spill/smdebug-1-2-0.spill"));
  spill_.reset();
  EXPECT_EQ(Files(".lock"), 0U);
}

TEST_F(SpillFolderTest, SweepsNothingWithoutAFolder) {
  for (const char *name : {"", "s3://bucket", "missing"}) {
    SpillFolder::RemoveLeftovers(*name == 'm' ? folder_.Path(name) : name);
  }
  EXPECT_FALSE(folder_.Has("missing"));
}

TEST_F(SpillFolderTest, SaysWhereItCannotWrite) {
  folder_.Write("file", "");
  auto spill = SpillFolder::Open(folder_.Path("file"), 10);
  ASSERT_TRUE(spill.IsOk());
  const Status status = (*spill)->Park(BatchOf("a", "b")).GetStatus();
  EXPECT_FALSE(status.IsOk());
  EXPECT_THAT(status.Message(), testing::HasSubstr(folder_.Path("file")));
}

}  // namespace
}  // namespace smdebug::record::spill_folder_test
