// Reading: a trial is the recording of a job, finished or still running.
#ifndef SMDEBUG_CPP_TRIAL_HPP
#define SMDEBUG_CPP_TRIAL_HPP

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "smdebug/cpp/collection.hpp"
#include "smdebug/cpp/handle.hpp"
#include "smdebug/cpp/options.hpp"
#include "smdebug/cpp/tensor.hpp"
#include "smdebug/metadata.h"
#include "smdebug/trial.h"

namespace smdebug {

namespace detail {
class RuleState;
}

// Any thread.  Every query refreshes first, unless that is switched off.
class Trial {
 public:
  using Owner = detail::Handle<smd_trial, smd_trial_free>;

  // Reads nothing yet.  smd_trial_new().
  explicit Trial(const CString &path)
      : handle_(detail::Make<Owner>(smd_trial_new, path.Get(), nullptr)) {}
  Trial(const CString &path, const TrialOptions &options)
      : handle_(detail::Make<Owner>(smd_trial_new, path.Get(), options.Get())) {}
  // Takes ownership of `trial`.
  explicit Trial(smd_trial *trial) noexcept : handle_(trial) {}

  // Waits for the collection files and reads them.  smd_trial_open().
  static Trial Open(const CString &path) { return Loaded(Trial(path)); }
  static Trial Open(const CString &path, const TrialOptions &options) {
    return Loaded(Trial(path, options));
  }

  // smd_trial_load(), smd_trial_cancel(), smd_trial_refresh().
  void Load() const { detail::Check(smd_trial_load(Get())); }
  void Cancel() const noexcept { smd_trial_cancel(Get()); }
  void Refresh() const { detail::Check(smd_trial_refresh(Get())); }

  // Returns the previous setting.  smd_trial_set_auto_refresh().
  bool SetAutoRefresh(bool on) const noexcept { return smd_trial_set_auto_refresh(Get(), on) != 0; }

  // smd_trial_path(), smd_trial_name().
  std::string Path() const { return smd_trial_path(Get()); }
  std::string Name() const { return smd_trial_name(Get()); }

  // smd_trial_has_ended(), smd_trial_last_complete_step().
  bool HasEnded() const noexcept { return smd_trial_has_ended(Get()) != 0; }
  int64_t LastCompleteStep() const noexcept { return smd_trial_last_complete_step(Get()); }

  // smd_trial_steps().
  std::vector<int64_t> Steps(Mode mode = Mode::kGlobal, bool incomplete_too = false) const {
    return detail::MakeVector<detail::Integers>(smd_trial_steps, Get(), static_cast<smd_mode>(mode),
                                                int32_t{incomplete_too});
  }

  // smd_trial_modes().
  std::vector<Mode> Modes() const {
    std::vector<Mode> modes;
    for (const int64_t mode : detail::MakeVector<detail::Integers>(smd_trial_modes, Get())) {
      modes.push_back(static_cast<Mode>(mode));
    }
    return modes;
  }

  // The mode step and the mode of a global step; -1 and kAny if it was not seen.
  // smd_trial_mode_step().
  std::pair<int64_t, Mode> ModeStep(int64_t global_step) const {
    smd_mode mode = SMD_MODE_ANY;
    int64_t step = -1;
    detail::Check(smd_trial_mode_step(Get(), global_step, &step, &mode));
    return {step, static_cast<Mode>(mode)};
  }

  // smd_trial_global_step().
  int64_t GlobalStep(int64_t mode_step, Mode mode) const {
    int64_t step = -1;
    detail::Check(smd_trial_global_step(Get(), mode_step, static_cast<smd_mode>(mode), &step));
    return step;
  }

  // smd_trial_step_state().
  smdebug::StepState StepState(int64_t step, Mode mode = Mode::kGlobal) const {
    smd_step_state state = SMD_STEP_IS_UNAVAILABLE;
    detail::Check(smd_trial_step_state(Get(), step, static_cast<smd_mode>(mode), &state));
    return static_cast<smdebug::StepState>(state);
  }

