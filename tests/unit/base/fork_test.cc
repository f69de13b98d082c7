#include "base/fork.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace smdebug::fork_test {
namespace {

// Returns true if `condition` holds in a child of this process.
bool HoldsInChild(const std::function<bool()> &condition) {
  const pid_t child = fork();
  if (child == 0) _exit(condition() ? 0 : 1);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(ProcessMark, HoldsInItsOwnProcess) {
  const ProcessMark mark;
  EXPECT_TRUE(mark.IsSameProcess());
  EXPECT_TRUE(mark.Check().IsOk());
}

TEST(ProcessMark, DistinguishesAChildFromItsParent) {
  const ProcessMark mark;
  EXPECT_TRUE(HoldsInChild(
      [&] { return !mark.IsSameProcess() && mark.Check().GetCode() == Code::kAfterFork; }));
  EXPECT_TRUE(mark.IsSameProcess()) << "the parent continues";
}

TEST(ProcessMark, CreatedInAChildHoldsThere) {
  EXPECT_TRUE(HoldsInChild([] { return ProcessMark().IsSameProcess(); }));
}

TEST(ProcessMark, DetectsAGrandchild) {
  EXPECT_TRUE(HoldsInChild([] {
    const ProcessMark mark;
    return HoldsInChild([&] { return !mark.IsSameProcess(); });
  }));
}

}  // namespace
}  // namespace smdebug::fork_test
