#include "smdebug/profiler.h"

#include "guard.h"
#include "log_sink.h"
#include "profile/configured_profiler.h"
#include "profile/trace_import.h"

struct smd_profiler_options {
  smdebug::profile::ProfilerOptions options;
};

struct smd_profiler {
  std::shared_ptr<smdebug::profile::ConfiguredProfiler> profiler;

  const smdebug::ProcessMark &Mark() const { return profiler->Mark(); }
};

using namespace smdebug;
using namespace smdebug::capi;
using profile::Event;
using profile::EventKind;

namespace {

// The time of an event that has none is now.
smd_error *Record(smd_profiler *profiler, EventKind kind, const char *name, const char *phase,
                  int64_t step, const char *args) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(CheckUsable(profiler, "profiler"));
    Event event;
    event.kind = kind;
    SMD_ASSIGN_OR_RETURN(event.name, RequiredText(name, "name"));
    SMD_ASSIGN_OR_RETURN(event.phase, RequiredText(phase, "phase"));
    event.step = step;
    event.begin_us = profiler->profiler->Now();
    if (args != nullptr) event.args = args;
    return profiler->profiler->Add(event);
  });
}

}  // namespace

smd_error *smd_profiler_options_new(smd_profiler_options **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    *out = new smd_profiler_options;
    return Status::Ok();
  });
}

smd_error *smd_profiler_options_set(smd_profiler_options *options, const char *name,
                                    const char *value) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(NotNull(options, "options"));
    SMD_ASSIGN_OR_RETURN(const std::string_view option, RequiredText(name, "name"));
    SMD_RETURN_IF_ERROR(NotNull(value, "value"));
    return options->options.Set(option, value);
  });
}

smd_error *smd_profiler_options_get(const smd_profiler_options *options, const char *name,
                                    smd_text **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(NotNull(options, "options"));
    SMD_ASSIGN_OR_RETURN(const std::string_view option, RequiredText(name, "name"));
    return Give(options->options.Get(option), out);
  });
}

smd_error *smd_profiler_options_set_log(smd_profiler_options *options, smd_log_level level,
                                        smd_log_fn log, void *user_data,
                                        smd_release_fn destroy) noexcept {
  return Guard([&]() -> Status {
    SMD_ASSIGN_OR_RETURN(Logger logger, LoggerFromC(level, log, user_data, destroy));
    SMD_RETURN_IF_ERROR(NotNull(options, "options"));
    options->options.logger = std::move(logger);
    return Status::Ok();
  });
}

void smd_profiler_options_free(smd_profiler_options *options) noexcept { delete options; }

smd_error *smd_profiler_new(const smd_profiler_options *options, smd_profiler **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(NotNull(options, "options"));
    return Give(profile::ConfiguredProfiler::Open(options->options), out);
  });
}

smd_error *smd_profiler_follow(const char *path, const smd_profiler_options *options,
                               smd_profiler **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    const profile::ProfilerOptions defaults;
    return Give(profile::ConfiguredProfiler::Follow(
                    path == nullptr ? "" : path, options == nullptr ? defaults : options->options),
                out);
  });
}

[[gnu::hot]] int32_t smd_profiler_update(smd_profiler *profiler) noexcept {
  return GuardValue<int32_t>(
      0, [&]() -> int32_t { return IsUsable(profiler) && profiler->profiler->Update() ? 1 : 0; });
}

[[gnu::hot]] int32_t smd_profiler_is_active(smd_profiler *profiler, const char *feature,
                                            int64_t step, const char *event) noexcept {
  return GuardValue<int32_t>(-1, [&]() -> int32_t {
    if (profiler == nullptr || feature == nullptr) return -1;
    const auto known = profile::FeatureNamed(feature);
    if (!known) return -1;
    if (!IsUsable(profiler)) return 0;
    return profiler->profiler->IsActive(*known, step, event == nullptr ? "" : event) ? 1 : 0;
  });
}

smd_error *smd_profiler_get(const smd_profiler *profiler, const char *name,
                            smd_text **out) noexcept {
  return Guard([&]() -> Status {
    SMD_CLEAR_OUT(out);
    SMD_RETURN_IF_ERROR(CheckUsable(profiler, "profiler"));
    SMD_ASSIGN_OR_RETURN(const std::string_view setting, RequiredText(name, "name"));
    return Give(profiler->profiler->Setting(setting), out);
  });
}

smd_error *smd_profiler_flush(smd_profiler *profiler, int32_t timeout_ms) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(CheckUsable(profiler, "profiler"));
    return profiler->profiler->Flush(DeadlineFromC(Clock::System(), timeout_ms));
  });
}

smd_error *smd_profiler_close(smd_profiler *profiler) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(CheckUsable(profiler, "profiler"));
    return profiler->profiler->Close();
  });
}

void smd_profiler_free(smd_profiler *profiler) noexcept { Free(profiler); }

[[gnu::hot]] int64_t smd_profiler_now(const smd_profiler *profiler) noexcept {
  return GuardValue<int64_t>(0, [&] { return IsUsable(profiler) ? profiler->profiler->Now() : 0; });
}

[[gnu::hot, gnu::flatten]] smd_error *smd_profiler_event(smd_profiler *profiler, const char *name,
                                                         const char *phase, int64_t step,
                                                         int64_t begin_us, int64_t duration_us,
                                                         const char *args) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(CheckUsable(profiler, "profiler"));
    Event event;
    SMD_ASSIGN_OR_RETURN(event.name, RequiredText(name, "name"));
    SMD_ASSIGN_OR_RETURN(event.phase, RequiredText(phase, "phase"));
    event.step = step;
    event.begin_us = begin_us;
    event.duration_us = duration_us;
    if (args != nullptr) event.args = args;
    return profiler->profiler->Add(event);
  });
}

smd_error *smd_profiler_begin(smd_profiler *profiler, const char *name, const char *phase,
                              int64_t step, const char *args) noexcept {
  return Record(profiler, EventKind::kBegin, name, phase, step, args);
}

smd_error *smd_profiler_end(smd_profiler *profiler, const char *phase) noexcept {
  // The name is that of the begin.
  return Record(profiler, EventKind::kEnd, "end", phase, -1, nullptr);
}

smd_error *smd_profiler_instant(smd_profiler *profiler, const char *name, const char *phase,
                                int64_t step, const char *args) noexcept {
  return Record(profiler, EventKind::kInstant, name, phase, step, args);
}

int64_t smd_profiler_count(const smd_profiler *profiler, const char *name) noexcept {
  return GuardValue<int64_t>(-1, [&] {
    return IsUsable(profiler) && name != nullptr ? profiler->profiler->Count(name) : -1;
  });
}

smd_error *smd_profile_import_trace(const char *trace, const char *out_dir, const char *node,
                                    int64_t *out) noexcept {
  return Guard([&]() -> Status {
    SMD_RETURN_IF_ERROR(NotNull(out, "out"));
    *out = 0;
    SMD_ASSIGN_OR_RETURN(const std::string_view path, RequiredText(trace, "trace"));
    SMD_ASSIGN_OR_RETURN(const std::string_view folder, RequiredText(out_dir, "out_dir"));
    SMD_ASSIGN_OR_RETURN(*out, profile::ImportTraceFile(std::string(path), std::string(folder),
                                                        node == nullptr ? "" : node));
    return Status::Ok();
  });
}
