#include "storage/local_store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "base/strings.h"
#include "storage/temporary_folder.h"

namespace smdebug::storage::local_store_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class LocalStoreTest : public testing::Test {
 protected:
  LocalStoreTest() : store_(*LocalStore::At(folder_.Path())) {}

  std::unique_ptr<FileWriter> Begun(const std::string &name, std::string_view text) {
    auto file = store_->Create(name);
    EXPECT_TRUE(file.IsOk()) << file.GetStatus().Message();
    const std::array pieces = {Piece{nullptr, AsBytes(text)}};
    EXPECT_TRUE((*file)->Append(pieces).IsOk());
    return *std::move(file);
  }

  std::unique_ptr<FileWriter> BegunShared(std::string_view writer, std::string_view text,
                                          Store::Older older) {
    auto file = store_->CreateShared("end", writer, older);
    EXPECT_TRUE(file.IsOk()) << file.GetStatus().Message();
    const std::array pieces = {Piece{nullptr, AsBytes(text)}};
    EXPECT_TRUE((*file)->Append(pieces).IsOk());
    return *std::move(file);
  }

  Status OpenError(const std::string &name) { return store_->Open(name).GetStatus(); }

  TemporaryFolder folder_;
  std::shared_ptr<Store> store_;
};

// ---- paths -------------------------------------------------------------------------------

TEST_F(LocalStoreTest, OpeningMakesNothing) {
  const auto store = LocalStore::At(folder_.Path("not/there/yet"));
  ASSERT_TRUE(store.IsOk());
  EXPECT_FALSE(folder_.Has("not"));
  EXPECT_EQ((*store)->Location(), folder_.Path("not/there/yet"));
}

TEST_F(LocalStoreTest, TheLocationIsAbsoluteAndPlain) {
  EXPECT_EQ((*LocalStore::At("/a//b/./c/../d/"))->Location(), "/a/b/d");
  EXPECT_EQ((*LocalStore::At("x"))->Location(), std::filesystem::current_path() / "x");
}

TEST_F(LocalStoreTest, TheTildeIsTheHomeFolder) {
  const char *home = getenv("HOME");
  const std::string before = home == nullptr ? "" : home;
  setenv("HOME", "/home/somebody", 1);
  EXPECT_EQ((*LocalStore::At("~/run"))->Location(), "/home/somebody/run");
  EXPECT_EQ((*LocalStore::At("~"))->Location(), "/home/somebody");
  unsetenv("HOME");
  EXPECT_EQ(LocalStore::At("~/run").GetStatus().GetCode(), Code::kInvalidArgument);
  if (home != nullptr) setenv("HOME", before.c_str(), 1);
}

// ---- writing -----------------------------------------------------------------------------

TEST_F(LocalStoreTest, AFileIsThereAsAWholeOrNotAtAll) {
  const auto file = Begun("a/b/file", "text");
  EXPECT_FALSE(folder_.Has("a/b/file"));
  EXPECT_TRUE(folder_.Has("a/b/file.tmp"));
  ASSERT_TRUE(file->Commit(false).IsOk());
  EXPECT_EQ(folder_.Read("a/b/file"), "text");
  EXPECT_FALSE(folder_.Has("a/b/file.tmp"));
}

TEST_F(LocalStoreTest, WithoutCommitNothingIsLeft) {
  { const auto file = Begun("a/file", "text"); }
  EXPECT_FALSE(folder_.Has("a/file"));
  EXPECT_FALSE(folder_.Has("a/file.tmp"));
}

TEST_F(LocalStoreTest, WhatACrashLeftUnderTheTemporaryNameIsCutOff) {
  folder_.Write("file.tmp", "a longer text of a job that was killed");
  ASSERT_TRUE(store_->WriteText("file", "short", false).IsOk());
  EXPECT_EQ(folder_.Read("file"), "short");
}

TEST_F(LocalStoreTest, CommitReplacesAnOlderFile) {
  ASSERT_TRUE(store_->WriteText("file", "old", false).IsOk());
  ASSERT_TRUE(store_->WriteText("file", "new", false).IsOk());
  EXPECT_EQ(folder_.Read("file"), "new");
}

