#include "storage/growing_file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include "storage/local_store.h"
#include "storage/memory_store.h"
#include "storage/temporary_folder.h"

namespace smdebug::storage {
namespace growing_file_test {

// Limits the size of files, as a full disk does, while it lives.
class SmallDisk {
 public:
  explicit SmallDisk(rlim_t size) : handler_(signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{size, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~SmallDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, handler_);
  }
  SmallDisk(const SmallDisk &) = delete;
  SmallDisk &operator=(const SmallDisk &) = delete;

 private:
  rlimit before_{};
  const sighandler_t handler_;
};

class GrowingFileTest : public testing::Test {
 protected:
  std::unique_ptr<GrowingFile> Grow(const std::string &temporary_name) {
    auto file = storage::Grow(store_, temporary_name);
    EXPECT_TRUE(file.IsOk()) << file.GetStatus().Message();
    return *std::move(file);
  }

  TemporaryFolder folder_;
  LocalStore store_{folder_.Path()};
};

TEST_F(GrowingFileTest, GetsItsNameAtItsEnd) {
  const auto file = Grow("a/open.tmp");
  EXPECT_TRUE(file->Append("one\n").IsOk());
  EXPECT_EQ(folder_.Read("a/open.tmp"), "one\n") << "it would survive a kill";
  EXPECT_TRUE(file->Append("two\n").IsOk());
  EXPECT_TRUE(file->Commit("b/c/done.json").IsOk());
  EXPECT_EQ(folder_.Read("b/c/done.json"), "one\ntwo\n");
  EXPECT_FALSE(folder_.Has("a/open.tmp"));
}

TEST_F(GrowingFileTest, NeverReplacesAFile) {
  folder_.Write("taken", "old");
  const auto file = Grow("open.tmp");
  EXPECT_FALSE(storage::Grow(store_, "open.tmp").IsOk()) << "the temporary name is taken too";
  EXPECT_TRUE(file->Append("new").IsOk());
  EXPECT_EQ(file->Commit("taken").GetCode(), Code::kTrialExists);
  EXPECT_TRUE(file->Commit("free").IsOk());
  EXPECT_EQ(folder_.Read("taken"), "old");
  EXPECT_EQ(folder_.Read("free"), "new");
}

TEST_F(GrowingFileTest, AFailedAppendLeavesNothing) {
  const auto file = Grow("open.tmp");
  EXPECT_TRUE(file->Append("0123456789").IsOk());
  {
    const SmallDisk disk(100);
    EXPECT_FALSE(file->Append(std::string(1000, 'x')).IsOk());
    EXPECT_EQ(folder_.Read("open.tmp"), "0123456789");
  }
  EXPECT_TRUE(file->Append("abc").IsOk());
  EXPECT_TRUE(file->Commit("done").IsOk());
  EXPECT_EQ(folder_.Read("done"), "0123456789abc");
}

TEST_F(GrowingFileTest, IsTakenOverOnlyFromTheDead) {
  std::string taken;
  const auto take = [&](std::string_view text) {
    taken = text;
    return Status::Ok();
  };
  {
    const auto file = Grow("open.tmp");
    EXPECT_TRUE(file->Append("text").IsOk());
    EXPECT_TRUE(TakeOver(store_, "open.tmp", take).IsOk());
    EXPECT_EQ(taken, "") << "it is still written";
  }
  const auto fails = [](std::string_view) { return Status(Code::kNoSpace, "full"); };
  EXPECT_EQ(TakeOver(store_, "open.tmp", fails).GetCode(), Code::kNoSpace);
  EXPECT_TRUE(folder_.Has("open.tmp")) << "it is not lost";
  EXPECT_TRUE(TakeOver(store_, "open.tmp", take).IsOk());
  EXPECT_EQ(taken, "text");
  EXPECT_FALSE(folder_.Has("open.tmp"));
  EXPECT_EQ(TakeOver(store_, "missing.tmp", take).GetCode(), Code::kNotFound);
}

TEST(BufferedFileTest, IsWrittenAtItsEnd) {
  MemoryStore store;
  store.Put("taken", "old");
  auto file = Grow(store, "open.tmp");
  ASSERT_TRUE(file.IsOk());
  EXPECT_TRUE((*file)->Append("one").IsOk());
  EXPECT_TRUE((*file)->Append("two").IsOk());
  EXPECT_EQ(store.Files().size(), 1U);
  EXPECT_EQ((*file)->Commit("taken").GetCode(), Code::kTrialExists);
  EXPECT_TRUE((*file)->Commit("free").IsOk());
  EXPECT_EQ(store.Files().at("free"), "onetwo");
}

}  // namespace growing_file_test
}  // namespace smdebug::storage
