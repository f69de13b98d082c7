// A profiler that a file switches on and off while the job runs.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/fork.h"
#include "base/mutex.h"
#include "base/result.h"
#include "profile/config_file.h"
#include "profile/profiler.h"
#include "profile/profiler_config.h"
#include "profile/profiler_options.h"

namespace smdebug::profile {

// Thread safety: any thread.
//
// Invariants:
//   1. profiler_ is opened at most once, when the configuration first asks for it, and lives as
//      long as this object.
//   2. on_ is profiler_ while events are recorded, else NULL.
//   3. Only the thread that has set is_updating_ uses file_, next_look_, profiler_ and out_dir_,
//      without a lock, since it logs: a log function may call back.
class ConfiguredProfiler {
 public:
  // Opens a profiler without a file: it is on until it is closed.  Fails as Profiler::Open().
  static Result<std::shared_ptr<ConfiguredProfiler>> Open(const ProfilerOptions &options);
  // Opens a profiler that follows the file.  What the file does not say is in `options`.  A missing
  // file means off.  Fails with INVALID_CONFIG, and as Profiler::Open().
  static Result<std::shared_ptr<ConfiguredProfiler>> Follow(std::string_view path,
                                                            const ProfilerOptions &options);

  // Rereads the file if it changed, looking once in options.update_time, and returns true if events
  // are recorded.  Logs failures: an invalid file does not count, as it may be half written.
  bool Update();
  // Returns true if the feature is active at this step, now, for events with this name (empty:
  // any).  Without a file, every feature is active.
  bool IsActive(Feature feature, int64_t step, std::string_view name);
  // Returns a setting by its name in smdebug/profiler.h.  Fails with INVALID_ARGUMENT.
  Result<std::string> Setting(std::string_view name) const;

  int64_t Now() const;
  // Drops the event if the profiler is off.  Fails as Profiler::Add().
  Status Add(const Event &event) {
    Profiler *const profiler = on_.load(std::memory_order_acquire);
    return profiler == nullptr ? CheckOpen() : profiler->Add(event);
  }
  Status Flush(Deadline deadline);
  Status Close();
  int64_t Count(std::string_view name) const;
  const ProcessMark &Mark() const { return mark_; }

 private:
  ConfiguredProfiler(ProfilerOptions options, std::optional<ConfigFile> file)
      : options_(std::move(options)), file_(std::move(file)) {}

  Status CheckOpen() const;
  Profiler *Opened() const { return opened_.load(std::memory_order_acquire); }
  bool HasFileChanged();
  Status Reread();
  Status TurnOn(const ProfilerOptions &options);
  void TurnOff();

  const ProcessMark mark_;
  const ProfilerOptions options_;
  std::atomic<Profiler *> on_{nullptr};
  std::atomic<Profiler *> opened_{nullptr};  // also while off
  std::atomic<bool> is_closed_{false};

  std::atomic<bool> is_updating_{false};
  std::optional<ConfigFile> file_;
  Clock::Duration next_look_{};
  std::shared_ptr<Profiler> profiler_;
  std::string out_dir_;  // of profiler_

  mutable Mutex mutex_;
  ProfilerConfig config_ SMD_GUARDED_BY(mutex_);
};

}  // namespace smdebug::profile
