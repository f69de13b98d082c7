// When to save, what to save of a tensor, and which tensors.
#ifndef SMDEBUG_CPP_CONFIG_HPP
#define SMDEBUG_CPP_CONFIG_HPP

#include <optional>
#include <string>
#include <vector>

#include "smdebug/config.h"
#include "smdebug/cpp/handle.hpp"
#include "smdebug/cpp/types.hpp"

namespace smdebug {

// Which mode steps are saved, per mode.  One thread at a time.
class SaveConfig {
 public:
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

// A named group of tensors.  Any thread.
class Collection {
 public:
  using Owner = detail::Handle<smd_collection, smd_collection_free>;

  // smd_collection_new().
  explicit Collection(const CString &name)
      : handle_(detail::Make<Owner>(smd_collection_new, name.Get())) {}
  // Takes ownership of `collection`.
  explicit Collection(smd_collection *collection) noexcept : handle_(collection) {}

  // smd_collection_from_json().
  static Collection FromJson(const CString &json) {
    return detail::MakeObject<Collection>(smd_collection_from_json, json.Get());
  }

  // smd_collection_name().
  std::string Name() const {
    const char *name = smd_collection_name(Get());
    return name == nullptr ? "" : name;
  }

  // Includes the tensors whose names match.  smd_collection_include_regex().
  Collection &Include(const CString &regex) {
    detail::Check(smd_collection_include_regex(Get(), regex.Get()));
    return *this;
  }

  // smd_collection_add_tensor(), smd_collection_remove_tensor().
  Collection &AddTensor(const CString &tensor) {
    detail::Check(smd_collection_add_tensor(Get(), tensor.Get()));
    return *this;
  }
  Collection &RemoveTensor(const CString &tensor) {
    detail::Check(smd_collection_remove_tensor(Get(), tensor.Get()));
    return *this;
  }

  // smd_collection_has().
  bool Has(const CString &tensor) const noexcept {
    return smd_collection_has(Get(), tensor.Get()) != 0;
  }

  // Sets its own configs (copies), or removes them.  smd_collection_set_save_config(),
  // smd_collection_set_reduction_config().
  Collection &SetSaveConfig(const SaveConfig &config) {
    detail::Check(smd_collection_set_save_config(Get(), config.Get()));
    return *this;
  }
  Collection &SetSaveConfig(std::nullopt_t) {
    detail::Check(smd_collection_set_save_config(Get(), nullptr));
    return *this;
  }
  Collection &SetReductionConfig(const ReductionConfig &config) {
    detail::Check(smd_collection_set_reduction_config(Get(), config.Get()));
    return *this;
  }
  Collection &SetReductionConfig(std::nullopt_t) {
    detail::Check(smd_collection_set_reduction_config(Get(), nullptr));
    return *this;
  }

  // Returns copies of its own configs, if it has any.  smd_collection_save_config(),
  // smd_collection_reduction_config().
  std::optional<SaveConfig> OwnSaveConfig() const {
    return Own<SaveConfig, smd_save_config_free>(smd_collection_save_config);
  }
  std::optional<ReductionConfig> OwnReductionConfig() const {
    return Own<ReductionConfig, smd_reduction_config_free>(smd_collection_reduction_config);
  }

  // Whether TensorBoard histograms are written.  smd_collection_set_save_histogram(),
  // smd_collection_save_histogram().
  Collection &SetSaveHistogram(bool on) {
    detail::Check(smd_collection_set_save_histogram(Get(), on));
    return *this;
  }
  bool SavesHistogram() const noexcept { return smd_collection_save_histogram(Get()) != 0; }

  // smd_collection_regexes(), smd_collection_tensors(), smd_collection_to_json().
  std::vector<std::string> Regexes() const {
    return detail::MakeVector<detail::Strings>(smd_collection_regexes, Get());
  }
  std::vector<std::string> Tensors() const {
    return detail::MakeVector<detail::Strings>(smd_collection_tensors, Get());
  }
  std::string ToJson() const { return detail::MakeString(smd_collection_to_json, Get()); }

  smd_collection *Get() const noexcept { return handle_.get(); }

 private:
  template <class Config, auto free, class Handle>
  std::optional<Config> Own(smd_error *(*copy)(const smd_collection *, Handle **) noexcept) const {
    auto config = detail::Make<detail::Handle<Handle, free>>(copy, Get());
    return config == nullptr ? std::nullopt : std::optional<Config>(config.release());
  }

  Owner handle_;
};

}  // namespace smdebug

#endif  // SMDEBUG_CPP_CONFIG_HPP