  // Throws StepUnavailable, NoMoreData, and others.  smd_trial_wait_for_step().
  void WaitForStep(int64_t step, Mode mode = Mode::kGlobal,
                   std::chrono::milliseconds timeout = kWithoutEnd) const {
    detail::Check(smd_trial_wait_for_step(Get(), step, static_cast<smd_mode>(mode),
                                          detail::ToMilliseconds(timeout)));
  }

  // smd_trial_workers(), smd_trial_collections().
  std::vector<std::string> Workers() const {
    return detail::MakeVector<detail::Strings>(smd_trial_workers, Get());
  }
  std::vector<std::string> Collections() const {
    return detail::MakeVector<detail::Strings>(smd_trial_collections, Get());
  }

  // What a worker recorded about the job; for "", all workers.  smd_trial_metadata().
  std::map<std::string, std::string> Metadata(const CString &worker = "") const {
    const auto texts = detail::MakeVector<detail::Strings>(smd_trial_metadata, Get(), worker.Get());
    std::map<std::string, std::string> metadata;
    for (std::size_t i = 0; i + 1 < texts.size(); i += 2) metadata[texts[i]] = texts[i + 1];
    return metadata;
  }

  // Why the job failed, or "".
  std::string Failure() const {
    const auto metadata = Metadata();
    const auto found = metadata.find("run.failure");
    return found == metadata.end() ? std::string() : found->second;
  }

  // Shared with the trial.  Fails with NOT_FOUND.  smd_trial_collection().
  smdebug::Collection Collection(const CString &name) const {
    return detail::MakeObject<smdebug::Collection>(smd_trial_collection, Get(), name.Get());
  }

  // Conditions that narrow TensorNames().
  struct Names {
    int64_t step = -1;
    Mode mode = Mode::kGlobal;
    std::vector<std::string> regexes;  // one of them matches the name
    const smdebug::Collection *collection = nullptr;
  };

  // smd_trial_tensor_names().
  std::vector<std::string> TensorNames() const { return TensorNames(Names()); }
  std::vector<std::string> TensorNames(const Names &wanted) const {
    const detail::Strings regexes = detail::ToStrings(wanted.regexes);
    return detail::MakeVector<detail::Strings>(
        smd_trial_tensor_names, Get(), wanted.step, static_cast<smd_mode>(wanted.mode),
        wanted.regexes.empty() ? nullptr : regexes.get(),
        wanted.collection == nullptr ? nullptr : wanted.collection->Get());
  }

  // The tensors saved at a step, in the order of recording.  smd_trial_recorded_names().
  std::vector<std::string> RecordedNames(int64_t step, Mode mode = Mode::kGlobal) const {
    return detail::MakeVector<detail::Strings>(smd_trial_recorded_names, Get(), step,
                                               static_cast<smd_mode>(mode));
  }

  // Throws TensorUnavailable.  smd_trial_tensor().
  smdebug::Tensor Tensor(const CString &name) const {
    return detail::MakeObject<smdebug::Tensor>(smd_trial_tensor, Get(), name.Get());
  }

  // Reads several values at once.  smd_trial_prefetch().
  void Prefetch(const std::vector<std::string> &tensors, const std::vector<int64_t> &steps,
                Mode mode = Mode::kGlobal) const {
    const detail::Strings names = detail::ToStrings(tensors);
    detail::Check(smd_trial_prefetch(Get(), names.get(), steps.data(), steps.size(),
                                     static_cast<smd_mode>(mode)));
  }

  // Writes what the trial holds now for TensorBoard.  smd_trial_export_tensorboard().
  void ExportTensorboard(const CString &folder) const {
    detail::Check(smd_trial_export_tensorboard(Get(), folder.Get()));
  }

  smd_trial *Get() const noexcept { return handle_.get(); }

 private:
  friend class detail::RuleState;  // borrows a handle

  static Trial Loaded(Trial trial) {
    trial.Load();
    return trial;
  }

  Owner handle_;
};

}  // namespace smdebug

#endif  // SMDEBUG_CPP_TRIAL_HPP