TEST_F(LocalStoreTest, WritersOfOneNameDoNotDisturbEachOther) {
  const auto first = BegunShared("a", "the first is longer", Store::Older::kReplace);
  const auto second = BegunShared("b", "second", Store::Older::kReplace);
  const auto third = BegunShared("c", "", Store::Older::kKeep);
  EXPECT_TRUE(first->Commit(true).IsOk());
  EXPECT_EQ(folder_.Read("end"), "the first is longer");
  EXPECT_TRUE(second->Commit(true).IsOk());
  EXPECT_EQ(folder_.Read("end"), "second");
  EXPECT_TRUE(third->Commit(true).IsOk());
  EXPECT_EQ(folder_.Read("end"), "second");
}

TEST_F(LocalStoreTest, AFileThatKeepsOlderOnesMayBeTheFirst) {
  BegunShared("dropped", "nothing", Store::Older::kKeep).reset();
  EXPECT_TRUE(BegunShared("a", "text", Store::Older::kKeep)->Commit(false).IsOk());
  EXPECT_EQ(folder_.Read("end"), "text");
  EXPECT_FALSE(folder_.Has("end.a.tmp"));
  EXPECT_FALSE(folder_.Has("end.dropped.tmp"));
}

TEST_F(LocalStoreTest, ACommitWhoseFileWasTakenAwayFails) {
  ASSERT_TRUE(store_->WriteText("file", "old", false).IsOk());
  const auto file = Begun("file", "new");
  std::filesystem::remove(folder_.Path("file.tmp"));
  EXPECT_FALSE(file->Commit(false).IsOk());
}

TEST_F(LocalStoreTest, ADurableCommitIsACommit) {
  const auto file = Begun("a/file", "text");
  ASSERT_TRUE(file->Commit(true).IsOk());
  EXPECT_EQ(folder_.Read("a/file"), "text");
}

TEST_F(LocalStoreTest, PiecesAreWrittenInTurnHoweverMany) {
  std::string expected;
  std::vector<std::string> texts;
  for (int i = 0; i < 1000; ++i) texts.push_back(i % 7 == 0 ? "" : std::to_string(i) + ",");
  std::vector<Piece> pieces;
  for (const std::string &text : texts) {
    pieces.push_back({nullptr, AsBytes(text)});
    expected += text;
  }
  auto file = store_->Create("file");
  ASSERT_TRUE(file.IsOk());
  ASSERT_TRUE((*file)->Append(pieces).IsOk());
  ASSERT_TRUE((*file)->Append({}).IsOk());
  ASSERT_TRUE((*file)->Commit(false).IsOk());
  EXPECT_EQ(folder_.Read("file"), expected);
}

TEST_F(LocalStoreTest, AFolderThatIsNoFolderIsNamed) {
  folder_.Write("file", "");
  const Status status = store_->Create("file/below").GetStatus();
  EXPECT_FALSE(status.IsOk());
  EXPECT_THAT(status.Message(), HasSubstr(folder_.Path("file")));
}

TEST_F(LocalStoreTest, NothingIsWrittenThroughASymbolicLink) {
  TemporaryFolder elsewhere;
  std::filesystem::create_symlink(elsewhere.Path(), folder_.Path("events"));
  EXPECT_EQ(store_->Create("events/file").GetStatus().GetCode(), Code::kCorruptData);
  EXPECT_EQ(store_->Create("events/deeper/file").GetStatus().GetCode(), Code::kCorruptData);
  std::filesystem::create_symlink(elsewhere.Path("target"), folder_.Path("file.tmp"));
  EXPECT_FALSE(store_->Create("file").IsOk());
  EXPECT_TRUE(std::filesystem::is_empty(elsewhere.Path()));
}

