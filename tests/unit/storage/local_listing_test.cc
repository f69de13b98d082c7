#include "storage/local_listing.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "base/strings.h"
#include "storage/temporary_folder.h"

namespace smdebug::storage {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class LocalListingTest : public testing::Test {
 protected:
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

}  // namespace
}  // namespace smdebug::storage
