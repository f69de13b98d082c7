#include "storage/local_listing.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <list>

#include "base/strings.h"
#include "storage/temporary_folder.h"

namespace smdebug::storage::local_listing_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class LocalListingTest : public testing::Test {
 protected:
  explicit LocalListingTest(const std::string &in = testing::TempDir()) : folder_(in) {}

  std::vector<std::string> Next() {
    auto names = listing_.Next();
    EXPECT_TRUE(names.IsOk()) << names.GetStatus().Message();
    return names.IsOk() ? *names : std::vector<std::string>();
  }

  // As if the folder had not changed for a long time.
  void LetTimePass(const std::string &folder) const { SetTime(folder, 1'600'000'000); }
  void SetTime(const std::string &folder, time_t seconds) const {
    const std::array<timespec, 2> times = {timespec{seconds, 0}, timespec{seconds, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, folder_.Path(folder).c_str(), times.data(), 0), 0);
  }

  TemporaryFolder folder_;
  LocalListing listing_{folder_.Path(), "index"};
};

TEST_F(LocalListingTest, AFolderThatIsMissingHoldsNothingYet) {
  EXPECT_THAT(Next(), IsEmpty());
  folder_.Write("index/000/a", "");
  EXPECT_THAT(Next(), ElementsAre("index/000/a"));
}

TEST_F(LocalListingTest, NamesAreSortedAcrossFolders) {
  folder_.Write("index/001/c", "");
  folder_.Write("index/000/b", "");
  folder_.Write("index/000/a", "");
  EXPECT_THAT(Next(), ElementsAre("index/000/a", "index/000/b", "index/001/c"));
}

TEST_F(LocalListingTest, AFolderThatDidNotChangeIsNotReadAgain) {
  folder_.Write("index/000/a", "");
  LetTimePass("index/000");
  LetTimePass("index");
  EXPECT_THAT(Next(), ElementsAre("index/000/a"));
  EXPECT_THAT(Next(), IsEmpty());
}

TEST_F(LocalListingTest, AFolderThatChangedIsReadAgainAsAWhole) {
  folder_.Write("index/000/a", "");
  LetTimePass("index/000");
  EXPECT_THAT(Next(), ElementsAre("index/000/a"));
  folder_.Write("index/000/b", "");
  EXPECT_THAT(Next(), ElementsAre("index/000/a", "index/000/b"));
}

// Clocks of file systems are coarse: a file may come after the look and within the tick.
TEST_F(LocalListingTest, AFolderThatHasJustChangedIsReadAgainToBeSure) {
  folder_.Write("index/000/a", "");
  EXPECT_THAT(Next(), ElementsAre("index/000/a"));
  EXPECT_THAT(Next(), ElementsAre("index/000/a"));
}

TEST_F(LocalListingTest, ATimeInTheFutureIsNotTrusted) {
  folder_.Write("index/000/a", "");
  SetTime("index/000", 4'000'000'000);
  EXPECT_THAT(Next(), ElementsAre("index/000/a"));
  EXPECT_THAT(Next(), ElementsAre("index/000/a"));
}

TEST_F(LocalListingTest, AllFoldersAreReadAtFirstAndTheNewestAreFollowed) {
  for (int i = 0; i < 40; ++i) folder_.Write(StrCat("index/", ZeroPadded(i, 9), "/a"), "");
  EXPECT_THAT(Next(), SizeIs(40));
  folder_.Write("index/000000037/late", "");
  folder_.Write("index/000000001/too-late", "");
  const std::vector<std::string> names = Next();
  EXPECT_THAT(names, Contains("index/000000037/late"));
  EXPECT_THAT(names, testing::Not(Contains("index/000000001/too-late")));
}

TEST_F(LocalListingTest, LinksAndFilesAmongTheFoldersArePassedOver) {
  TemporaryFolder elsewhere;
  elsewhere.Write("secret", "");
  folder_.Write("index/000/a", "");
  folder_.Write("index/file", "");
  std::filesystem::create_symlink(elsewhere.Path(), folder_.Path("index/001"));
  EXPECT_THAT(Next(), ElementsAre("index/000/a"));
}

// A failure may hit any of the folders; those read before it must not count as read.
#if !defined(__SANITIZE_ADDRESS__)  // which needs descriptors of its own
TEST_F(LocalListingTest, NothingIsLostWhenReadingFails) {
  folder_.Write("index/000/a", "");
  folder_.Write("index/001/b", "");
  LetTimePass("index/000");
  LetTimePass("index/001");
  LetTimePass("index");
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const int lowest_free = open("/dev/null", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(lowest_free, 0);
  close(lowest_free);
  // One descriptor is enough to open a folder, but reading takes another.
  const rlimit one_more{static_cast<rlim_t>(lowest_free + 1), before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &one_more), 0);
  const auto failed = listing_.Next();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_FALSE(failed.IsOk());
  EXPECT_THAT(Next(), ElementsAre("index/000/a", "index/001/b"));
}
#endif

TEST_F(LocalListingTest, NothingIsLostWhenALaterFolderFails) {
  folder_.Write("index/000/a", "");
  folder_.Write("index/001/b", "");
  LetTimePass("index/000");
  LetTimePass("index/001");
  LetTimePass("index");
  ASSERT_EQ(chmod(folder_.Path().c_str(), 0755), 0);
  ASSERT_EQ(chmod(folder_.Path("index/000").c_str(), 0), 0);
  const uid_t user = geteuid();
  ASSERT_EQ(seteuid(user == 0 ? 65534 : user), 0) << "root may read everything";
  const auto failed = listing_.Next();
  ASSERT_EQ(seteuid(user), 0);
  ASSERT_EQ(chmod(folder_.Path("index/000").c_str(), 0700), 0);
  ASSERT_EQ(failed.GetStatus().GetCode(), Code::kPermission);
  EXPECT_THAT(Next(), ElementsAre("index/000/a", "index/001/b"));
}

// Where the kernel tells what appears, which it does of memory.
class WatchedListingTest : public LocalListingTest {
 protected:
  WatchedListingTest() : LocalListingTest("/dev/shm/") {}

  // From the second look on folders are watched.
  void Begin() {
    folder_.Write("index/000/a", "");
    Next();
    ASSERT_THAT(Next(), ElementsAre("index/000/a"));
    ASSERT_THAT(Next(), IsEmpty());
  }
};

TEST_F(WatchedListingTest, OnlyWhatIsNewIsTold) {
  Begin();
  folder_.Write("index/000/b", "");
  EXPECT_THAT(Next(), ElementsAre("index/000/b"));
  folder_.Write("c", "");
  std::filesystem::rename(folder_.Path("c"), folder_.Path("index/000/c"));
  EXPECT_THAT(Next(), ElementsAre("index/000/c"));
  EXPECT_THAT(Next(), IsEmpty());
}

TEST_F(WatchedListingTest, NewFoldersAreWatchedToo) {
  Begin();
  for (int i = 1; i < 9; ++i) {
    const std::string bucket = StrCat("index/00", i);
    folder_.Write(bucket + "/a", "");
    EXPECT_THAT(Next(), ElementsAre(bucket + "/a"));
    folder_.Write(bucket + "/b", "");
    folder_.Write("index/000/late", "");
    EXPECT_THAT(Next(), Contains(bucket + "/b"));
    std::filesystem::remove(folder_.Path("index/000/late"));
  }
  folder_.Write("index/005/late", "");
  folder_.Write("index/000/too-late", "");
  EXPECT_THAT(Next(), ElementsAre("index/005/late"));
}

TEST_F(WatchedListingTest, FoldersMadeAnewAreReadAnew) {
  Begin();
  std::filesystem::remove_all(folder_.Path("index/000"));
  folder_.Write("index/000/b", "");
  EXPECT_THAT(Next(), ElementsAre("index/000/b"));
  Next();
  std::filesystem::rename(folder_.Path("index/000"), folder_.Path("away"));
  folder_.Write("index/000/c", "");
  EXPECT_THAT(Next(), ElementsAre("index/000/c"));
}

// No event of the folders themselves tells that.
TEST_F(WatchedListingTest, FoldersAboveMayBeMadeAnew) {
  Begin();
  TemporaryFolder away("/dev/shm/");
  std::filesystem::rename(folder_.Path(), away.Path("old"));
  EXPECT_THAT(Next(), IsEmpty());
  folder_.Write("index/000/b", "");
  EXPECT_THAT(Next(), ElementsAre("index/000/b"));
}

TEST_F(WatchedListingTest, MoreThanTheKernelKeepsIsReadInstead) {
  int limit = 0;
  std::ifstream("/proc/sys/fs/inotify/max_queued_events") >> limit;
  ASSERT_GT(limit, 0);
  Begin();
  for (int i = 0; i <= limit; ++i) folder_.Write(StrCat("index/000/", ZeroPadded(i, 9)), "");
  EXPECT_THAT(Next(), SizeIs(limit + 2));
  Next();
  folder_.Write("index/000/b", "");
  EXPECT_THAT(Next(), ElementsAre("index/000/b"));
}

TEST_F(WatchedListingTest, OnlyAFewTakeWhatIsScarceAndTheRestReads) {
  Begin();
  std::list<LocalEvents> others;
  while (others.emplace_back().Watch(folder_.Path()) >= 0) ASSERT_LT(others.size(), 100U);
  EXPECT_THAT(others, SizeIs(LocalEvents::kMost)) << "of which the last found no room";
  LocalListing another(folder_.Path(), "index");
  for (int look = 0; look < 3; ++look) EXPECT_THAT(*another.Next(), ElementsAre("index/000/a"));
  others.clear();
  EXPECT_THAT(*another.Next(), ElementsAre("index/000/a"));
  EXPECT_THAT(*another.Next(), IsEmpty()) << "there is room again";
}

#if !defined(__SANITIZE_ADDRESS__)  // which needs descriptors of its own
TEST_F(WatchedListingTest, WhatWasToldIsNotLostWhenReadingFails) {
  Begin();
  folder_.Write("index/000/b", "");
  folder_.Write("index/001/c", "");
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto failed = listing_.Next();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_FALSE(failed.IsOk());
  EXPECT_THAT(Next(), ElementsAre("index/000/a", "index/000/b", "index/001/c"));
}
#endif

}  // namespace
}  // namespace smdebug::storage::local_listing_test
