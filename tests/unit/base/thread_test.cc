#include "base/thread.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <memory>

namespace smdebug::thread_test {
namespace {

TEST(Thread, RunsItsBodyUntilJoined) {
  std::atomic<bool> has_run{false};
  Thread thread;
  EXPECT_FALSE(thread.IsRunning());
  ASSERT_TRUE(thread.Start("smdebug-test", [&] { has_run = true; }).IsOk());
  EXPECT_TRUE(thread.IsRunning());
  thread.Join();
  EXPECT_TRUE(has_run);
  EXPECT_FALSE(thread.IsRunning());
}

TEST(Thread, BlocksSignalsSoThatTheHostsHandlersRunElsewhere) {
  sigset_t inside;
  sigemptyset(&inside);
  Thread thread;
  ASSERT_TRUE(
      thread.Start("smdebug-test", [&] { pthread_sigmask(SIG_BLOCK, nullptr, &inside); }).IsOk());
  thread.Join();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGCHLD, SIGPIPE, SIGALRM}) {
    EXPECT_EQ(sigismember(&inside, signal), 1) << strsignal(signal);
  }
}

TEST(Thread, RestoresTheSignalsOfTheStarter) {
  sigset_t before;
  sigset_t after;
  pthread_sigmask(SIG_BLOCK, nullptr, &before);
  Thread thread;
  ASSERT_TRUE(thread.Start("smdebug-test", [] {}).IsOk());
  pthread_sigmask(SIG_BLOCK, nullptr, &after);
  thread.Join();
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) {
    EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal)) << strsignal(signal);
  }
}

TEST(Thread, ShowsTheFirst15BytesOfItsName) {
  std::array<char, 32> name{};
  Thread thread;
  ASSERT_TRUE(thread
                  .Start("smdebug-writer-of-events",
                         [&] { pthread_getname_np(pthread_self(), name.data(), name.size()); })
                  .IsOk());
  thread.Join();
  EXPECT_STREQ(name.data(), "smdebug-writer-");
}

TEST(Thread, CanBeStartedAgainAfterJoin) {
  int runs = 0;
  Thread thread;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(thread.Start("smdebug-test", [&] { ++runs; }).IsOk());
    thread.Join();
  }
  EXPECT_EQ(runs, 3);
}

TEST(Thread, JoinAndDetachOfNoThreadDoNothing) {
  Thread thread;
  thread.Join();
  thread.Detach();
  EXPECT_FALSE(thread.IsRunning());
}

TEST(Thread, RunsOnWhenDetached) {
  struct State {
    std::atomic<bool> may_end{false};
    std::atomic<bool> has_ended{false};
  };
  const auto state = std::make_shared<State>();
  {
    Thread thread;
    const Status status = thread.Start("smdebug-test", [state] {
      state->may_end.wait(false);
      state->has_ended = true;
      state->has_ended.notify_one();
    });
    ASSERT_TRUE(status.IsOk());
    thread.Detach();
    EXPECT_FALSE(thread.IsRunning());
  }
  state->may_end = true;
  state->may_end.notify_one();
  state->has_ended.wait(false);
  EXPECT_TRUE(state->has_ended);
}

}  // namespace
}  // namespace smdebug::thread_test
