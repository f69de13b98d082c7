// A named group of tensors, with settings of its own where it has them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/mutex.h"
#include "base/regex.h"
#include "base/result.h"
#include "config/reduction_config.h"
#include "config/save_config.h"

namespace smdebug::config {

// Shared by hooks, trials and callers; safe from any thread.
class Collection {
 public:
  // What a file may hold: each is compiled.
  static constexpr size_t kMaxRegexes = 100'000;

  explicit Collection(std::string name) : name_(std::move(name)) {}
  // One of its own that holds the same.
  Collection(const Collection &other);

  const std::string &Name() const { return name_; }

  // Grows with every change that can decide what is saved; learning a name that an
  // expression matched (NoteMatch) is none.
  uint64_t Version() const { return version_.load(std::memory_order_acquire); }

  // Includes tensors by an expression, once however often it is given.
  Status Include(std::string_view regex);
  void AddTensor(std::string_view tensor);
  void RemoveTensor(std::string_view tensor);
  // Remembers, for the collections file, a tensor that an expression matched.
  void NoteMatch(std::string_view tensor);

  // Whether the tensor was added, or an expression is found in its name.  Fails if an
  // expression runs away.
  Result<bool> Has(std::string_view tensor) const;
  // Whether there is anything to include tensors by.
  bool IsEmpty() const;

  std::vector<std::string> Regexes() const;
  std::vector<std::string> Tensors() const;  // sorted

  std::optional<SaveConfig> GetSaveConfig() const;
  void SetSaveConfig(std::optional<SaveConfig> config);
  std::optional<ReductionConfig> GetReductionConfig() const;
  void SetReductionConfig(std::optional<ReductionConfig> config);
  bool SavesHistogram() const;
  void SetSavesHistogram(bool on);

  // {"name", "include_regex", "tensor_names", "reduction_config", "save_config",
  // "save_histogram"}, in this order, as the original writes it.
  void WriteJson(JsonWriter &json) const;
  std::string ToJson() const;
  // Every key but the name may be missing.  A file's expression that does not compile is
  // kept: Has() fails then.
  static Result<std::shared_ptr<Collection>> FromJson(const JsonValue &json,
                                                      Origin origin = Origin::kUser);
  static Result<std::shared_ptr<Collection>> FromJson(std::string_view text);

 private:
  struct Inclusion {
    std::string expression;
    Result<Regex> regex;
  };
  using Inclusions = std::vector<std::shared_ptr<const Inclusion>>;

  static Result<Inclusions> ReadInclusions(const JsonValue &json, Origin origin);
  void Changed() { version_.fetch_add(1, std::memory_order_acq_rel); }

  const std::string name_;
  std::atomic<uint64_t> version_{0};
  mutable Mutex mutex_;
  // Replaced as a whole, so that names are matched without the lock.
  std::shared_ptr<const Inclusions> inclusions_ SMD_GUARDED_BY(mutex_) =
      std::make_shared<const Inclusions>();
  std::set<std::string, std::less<>> tensors_ SMD_GUARDED_BY(mutex_);
  std::optional<SaveConfig> save_config_ SMD_GUARDED_BY(mutex_);
  std::optional<ReductionConfig> reduction_config_ SMD_GUARDED_BY(mutex_);
  bool saves_histogram_ SMD_GUARDED_BY(mutex_) = true;
};

using CollectionPtr = std::shared_ptr<Collection>;

}  // namespace smdebug::config
