// A hook that records into memory, for its tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/fake_clock.h"
#include "record/hook.h"
#include "record/tensors.h"
#include "storage/memory_store.h"

namespace smdebug::record {

class HookFixture : public testing::Test {
 protected:
  HookFixture() {
    options_.store = store_;
    options_.clock = &clock_;
    options_.logger = Logger(LogLevel::kDebug, [this](LogLevel, const std::string &line) {
      const std::lock_guard lock(log_mutex_);
      log_.push_back(line);
    });
    SaveEvery(1);
    // The writer's thread is a real one, and waiting for it takes no time.
    clock_.SetOnWait([](Clock::Duration) { std::this_thread::yield(); });
  }

  void SaveEvery(int64_t interval) {
    options_.save_config.SetAll({.interval = interval, .end = {}, .steps = {}});
  }

  // Made with what is in `options_` when first asked for.
  Hook &TheHook() {
    if (!hook_) {
      auto opened = Hook::Open(options_);
      EXPECT_TRUE(opened.IsOk()) << opened.GetStatus().Message();
      hook_ = *std::move(opened);
    }
    return *hook_;
  }
  static void Expect(const Status &status) { EXPECT_TRUE(status.IsOk()) << status.Message(); }

  int64_t Begin() {
    const auto begun = TheHook().BeginStep();
    EXPECT_TRUE(begun.IsOk()) << begun.GetStatus().Message();
    return begun.IsOk() ? *begun : -1;
  }
  void Save(std::string_view tensor, const tensor::View &view) {
    Expect(TheHook().Save(tensor, view));
  }
  void End() { Expect(TheHook().EndStep()); }
  // A step of `mode` with one loss in it.
  void Step(Mode mode = Mode::kTrain) {
    Expect(TheHook().SetMode(mode));
    Begin();
    Save("loss", Floats({0.5F}));
    End();
  }
  void Flush() { Expect(TheHook().Flush(Deadline::Never())); }
  void Close() { Expect(TheHook().Close()); }

  RecordedStep At(int64_t step, const std::string &worker = "worker_0") const {
    return RecordedStep::Read(*store_, step, worker);
  }
  bool HasFile(const std::string &name) const { return store_->Files().count(name) != 0; }
  std::vector<std::string> Log() {
    const std::lock_guard lock(log_mutex_);
    return log_;
  }

  std::shared_ptr<storage::MemoryStore> store_ = std::make_shared<storage::MemoryStore>();
  FakeClock clock_;
  HookOptions options_;
  std::mutex log_mutex_;
  std::vector<std::string> log_;
  std::shared_ptr<Hook> hook_;
};

}  // namespace smdebug::record
