#include "record/run_facts.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "storage/temporary_folder.h"

namespace smdebug::record {
namespace {

const std::string kCommit(40, 'a');
const std::string kOther(40, 'b');

class CommitTest : public testing::Test {
 protected:
  void Write(std::string_view name, std::string_view text) { folder_.Write(name, text); }
  std::optional<std::string> Commit(std::string_view below) {
    std::filesystem::create_directories(folder_.Path(below));
    return CommitOf(folder_.Path(below));
  }

  storage::TemporaryFolder folder_;
};

TEST_F(CommitTest, IsThatOfTheBranchThatIsCheckedOut) {
  Write("tree/.git/HEAD", "ref: refs/heads/main\n");
  Write("tree/.git/refs/heads/main", kCommit + "\n");
  EXPECT_EQ(Commit("tree"), kCommit);
  EXPECT_EQ(Commit("tree/src/deep/"), kCommit) << "a parent is the working tree";
}

TEST_F(CommitTest, MayBePackedOrDetached) {
  Write("tree/.git/HEAD", "ref: refs/heads/main\n");
  Write("tree/.git/packed-refs", "# pack-refs with: peeled\n" + kOther +
                                     " refs/heads/my/refs/heads/main\n" + kCommit +
                                     " refs/heads/main\n");
  EXPECT_EQ(Commit("tree"), kCommit);
  Write("tree/.git/HEAD", kOther + "\n");
  EXPECT_EQ(Commit("tree"), kOther);
}

TEST_F(CommitTest, IsThatOfAnAddedWorkingTree) {
  Write("tree/.git/refs/heads/side", kCommit + "\n");
  Write("tree/.git/worktrees/added/HEAD", "ref: refs/heads/side\n");
  Write("tree/.git/worktrees/added/commondir", "../..\n");
  Write("added/.git", "gitdir: " + folder_.Path("tree/.git/worktrees/added") + "\n");
  EXPECT_EQ(Commit("added"), kCommit);
  Write("added/.git", "gitdir: ../tree/.git/worktrees/added\n");
  EXPECT_EQ(Commit("added"), kCommit);
}

TEST_F(CommitTest, IsNothingWithoutOne) {
  EXPECT_EQ(CommitOf("/"), std::nullopt);
  EXPECT_EQ(CommitOf("/no/such/folder"), std::nullopt);
  Write("tree/.git/HEAD", "ref: refs/heads/unborn\n");
  EXPECT_EQ(Commit("tree"), std::nullopt);
  Write("tree/.git/HEAD", "a password\n");
  EXPECT_EQ(Commit("tree"), std::nullopt) << "only commits are recorded";
  Write("tree/.git/HEAD", std::string(size_t{2} << 20, 'a'));
  EXPECT_EQ(Commit("tree"), std::nullopt);
  Write("pointer/.git", "gitdir: /etc/passwd\n");
  EXPECT_EQ(Commit("pointer"), std::nullopt);
}

TEST(HostName, IsKnown) { EXPECT_TRUE(HostName().has_value()); }

}  // namespace
}  // namespace smdebug::record
