#include "profile/configured_profiler.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <new>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/strings.h"

namespace smdebug::profile {
namespace {

// As the original has it.
constexpr const char *kDefaultFolder = "/opt/ml/output/profiler";

ProfilerOptions OptionsWith(ProfilerOptions options, const ProfilerConfig &config) {
  if (!config.local_path.empty()) options.out_dir = config.local_path;
  if (options.out_dir.empty()) options.out_dir = kDefaultFolder;
  if (config.rotate_bytes) options.rotate_bytes = *config.rotate_bytes;
  if (config.rotate_seconds) {
    options.rotate_time = std::chrono::duration_cast<Clock::Duration>(
        std::chrono::duration<double>(std::min(*config.rotate_seconds, 86400.0)));
  }
  if (config.sample_milliseconds) options.sample_milliseconds = *config.sample_milliseconds;
  return options;
}

}  // namespace

Result<std::shared_ptr<ConfiguredProfiler>> ConfiguredProfiler::Open(
    const ProfilerOptions &options) {
  std::shared_ptr<ConfiguredProfiler> opened(new ConfiguredProfiler(options, std::nullopt));
  SMD_RETURN_IF_ERROR(opened->TurnOn(options));
  return opened;
}

Result<std::shared_ptr<ConfiguredProfiler>> ConfiguredProfiler::Follow(
    std::string_view path, const ProfilerOptions &options) {
  std::shared_ptr<ConfiguredProfiler> opened(
      new ConfiguredProfiler(options, ConfigFile(ProfilerConfigPath(path))));
  if (opened->file_->HasChanged()) {
    SMD_RETURN_IF_ERROR(opened->Reread());
  } else {
    options.logger.Info(StrCat("there is no ", opened->file_->Path(), "; nothing is profiled"));
  }
  return opened;
}

Status ConfiguredProfiler::CheckOpen() const {
  return is_closed_ ? WrongState("the profiler is closed") : Status::Ok();
}

[[gnu::hot]] bool ConfiguredProfiler::HasFileChanged() {
  if (!file_) return false;
  if (options_.update_time.count() > 0) {
    const Clock::Duration now = options_.clock->Monotonic();
    if (now < next_look_) return false;
    next_look_ = now + options_.update_time;
  }
  return file_->HasChanged();
}

[[gnu::hot]] bool ConfiguredProfiler::Update() {
  if (is_closed_) return false;
  if (!is_updating_.exchange(true, std::memory_order_acquire)) {
    if (HasFileChanged()) {
      Status status;
      try {
        status = Reread();
      } catch (const std::bad_alloc &) {
        status = Status(Code::kOutOfMemory, "no memory is left to read the configuration");
      }
      if (!status.IsOk()) {
        options_.logger.Error(StrCat(status.Message(), "; the profiler stays as it is"));
      }
    }
    is_updating_.store(false, std::memory_order_release);
  }
  return on_ != nullptr;
}

Status ConfiguredProfiler::Reread() {
  const std::string &path = file_->Path();
  SMD_ASSIGN_OR_RETURN(const std::optional<std::string> text, file_->Read());
  config::Problems problems;
  ProfilerConfig config;
  if (text) {
    auto parsed = ProfilerConfig::Parse(*text, &problems);
    if (!parsed.IsOk()) {
      return InvalidConfig(StrCat(path, ": ", parsed.GetStatus().Message())).With("path", path);
    }
    config = *std::move(parsed);
  }
  for (const config::Problem &each : problems) {
    options_.logger.Warning(StrCat(path, ": ", each.what, "; ", each.outcome));
  }
  const bool turns_on = config.is_enabled;
  const ProfilerOptions options = OptionsWith(options_, config);
  {
    const MutexLock lock(mutex_);
    config_ = std::move(config);
  }
  if (!turns_on) {
    TurnOff();
    return Status::Ok();
  }
  return TurnOn(options);
}

Status ConfiguredProfiler::TurnOn(const ProfilerOptions &options) {
  if (!profiler_) {
    SMD_ASSIGN_OR_RETURN(profiler_, Profiler::Open(options));
    out_dir_ = options.out_dir;
    opened_.store(profiler_.get(), std::memory_order_release);
  } else if (options.out_dir != out_dir_) {
    options_.logger.Warning(StrCat(file_->Path(), ": LocalPath is now '", Excerpt(options.out_dir),
                                   "'; the running profiler keeps '", Excerpt(out_dir_), "'"));
  }
  profiler_->SetPaused(false);
  on_.store(profiler_.get(), std::memory_order_release);
  return Status::Ok();
}

void ConfiguredProfiler::TurnOff() {
  if (on_.exchange(nullptr) == nullptr) return;
  profiler_->SetPaused(true);
  options_.logger.Info(StrCat(file_->Path(), " switches the profiler off"));
}

[[gnu::hot]] bool ConfiguredProfiler::IsActive(Feature feature, int64_t step,
                                               std::string_view name) {
  if (on_ == nullptr) return false;
  const MutexLock lock(mutex_);
  if (!file_) return true;
  ProfileWindow &window = config_.windows[static_cast<size_t>(feature)];
  if (window.IsNever() || !window.Has(step, options_.clock->WallSeconds())) return false;
  if (feature != Feature::kDataloader || name.empty() || !config_.metrics) return true;
  const Result<bool> found = config_.metrics->IsFoundIn(name);
  return found.IsOk() && *found;
}

Result<std::string> ConfiguredProfiler::Setting(std::string_view name) const {
  const MutexLock lock(mutex_);
  if (name == "config_path") return file_ ? file_->Path() : std::string();
  if (name == "out_dir") {
    return file_ ? OptionsWith(options_, config_).out_dir : options_.out_dir;
  }
  if (name == "metrics_regex") return config_.metrics_regex;
  if (name == "profiler_name") return config_.profiler_name;
  if (name == "cprofile_timer") return config_.cprofile_timer;
  return InvalidArgument(StrCat("a profiler has no setting '", Excerpt(name), "'",
                                DidYouMean(name, {"config_path", "out_dir", "metrics_regex",
                                                  "profiler_name", "cprofile_timer"})));
}

[[gnu::hot]] int64_t ConfiguredProfiler::Now() const {
  if (const Profiler *const opened = Opened()) return opened->Now();
  return static_cast<int64_t>(options_.clock->WallSeconds() * 1e6);
}

Status ConfiguredProfiler::Flush(Deadline deadline) {
  Profiler *const opened = Opened();
  return opened == nullptr ? CheckOpen() : opened->Flush(deadline);
}

Status ConfiguredProfiler::Close() {
  is_closed_ = true;
  Profiler *const opened = Opened();
  return opened == nullptr ? Status::Ok() : opened->Close();
}

int64_t ConfiguredProfiler::Count(std::string_view name) const {
  if (const Profiler *const opened = Opened()) return opened->Count(name);
  for (const std::string_view known :
       {"events_written", "events_dropped", "files_written", "bytes_written", "samples"}) {
    if (name == known) return 0;
  }
  return -1;
}

}  // namespace smdebug::profile
