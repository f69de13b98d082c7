// When to save, and what to save of a tensor.
#ifndef SMDEBUG_CPP_CONFIG_HPP
#define SMDEBUG_CPP_CONFIG_HPP

#include <string>
#include <vector>

#include "smdebug/config.h"
#include "smdebug/cpp/handle.hpp"
#include "smdebug/cpp/types.hpp"

namespace smdebug {

// Which mode steps are saved, per mode.  One thread at a time.
class SaveConfig {
 public:
  // The parameters of Set().
  struct Settings {
    int64_t every = 0;
    int64_t first = 0;
    int64_t end = -1;
    std::vector<int64_t> steps;
  };

  using Owner = detail::Handle<smd_save_config, smd_save_config_free>;

  // No mode has settings.  smd_save_config_new().
  SaveConfig() : handle_(detail::Make<Owner>(smd_save_config_new)) {}
  // Takes ownership of `config`.
  explicit SaveConfig(smd_save_config *config) noexcept : handle_(config) {}

  // Every mode, every `every`th step.
  static SaveConfig Every(int64_t every) {
    SaveConfig config;
    config.Set(Mode::kAny, every);
    return config;
  }

  // smd_save_config_from_json().
  static SaveConfig FromJson(const CString &json) {
    return detail::MakeObject<SaveConfig>(smd_save_config_from_json, json.Get());
  }

  // Saves `steps`, and each step s with first <= s < end (-1: no end) and s % every == 0.
  // smd_save_config_set().
  SaveConfig &Set(Mode mode, int64_t every, int64_t first = 0, int64_t end = -1,
                  const std::vector<int64_t> &steps = {}) {
    detail::Check(smd_save_config_set(handle_.get(), static_cast<smd_mode>(mode), every, first, end,
                                      steps.data(), steps.size()));
    return *this;
  }

  // smd_save_config_is_set(), smd_save_config_saves().
  bool IsSet(Mode mode) const noexcept {
    return smd_save_config_is_set(Get(), static_cast<smd_mode>(mode)) != 0;
  }
  bool Saves(int64_t step, Mode mode) const noexcept {
    return smd_save_config_saves(Get(), step, static_cast<smd_mode>(mode)) != 0;
  }

  // Returns the settings of one mode, or the defaults if it has none.  smd_save_config_get().
  Settings SettingsOf(Mode mode) const {
    Settings settings;
    settings.steps = detail::MakeVector<detail::Integers>([&](smd_integers **out) {
      return smd_save_config_get(Get(), static_cast<smd_mode>(mode), &settings.every,
                                 &settings.first, &settings.end, out);
    });
    return settings;
  }

  // Copies from `defaults` the modes without settings.  smd_save_config_merge().
  SaveConfig &Merge(const SaveConfig &defaults) {
    detail::Check(smd_save_config_merge(handle_.get(), defaults.Get()));
    return *this;
  }

  // smd_save_config_to_json().
  std::string ToJson() const { return detail::MakeString(smd_save_config_to_json, Get()); }

  const smd_save_config *Get() const noexcept { return handle_.get(); }

 private:
  Owner handle_;
};

// smd_save_config_equal().
inline bool operator==(const SaveConfig &a, const SaveConfig &b) noexcept {
  return smd_save_config_equal(a.Get(), b.Get()) != 0;
}
inline bool operator!=(const SaveConfig &a, const SaveConfig &b) noexcept { return !(a == b); }

// Selects the parts of a tensor that are saved: values, reductions, shape.  One thread at a time.
class ReductionConfig {
 public:
  using Owner = detail::Handle<smd_reduction_config, smd_reduction_config_free>;

  // Saves nothing.  smd_reduction_config_new().
  ReductionConfig() : handle_(detail::Make<Owner>(smd_reduction_config_new)) {}
  // Takes ownership of `config`.
  explicit ReductionConfig(smd_reduction_config *config) noexcept : handle_(config) {}

  // smd_reduction_config_from_json().
  static ReductionConfig FromJson(const CString &json) {
    return detail::MakeObject<ReductionConfig>(smd_reduction_config_from_json, json.Get());
  }

  // Adds reductions, such as "min,abs_mean".  smd_reduction_config_add().
  ReductionConfig &Add(const CString &reductions) {
    detail::Check(smd_reduction_config_add(handle_.get(), reductions.Get()));
    return *this;
  }

  // smd_reduction_config_set_raw(), smd_reduction_config_set_shape().
  ReductionConfig &SetRaw(bool on) {
    detail::Check(smd_reduction_config_set_raw(handle_.get(), on));
    return *this;
  }
  ReductionConfig &SetShape(bool on) {
    detail::Check(smd_reduction_config_set_shape(handle_.get(), on));
    return *this;
  }

  // smd_reduction_config_raw(), smd_reduction_config_shape().
  bool SavesRaw() const noexcept { return smd_reduction_config_raw(Get()) != 0; }
  bool SavesShape() const noexcept { return smd_reduction_config_shape(Get()) != 0; }

  // smd_reduction_config_reductions().
  std::vector<std::string> Reductions() const {
    return detail::MakeVector<detail::Strings>(smd_reduction_config_reductions, Get());
  }

  // smd_reduction_config_to_json().
  std::string ToJson() const { return detail::MakeString(smd_reduction_config_to_json, Get()); }

  const smd_reduction_config *Get() const noexcept { return handle_.get(); }

 private:
  Owner handle_;
};

// smd_reduction_config_equal().
inline bool operator==(const ReductionConfig &a, const ReductionConfig &b) noexcept {
  return smd_reduction_config_equal(a.Get(), b.Get()) != 0;
}
inline bool operator!=(const ReductionConfig &a, const ReductionConfig &b) noexcept {
  return !(a == b);
}

}  // namespace smdebug

#endif  // SMDEBUG_CPP_CONFIG_HPP
