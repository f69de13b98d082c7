// A named group of tensors, and how they are saved.
#ifndef SMDEBUG_CPP_COLLECTION_HPP
#define SMDEBUG_CPP_COLLECTION_HPP

#include <optional>
#include <string>
#include <vector>

#include "smdebug/collection.h"
#include "smdebug/cpp/config.hpp"
#include "smdebug/cpp/handle.hpp"

namespace smdebug {

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

  // True if TensorBoard histograms are written.  smd_collection_set_save_histogram(),
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

#endif  // SMDEBUG_CPP_COLLECTION_HPP
