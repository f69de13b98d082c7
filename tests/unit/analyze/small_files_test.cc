#include "analyze/small_files.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "base/strings.h"

namespace smdebug::analyze::small_files_test {
namespace {

std::shared_ptr<const AlignedBuffer> Bytes(size_t size) {
  return std::make_shared<AlignedBuffer>(size);
}

TEST(SmallFilesTest, KeepsWhatItIsGiven) {
  SmallFiles files;
  EXPECT_EQ(files.Find("a"), nullptr);
  const auto content = Bytes(3);
  files.Keep("a", content);
  files.Keep("b", Bytes(4));
  EXPECT_EQ(files.Find("a"), content);
  EXPECT_EQ(files.Find("b")->Size(), 4U);
  EXPECT_EQ(files.Find("c"), nullptr);
}

TEST(SmallFilesTest, TheFirstContentOfAFileStays) {
  SmallFiles files;
  const auto content = Bytes(3);
  files.Keep("a", content);
  files.Keep("a", Bytes(9));
  EXPECT_EQ(files.Find("a"), content);
}

TEST(SmallFilesTest, LargeFilesAreNotKept) {
  SmallFiles files;
  files.Keep("a", Bytes(SmallFiles::kLargest));
  files.Keep("b", Bytes(SmallFiles::kLargest + 1));
  EXPECT_NE(files.Find("a"), nullptr);
  EXPECT_EQ(files.Find("b"), nullptr);
}

TEST(SmallFilesTest, TheFilesUsedLongestAgoAreForgotten) {
  SmallFiles files;
  files.KeepAll();
  constexpr int kMany = SmallFiles::kMostKept / SmallFiles::kLargest;
  for (int i = 0; i < kMany; ++i) {
    files.Keep(StrCat(i), Bytes(SmallFiles::kLargest));
    EXPECT_NE(files.Find("0"), nullptr);
  }
  EXPECT_EQ(files.Find("1"), nullptr);
  EXPECT_NE(files.Find("2"), nullptr);
}

TEST(SmallFilesTest, FewAreKeptUntilOneIsKeptAgain) {
  SmallFiles files;
  constexpr int kFew = SmallFiles::kKeptAtFirst / SmallFiles::kLargest;
  const auto keep = [&](int from, int to) {
    for (int i = from; i < to; ++i) files.Keep(StrCat(i), Bytes(SmallFiles::kLargest));
  };
  keep(0, 2 * kFew);
  EXPECT_EQ(files.Find(StrCat(kFew)), nullptr);
  EXPECT_NE(files.Find(StrCat(2 * kFew - 1)), nullptr);
  keep(0, 2 * kFew);  // the first that comes again
  for (int i = 0; i < 2 * kFew; ++i) EXPECT_NE(files.Find(StrCat(i)), nullptr);
}

TEST(SmallFilesTest, ContentOutlivesItsPlace) {
  SmallFiles files;
  files.Keep("first", Bytes(SmallFiles::kLargest));
  const auto content = files.Find("first");
  for (int i = 0; i < 300; ++i) files.Keep(StrCat(i), Bytes(SmallFiles::kLargest));
  EXPECT_EQ(files.Find("first"), nullptr);
  EXPECT_EQ(content->Size(), SmallFiles::kLargest);
}

TEST(SmallFilesTest, ThreadsMayShareIt) {
  SmallFiles files;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        const std::string name = StrCat(i % 300);
        if (const auto found = files.Find(name)) {
          EXPECT_EQ(found->Size(), SmallFiles::kLargest);
        } else {
          files.Keep(name, Bytes(SmallFiles::kLargest));
        }
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
}

}  // namespace
}  // namespace smdebug::analyze::small_files_test