TEST_F(LocalStoreTest, AFullDiskIsToldFromOtherFailures) {
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "there is no /dev/full";
  const FileDescriptor full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  const std::array pieces = {Piece{nullptr, AsBytes("text")}};
  const Status status = WriteAll(full, pieces, "the/file");
  EXPECT_EQ(status.GetCode(), Code::kNoSpace);
  EXPECT_THAT(status.Message(), HasSubstr("the/file"));
}

TEST_F(LocalStoreTest, RemovingWhatIsNotThereIsNoFailure) {
  folder_.Write("file", "");
  EXPECT_TRUE(store_->Remove("file").IsOk());
  EXPECT_FALSE(folder_.Has("file"));
  EXPECT_TRUE(store_->Remove("file").IsOk());
}

// ---- reading -----------------------------------------------------------------------------

// Gives room for a few bytes at a time.
class SmallSink final : public ByteSink {
 public:
  explicit SmallSink(size_t limit) : limit_(limit) {}
  MutableByteSpan Room() override {
    return MutableByteSpan(room_).first(std::min(room_.size(), limit_ - text_.size()));
  }
  void Advance(size_t count) override { text_ += AsText(ByteSpan(room_).first(count)); }
  const std::string &Text() const { return text_; }

 private:
  size_t limit_;
  std::array<std::byte, 3> room_;
  std::string text_;
};

TEST_F(LocalStoreTest, GivesAnyPartToASinkLittleByLittle) {
  folder_.Write("file", "0123456789");
  const auto file = store_->Open("file");
  ASSERT_TRUE(file.IsOk());
  EXPECT_EQ(*(*file)->Size(), 10U);
  SmallSink sink(100);
  ASSERT_TRUE((*file)->Read(4, 5, sink).IsOk());
  EXPECT_EQ(sink.Text(), "45678");
}

TEST_F(LocalStoreTest, ASinkMayRefuseTheRest) {
  folder_.Write("file", "0123456789");
  const auto file = store_->Open("file");
  ASSERT_TRUE(file.IsOk());
  SmallSink sink(4);
  EXPECT_EQ((*file)->Read(0, 10, sink).GetCode(), Code::kCorruptData);
  EXPECT_EQ(sink.Text(), "0123");
}

TEST_F(LocalStoreTest, AFileThatEndsTooEarlyIsCorrupt) {
  folder_.Write("file", "0123456789");
  const auto file = store_->Open("file");
  ASSERT_TRUE(file.IsOk());
  std::array<std::byte, 4> bytes;
  const Status status = (*file)->ReadInto(8, bytes);
  EXPECT_EQ(status.GetCode(), Code::kCorruptData);
  EXPECT_THAT(status.Message(), HasSubstr("4 bytes at 8 lie beyond the file's end at 10"));
  EXPECT_THAT(status.Message(), HasSubstr(folder_.Path("file")));
  std::filesystem::resize_file(folder_.Path("file"), 9);
  EXPECT_THAT((*file)->ReadInto(6, bytes).Message(), HasSubstr("ends at 9, 1 bytes too early"));
}

TEST_F(LocalStoreTest, AMissingFileIsNotFound) {
  const Status status = OpenError("no/file");
  EXPECT_EQ(status.GetCode(), Code::kNotFound);
  EXPECT_THAT(status.Message(), HasSubstr(folder_.Path("no/file")));
}

