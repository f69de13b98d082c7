// A trial in memory whose job goes on while the trial waits.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analyze/tensor.h"
#include "analyze/trial.h"
#include "analyze/trial_files.h"
#include "base/fake_clock.h"
#include "storage/memory_store.h"

namespace smdebug::analyze {

class TrialFixture : public testing::Test {
 protected:
  using Call = storage::MemoryStore::Call;

  TrialFixture() {
    options_.store = store_;
    options_.clock = &clock_;
    options_.logger = Logger(LogLevel::kDebug,
                             [this](LogLevel, const std::string &line) { log_.push_back(line); });
    WhileWaiting([] {});
  }

  // Made with what is in `options_` when first asked for.
  Trial &TheTrial() { return *Shared(); }
  std::shared_ptr<Trial> Shared() {
    if (!trial_) {
      auto made = Trial::Make("/runs/my_trial/", options_);
      EXPECT_TRUE(made.IsOk()) << made.GetStatus().Message();
      trial_ = *std::move(made);
    }
    return trial_;
  }
  static void Expect(const Status &status) { EXPECT_TRUE(status.IsOk()) << status.Message(); }
  template <class T>
  static T Take(Result<T> result) {
    Expect(result.GetStatus());
    return result.IsOk() ? *std::move(result) : T();
  }

  // Run whenever the trial waits; as much time passes as it would have waited.
  void WhileWaiting(std::function<void()> script) {
    store_->SetOnWait([this, script = std::move(script)](Clock::Duration time) {
      waits_.push_back(time);
      clock_.Pass(time);
      script();
    });
  }
  // One line of `script` is run at each wait, then no more.
  void WhileWaiting(std::vector<std::function<void()>> script) {
    auto next = std::make_shared<size_t>(0);
    WhileWaiting([script = std::move(script), next] {
      if (*next < script.size()) script[(*next)++]();
    });
  }
  void FailAt(Call failing, std::string ending, Code code) {
    store_->SetFault([failing, ending, code](Call call, const std::string &name) {
      const bool fails = call == failing && name.ends_with(ending);
      return fails ? Status(code, name + ": as told") : Status::Ok();
    });
  }
  void PutStep(int64_t step, const std::string &worker = "worker_0") {
    StepFiles(step, worker).Add("a", {static_cast<float>(step)}).Put(*store_);
  }
  void PutStep(int64_t step, Mode mode, int64_t mode_step) {
    StepFiles(step, mode, mode_step).Add("a", {static_cast<float>(step)}).Put(*store_);
  }
  // As if the job had ended long ago.
  void PutOldEndMarker() { PutEndMarker(*store_, clock_.WallSeconds() - 3600); }

  std::vector<int64_t> Steps(Mode mode = Mode::kGlobal, bool incomplete_too = false) {
    return Take(TheTrial().Steps(mode, incomplete_too));
  }

  std::shared_ptr<storage::MemoryStore> store_ = std::make_shared<storage::MemoryStore>();
  FakeClock clock_;
  TrialOptions options_;
  std::vector<Clock::Duration> waits_;
  std::vector<std::string> log_;
  std::shared_ptr<Trial> trial_;
};

}  // namespace smdebug::analyze
