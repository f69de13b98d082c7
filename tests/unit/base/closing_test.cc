#include "base/closing.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>

#include "base/deferral.h"

namespace smdebug::closing_test {
namespace {

class Call final : public OutsideCall {
 public:
  explicit Call(std::function<void()> body) : body_(std::move(body)) {}
  void Run() noexcept override { body_(); }

 private:
  const std::function<void()> body_;
};

TEST(ClosingTest, OneClosesAndOthersWaitUntilItHas) {
  Closing closing;
  EXPECT_FALSE(closing.HasBegun());
  std::atomic<bool> has_begun = false;
  std::atomic<bool> is_over = false;
  std::thread first([&] {
    const Closing::Turn turn(closing);
    EXPECT_TRUE(turn.IsFirst());
    has_begun = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    is_over = true;
  });
  while (!has_begun) std::this_thread::yield();
  EXPECT_TRUE(closing.HasBegun());
  const Closing::Turn turn(closing);
  EXPECT_FALSE(turn.IsFirst());
  EXPECT_TRUE(is_over);
  first.join();
  EXPECT_FALSE(Closing::Turn(closing).IsFirst());
}

TEST(ClosingTest, ThoseDoNotWaitThatTheFirstOneMayWaitFor) {
  Closing closing;
  const Closing::Turn turn(closing);
  EXPECT_FALSE(Closing::Turn(closing).IsFirst()) << "its own thread";
  std::thread logs([&] {
    RunOutside(std::make_unique<Call>([&] { EXPECT_FALSE(Closing::Turn(closing).IsFirst()); }));
  });
  logs.join();
}

}  // namespace
}  // namespace smdebug::closing_test