TEST_F(LocalStoreTest, OnlyRegularFilesAreRead) {
  std::filesystem::create_directory(folder_.Path("folder"));
  EXPECT_EQ(OpenError("folder").GetCode(), Code::kCorruptData);
  ASSERT_EQ(mkfifo(folder_.Path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(OpenError("pipe").GetCode(), Code::kCorruptData) << "and does not wait for a writer";
}

TEST_F(LocalStoreTest, NothingOutsideIsRead) {
  TemporaryFolder elsewhere;
  elsewhere.Write("secret", "text");
  std::filesystem::create_symlink(elsewhere.Path("secret"), folder_.Path("file"));
  std::filesystem::create_symlink(elsewhere.Path(), folder_.Path("folder"));
  const std::string name = elsewhere.Path().substr(elsewhere.Path().rfind('/') + 1);
  for (const std::string &way : {std::string("file"), std::string("folder/secret"),
                                 StrCat("../", name, "/secret"), elsewhere.Path("secret")}) {
    const Status status = OpenError(way);
    EXPECT_EQ(status.GetCode(), Code::kCorruptData) << way;
    EXPECT_THAT(status.Message(), HasSubstr("refused")) << way;
  }
  EXPECT_EQ(store_->List("folder").GetStatus().GetCode(), Code::kCorruptData);
}

TEST_F(LocalStoreTest, ALinkInsideTheTrialIsRefusedToo) {
  folder_.Write("real", "text");
  std::filesystem::create_symlink(folder_.Path("real"), folder_.Path("link"));
  EXPECT_EQ(OpenError("link").GetCode(), Code::kCorruptData);
}

TEST_F(LocalStoreTest, TheTrialItselfMayBeReachedThroughALink) {
  TemporaryFolder elsewhere;
  std::filesystem::create_symlink(folder_.Path(), elsewhere.Path("trial"));
  folder_.Write("file", "text");
  const auto store = LocalStore::At(elsewhere.Path("trial"));
  ASSERT_TRUE(store.IsOk());
  EXPECT_EQ(*(*store)->ReadText("file"), "text");
}

TEST_F(LocalStoreTest, ListsNamesInOrder) {
  folder_.Write("c/2", "");
  folder_.Write("c/10", "");
  folder_.Write("c/1", "");
  EXPECT_THAT(*store_->List("c"), ElementsAre("c/1", "c/10", "c/2"));
  EXPECT_THAT(*store_->List("missing"), IsEmpty());
}

TEST_F(LocalStoreTest, SaysWhenAFileWasWritten) {
  EXPECT_FALSE(store_->ModifiedAt("file")->has_value());
  EXPECT_FALSE(*store_->Exists("file"));
  folder_.Write("file", "");
  const std::array<timespec, 2> times = {timespec{1, 0}, timespec{1'600'000'000, 250'000'000}};
  ASSERT_EQ(utimensat(AT_FDCWD, folder_.Path("file").c_str(), times.data(), 0), 0);
  EXPECT_DOUBLE_EQ(**store_->ModifiedAt("file"), 1'600'000'000.25);
  EXPECT_TRUE(*store_->Exists("file"));
}

// ---- the claim ---------------------------------------------------------------------------

TEST_F(LocalStoreTest, AClaimIsHeldByOneUntilItIsGivenUp) {
  auto first = store_->Acquire("claim.smd");
  ASSERT_TRUE(first.IsOk());
  ASSERT_NE(*first, nullptr);
  EXPECT_TRUE(folder_.Has("claim.smd"));
  EXPECT_EQ(*store_->Acquire("claim.smd"), nullptr);
  first->reset();
  EXPECT_FALSE(folder_.Has("claim.smd"));
  EXPECT_NE(*store_->Acquire("claim.smd"), nullptr);
}

TEST_F(LocalStoreTest, AClaimFileThatNobodyHoldsIsTakenOver) {
  folder_.Write("claim.smd", "");
  EXPECT_NE(*store_->Acquire("claim.smd"), nullptr);
}

TEST_F(LocalStoreTest, TheClaimOfAProcessThatWasKilledIsTakenOver) {
  std::array<int, 2> ready{};
  ASSERT_EQ(pipe(ready.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    auto claim = store_->Acquire("claim.smd");
    const char held = claim.IsOk() && *claim ? 1 : 0;
    if (write(ready[1], &held, 1) != 1) _exit(1);
    pause();
    _exit(0);
  }
  char held = 0;
  ASSERT_EQ(read(ready[0], &held, 1), 1);
  ASSERT_EQ(held, 1);
  EXPECT_EQ(*store_->Acquire("claim.smd"), nullptr);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(folder_.Has("claim.smd"));
  EXPECT_NE(*store_->Acquire("claim.smd"), nullptr);
  close(ready[0]);
  close(ready[1]);
}

}  // namespace
}  // namespace smdebug::storage::local_store_test
