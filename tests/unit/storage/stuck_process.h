// A process that prepares something and then waits to be killed.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <functional>

namespace smdebug::storage {

class StuckProcess {
 public:
  // Returns once `prepare` has returned true in the process.  What `prepare` captures by reference
  // keeps its state in the process.
  explicit StuckProcess(const std::function<bool()> &prepare) {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe(ends.data()), 0);
    child_ = fork();
    if (child_ == 0) {
      const ssize_t said = prepare() ? write(ends[1], "x", 1) : 0;
      while (said == 1) pause();
      _exit(1);
    }
    close(ends[1]);
    char answer = 0;
    EXPECT_EQ(read(ends[0], &answer, 1), 1);
    close(ends[0]);
  }
  ~StuckProcess() { Kill(); }
  StuckProcess(const StuckProcess &) = delete;
  StuckProcess &operator=(const StuckProcess &) = delete;

  void Kill() {
    if (child_ <= 0) return;
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    child_ = 0;
  }

 private:
  pid_t child_ = 0;
};

}  // namespace smdebug::storage
