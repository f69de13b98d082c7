// Options for recording, and for opening a trial.
#ifndef SMDEBUG_CPP_OPTIONS_HPP
#define SMDEBUG_CPP_OPTIONS_HPP

#include <utility>

#include "smdebug/cpp/collection.hpp"
#include "smdebug/cpp/handle.hpp"
#include "smdebug/cpp/log.hpp"
#include "smdebug/hook_options.h"
#include "smdebug/trial_options.h"

namespace smdebug {

// One thread at a time.
class HookOptions {
 public:
  using Owner = detail::Handle<smd_hook_options, smd_hook_options_free>;

  // smd_hook_options_new(), with "report_errors" set to "late": only Hook::Flush(), Close() and
  // ExportCollections() throw errors of the writer thread.  Otherwise an uncaught exception
  // would end a training because a disk is full.
  HookOptions() : handle_(detail::Make<Owner>(smd_hook_options_new)) {
    Set("report_errors", "late");
  }
  // Takes ownership of `options`.
  explicit HookOptions(smd_hook_options *options) noexcept : handle_(options) {}

  // Sets one option, such as "out_dir".  smd_hook_options_set() lists them.
  HookOptions &Set(const CString &name, const CString &value) {
    detail::Check(smd_hook_options_set(handle_.get(), name.Get(), value.Get()));
    return *this;
  }

  // Applies a configuration file; if `path` is empty, that of the training service.  Set the
  // log first: it gets a warning for each odd setting.  smd_hook_options_load().
  HookOptions &Load(const CString &path) {
    detail::Check(smd_hook_options_load(handle_.get(), path.Get()));
    return *this;
  }

  // Returns one option as Set() takes it.  smd_hook_options_get().
  std::string Get(const CString &name) const {
    return detail::MakeString(smd_hook_options_get, handle_.get(), name.Get());
  }

  // smd_hook_options_include_regex().
  HookOptions &IncludeRegex(const CString &regex) {
    detail::Check(smd_hook_options_include_regex(handle_.get(), regex.Get()));
    return *this;
  }

  // smd_hook_options_set_save_config(), smd_hook_options_set_reduction_config().
  HookOptions &SetSaveConfig(const SaveConfig &config) {
    detail::Check(smd_hook_options_set_save_config(handle_.get(), config.Get()));
    return *this;
  }
  HookOptions &SetReductionConfig(const ReductionConfig &config) {
    detail::Check(smd_hook_options_set_reduction_config(handle_.get(), config.Get()));
    return *this;
  }

  // Shares `collection` with the hook.  smd_hook_options_add_collection().
  HookOptions &AddCollection(const Collection &collection) {
    detail::Check(smd_hook_options_add_collection(handle_.get(), collection.Get()));
    return *this;
  }

  // smd_hook_options_set_log().
  HookOptions &SetLog(LogLevel level, LogFunction log) {
    detail::SetLog(handle_.get(), smd_hook_options_set_log, level, std::move(log));
    return *this;
  }

  const smd_hook_options *Get() const noexcept { return handle_.get(); }

 private:
  Owner handle_;
};

// One thread at a time.
class TrialOptions {
 public:
  using Owner = detail::Handle<smd_trial_options, smd_trial_options_free>;

  // smd_trial_options_new().
  TrialOptions() : handle_(detail::Make<Owner>(smd_trial_options_new)) {}
  // Takes ownership of `options`.
  explicit TrialOptions(smd_trial_options *options) noexcept : handle_(options) {}

  // Sets one option, such as "wait_seconds".  smd_trial_options_set() lists them.
  TrialOptions &Set(const CString &name, const CString &value) {
    detail::Check(smd_trial_options_set(handle_.get(), name.Get(), value.Get()));
    return *this;
  }

  // smd_trial_options_set_log().
  TrialOptions &SetLog(LogLevel level, LogFunction log) {
    detail::SetLog(handle_.get(), smd_trial_options_set_log, level, std::move(log));
    return *this;
  }

  const smd_trial_options *Get() const noexcept { return handle_.get(); }

 private:
  Owner handle_;
};

}  // namespace smdebug

#endif  // SMDEBUG_CPP_OPTIONS_HPP
