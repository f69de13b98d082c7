// Recording of profiles, see smdebug/profiler.h.
#ifndef SMDEBUG_CPP_PROFILER_HPP
#define SMDEBUG_CPP_PROFILER_HPP

#include <chrono>
#include <string>
#include <utility>

#include "smdebug/cpp/handle.hpp"
#include "smdebug/cpp/log.hpp"
#include "smdebug/profiler.h"

namespace smdebug {

// One thread at a time.
class ProfilerOptions {
 public:
  using Owner = detail::Handle<smd_profiler_options, smd_profiler_options_free>;

  // smd_profiler_options_new().
  ProfilerOptions() : handle_(detail::Make<Owner>(smd_profiler_options_new)) {}

  // Sets one option, such as "out_dir".  smd_profiler_options_set() lists them.
  ProfilerOptions &Set(const CString &name, const CString &value) {
    detail::Check(smd_profiler_options_set(handle_.get(), name.Get(), value.Get()));
    return *this;
  }
  // Returns one option as Set() takes it.  smd_profiler_options_get().
  std::string Get(const CString &name) const {
    return detail::MakeString(smd_profiler_options_get, handle_.get(), name.Get());
  }
  // smd_profiler_options_set_log().
  ProfilerOptions &SetLog(LogLevel level, LogFunction log) {
    detail::SetLog(handle_.get(), smd_profiler_options_set_log, level, std::move(log));
    return *this;
  }

  const smd_profiler_options *Get() const noexcept { return handle_.get(); }

 private:
  Owner handle_;
};

// An event that lasts as long as a scope.  Must not outlive its profiler.
class [[nodiscard]] ProfilerSpan {
 public:
  // Begins the event now.
  ProfilerSpan(smd_profiler *profiler, std::string name, std::string phase, int64_t step)
      : profiler_(profiler),
        name_(std::move(name)),
        phase_(std::move(phase)),
        step_(step),
        begin_(smd_profiler_now(profiler)) {}
  ProfilerSpan(ProfilerSpan &&other) noexcept
      : profiler_(std::exchange(other.profiler_, nullptr)),
        name_(std::move(other.name_)),
        phase_(std::move(other.phase_)),
        step_(other.step_),
        begin_(other.begin_) {}
  ProfilerSpan &operator=(ProfilerSpan &&) = delete;
  // Records the event.  It is dropped if the profiler is closed, or a text is too long.
  ~ProfilerSpan() {
    if (profiler_ == nullptr) return;
    const int64_t passed = smd_profiler_now(profiler_) - begin_;
    smd_error_free(smd_profiler_event(profiler_, name_.c_str(), phase_.c_str(), step_, begin_,
                                      passed, nullptr));
  }

 private:
  smd_profiler *profiler_;
  std::string name_;
  std::string phase_;
  int64_t step_;
  int64_t begin_;
};

// Records where the time of a job goes, on any thread.
class Profiler {
 public:
  using Owner = detail::Handle<smd_profiler, smd_profiler_free>;

  // The step of an event that belongs to none.
  static constexpr int64_t kNoStep = -1;

  // smd_profiler_new().
  explicit Profiler(const ProfilerOptions &options)
      : handle_(detail::Make<Owner>(smd_profiler_new, options.Get())) {}
  // Takes ownership of `profiler`.
  explicit Profiler(smd_profiler *profiler) noexcept : handle_(profiler) {}
  // smd_profiler_follow().
  static Profiler Follow(const CString &path = nullptr,
                         const ProfilerOptions &options = ProfilerOptions()) {
    return detail::MakeObject<Profiler>(smd_profiler_follow, path.Get(), options.Get());
  }

  // smd_profiler_update().
  bool Update() noexcept { return smd_profiler_update(Get()) != 0; }
  // False for unknown features too.  smd_profiler_is_active().
  bool IsActive(const CString &feature, int64_t step, const CString &event = nullptr) {
    return smd_profiler_is_active(Get(), feature.Get(), step, event.Get()) == 1;
  }
  // smd_profiler_get().
  std::string Setting(const CString &name) const {
    return detail::MakeString(smd_profiler_get, Get(), name.Get());
  }

  // smd_profiler_now().
  int64_t Now() const noexcept { return smd_profiler_now(Get()); }
  // smd_profiler_event().
  void Event(const CString &name, const CString &phase, int64_t step, int64_t begin_us,
             int64_t duration_us, const CString &args = nullptr) {
    detail::Check(smd_profiler_event(Get(), name.Get(), phase.Get(), step, begin_us, duration_us,
                                     args.Get()));
  }
  // smd_profiler_begin(), smd_profiler_end().
  void Begin(const CString &name, const CString &phase, int64_t step = kNoStep,
             const CString &args = nullptr) {
    detail::Check(smd_profiler_begin(Get(), name.Get(), phase.Get(), step, args.Get()));
  }
  void End(const CString &phase) { detail::Check(smd_profiler_end(Get(), phase.Get())); }
  // smd_profiler_instant().
  void Instant(const CString &name, const CString &phase, int64_t step = kNoStep,
               const CString &args = nullptr) {
    detail::Check(smd_profiler_instant(Get(), name.Get(), phase.Get(), step, args.Get()));
  }
  // Begins an event that ends with the scope of what is returned.
  ProfilerSpan Span(std::string name, std::string phase, int64_t step = kNoStep) const {
    return ProfilerSpan(Get(), std::move(name), std::move(phase), step);
  }

  // smd_profiler_flush().
  void Flush(std::chrono::milliseconds timeout = kWithoutEnd) {
    detail::Check(smd_profiler_flush(Get(), detail::ToMilliseconds(timeout)));
  }
  // smd_profiler_close().
  void Close() { detail::Check(smd_profiler_close(Get())); }
  // smd_profiler_count().
  int64_t Count(const CString &name) const noexcept {
    return smd_profiler_count(Get(), name.Get());
  }

  smd_profiler *Get() const noexcept { return handle_.get(); }

 private:
  Owner handle_;
};

// smd_profile_import_trace().
inline int64_t ImportTrace(const CString &trace, const CString &out_dir,
                           const CString &node = nullptr) {
  int64_t count = 0;
  detail::Check(smd_profile_import_trace(trace.Get(), out_dir.Get(), node.Get(), &count));
  return count;
}

}  // namespace smdebug

#endif  // SMDEBUG_CPP_PROFILER_HPP
